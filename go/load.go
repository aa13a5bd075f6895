// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import (
	"context"
	"unsafe"
)

// Calls that read or write many objects, until a context ends. Where it does, the error is the context's, and nothing
// has changed. An Error names the verb without "Context".

func (c *call) loadOptions(ctx context.Context) (*C.berth_load_options, error) {
	if err := c.follow(ctx); err != nil {
		return nil, err
	}
	o := (*C.berth_load_options)(c.memory(unsafe.Sizeof(C.berth_load_options{})))
	o.struct_size = C.uint32_t(unsafe.Sizeof(*o))
	o.deadline_us, o.cancel = c.deadline, c.token
	return o, nil
}

// UpsertContext is Upsert until the context ends.
func (k *Cluster) UpsertContext(ctx context.Context, text []byte) error {
	c := begin("Cluster.Upsert")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return err
	}
	o, err := c.loadOptions(ctx)
	if err != nil {
		return err
	}
	return c.failed(C.berth_cluster_upsert_until(k.p, emptyText(text), C.size_t(len(text)), o, &c.err))
}

// UpsertBulkContext is UpsertBulk until the context ends.
func (k *Cluster) UpsertBulkContext(ctx context.Context, objects *Bulk) error {
	c := begin("Cluster.UpsertBulk")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return err
	}
	o, err := c.loadOptions(ctx)
	if err != nil {
		return err
	}
	return c.failed(C.berth_cluster_upsert_bulk_until(k.p, c.pinned(objects), nil, o, &c.err))
}

// UpsertEachContext is UpsertEach until the context ends; there are no statuses then.
func (k *Cluster) UpsertEachContext(ctx context.Context, objects *Bulk) ([]Status, error) {
	c := begin("Cluster.UpsertEach")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return nil, err
	}
	o, err := c.loadOptions(ctx)
	if err != nil {
		return nil, err
	}
	statuses := make([]Status, objects.Len())
	if len(statuses) == 0 {
		return statuses, nil
	}
	status := C.berth_cluster_upsert_bulk_until(k.p, c.pinned(objects),
		(*C.berth_status)(unsafe.Pointer(unsafe.SliceData(statuses))), o, &c.err)
	if status != C.BERTH_OK && status != C.BERTH_PARTIAL {
		return nil, c.failed(status)
	}
	return statuses, c.failed(status)
}

// ReplaceContext is Replace until the context ends.
func (k *Cluster) ReplaceContext(ctx context.Context, kind string, text []byte) error {
	c := begin("Cluster.Replace")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return err
	}
	name, err := c.chars("kind", kind)
	if err != nil {
		return err
	}
	o, err := c.loadOptions(ctx)
	if err != nil {
		return err
	}
	return c.failed(C.berth_cluster_replace_until(k.p, name, emptyText(text), C.size_t(len(text)), o, &c.err))
}

// NewPodsContext is NewPods until the context ends.
func (k *Cluster) NewPodsContext(ctx context.Context, texts *Bulk, options *PodOptions) ([]*Pod, error) {
	c := begin("Cluster.NewPods")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return nil, err
	}
	o, err := c.loadOptions(ctx)
	if err != nil {
		return nil, err
	}
	made := make([]*C.berth_pod, texts.Len())
	if len(made) == 0 {
		return nil, nil
	}
	status := C.berth_pod_create_bulk_until(k.p, c.pinned(texts), options.native(), o, unsafe.SliceData(made), &c.err)
	if err := c.failed(status); err != nil {
		return nil, err
	}
	pods := make([]*Pod, len(made))
	for i, p := range made {
		pods[i] = newPod(p)
	}
	return pods, nil
}

// WriteContext is Write until the context ends.
func (s *Snapshot) WriteContext(ctx context.Context, path string) error {
	c := begin("Snapshot.Write")
	defer c.end()
	if err := c.use(&s.handle); err != nil {
		return err
	}
	file, err := c.chars("path", path)
	if err != nil {
		return err
	}
	o, err := c.loadOptions(ctx)
	if err != nil {
		return err
	}
	return c.failed(C.berth_snapshot_write_until(s.snapshot, file, o, &c.err))
}

// BytesContext is Bytes until the context ends.
func (s *Snapshot) BytesContext(ctx context.Context) ([]byte, error) {
	c := begin("Snapshot.Bytes")
	defer c.end()
	if err := c.use(&s.handle); err != nil {
		return nil, err
	}
	o, err := c.loadOptions(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.failed(C.berth_snapshot_write_memory_until(s.snapshot, o, &c.result, &c.err)); err != nil {
		return nil, err
	}
	defer C.berth_result_free(&c.result)
	if err := c.failed(C.berth_result_bytes(c.result, &c.text, &c.err)); err != nil {
		return nil, err
	}
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(c.text.data)), int(c.text.size))...), nil
}

// OpenSnapshotContext is OpenSnapshot until the context ends.
func (e *Engine) OpenSnapshotContext(ctx context.Context, path string) (*Cluster, *Snapshot, error) {
	c := begin("Engine.OpenSnapshot")
	defer c.end()
	if err := c.use(&e.handle); err != nil {
		return nil, nil, err
	}
	file, err := c.chars("path", path)
	if err != nil {
		return nil, nil, err
	}
	o, err := c.loadOptions(ctx)
	if err != nil {
		return nil, nil, err
	}
	var cluster *C.berth_cluster
	var snapshot *C.berth_snapshot
	if err := c.failed(C.berth_snapshot_open_until(e.p, file, o, &cluster, &snapshot, &c.err)); err != nil {
		return nil, nil, err
	}
	return newCluster(cluster), newSnapshot(snapshot), nil
}

// OpenSnapshotBytesContext is OpenSnapshotBytes until the context ends.
func (e *Engine) OpenSnapshotBytesContext(ctx context.Context, written []byte) (*Cluster, *Snapshot, error) {
	c := begin("Engine.OpenSnapshotBytes")
	defer c.end()
	if err := c.use(&e.handle); err != nil {
		return nil, nil, err
	}
	o, err := c.loadOptions(ctx)
	if err != nil {
		return nil, nil, err
	}
	var cluster *C.berth_cluster
	var snapshot *C.berth_snapshot
	status := C.berth_snapshot_open_memory_until(e.p, unsafe.Pointer(unsafe.SliceData(written)), C.size_t(len(written)),
		o, &cluster, &snapshot, &c.err)
	if err := c.failed(status); err != nil {
		return nil, nil, err
	}
	return newCluster(cluster), newSnapshot(snapshot), nil
}
