// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import (
	"context"
	"fmt"
	"unsafe"
)

// NodeID is the number of a node name in a cluster and all its snapshots and forks.
type NodeID uint32

// NoNode is the node of a pod without one.
const NoNode NodeID = C.BERTH_NO_NODE

// Cluster is nodes, running pods, and what rules read beside them. It changes, and has a version.
type Cluster struct {
	handle
	p *C.berth_cluster
}

func newCluster(p *C.berth_cluster) *Cluster {
	k := &Cluster{handle: newHandle(clusterKind), p: p}
	k.release = func() { C.berth_cluster_free(&p) }
	return watched(k, k.handle)
}

// Close gives the handle back; see the package's ownership rules.
func (k *Cluster) Close() error { return k.close() }

// Version moves with every call that changes something.
func (k *Cluster) Version() (uint64, error) {
	c := begin("Cluster.Version")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return 0, err
	}
	if err := c.failed(C.berth_cluster_version(k.p, &c.version, &c.err)); err != nil {
		return 0, err
	}
	return uint64(c.version), nil
}

// Backend is the name of the backend that answers: "cpu".
func (k *Cluster) Backend() (string, error) {
	c := begin("Cluster.Backend")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return "", err
	}
	var name *C.char
	if err := c.failed(C.berth_cluster_backend(k.p, &name, &c.err)); err != nil {
		return "", err
	}
	return C.GoString(name), nil
}

// Upsert adds Kubernetes objects, or replaces those of the same name: one object, a List, or a stream of both, as JSON
// or YAML. All or nothing. Errors: Input, naming the first object that is refused.
func (k *Cluster) Upsert(text []byte) error { return k.UpsertContext(context.Background(), text) }

// Bulk is many objects in one buffer, as JSON. The zero value has none.
type Bulk struct {
	data    []byte
	offsets []uint64
}

// Append adds a copy of the JSON text of one object.
func (b *Bulk) Append(object []byte) {
	if len(b.offsets) == 0 {
		b.offsets = append(b.offsets, 0)
	}
	b.data = append(b.data, object...)
	b.offsets = append(b.offsets, uint64(len(b.data)))
}

// Len is the number of objects.
func (b *Bulk) Len() int { return max(0, len(b.offsets)-1) }

// Reset leaves none, and keeps the memory.
func (b *Bulk) Reset() { b.data, b.offsets = b.data[:0], b.offsets[:0] }

// pinned is the buffer for C, until end.
func (c *call) pinned(b *Bulk) *C.berth_bulk {
	bulk := &C.berth_bulk{count: C.size_t(b.Len())}
	bulk.struct_size = C.uint32_t(unsafe.Sizeof(*bulk))
	if bulk.count == 0 {
		return bulk
	}
	c.pinner.Pin(unsafe.SliceData(b.offsets))
	bulk.offsets = (*C.uint64_t)(unsafe.SliceData(b.offsets))
	if len(b.data) > 0 {
		c.pinner.Pin(unsafe.SliceData(b.data))
		bulk.data = bytes(b.data)
	} else {
		bulk.data = emptyText(nil)
	}
	return bulk
}

// UpsertBulk is Upsert for many objects: one bad one refuses all.
func (k *Cluster) UpsertBulk(objects *Bulk) error {
	return k.UpsertBulkContext(context.Background(), objects)
}

// UpsertEach takes the objects that it can. The status of each is OK, Ignored, or why it was refused; if some were, the
// error is Partial and tells of the first.
func (k *Cluster) UpsertEach(objects *Bulk) ([]Status, error) {
	return k.UpsertEachContext(context.Background(), objects)
}

// Replace makes the cluster what the text says of one kind: objects of that kind that it does not name are deleted.
// An empty text leaves none. Errors: Input.
func (k *Cluster) Replace(kind string, text []byte) error {
	return k.ReplaceContext(context.Background(), kind, text)
}

// Object names an object that is to be deleted. Namespace is empty of kinds without one. A pod is named by its UID, or
// by namespace and name, which takes a look at every pod.
type Object struct{ Kind, Namespace, Name, UID string }

// Delete deletes an object. Errors: NotFound.
func (k *Cluster) Delete(object Object) error {
	c := begin("Cluster.Delete")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return err
	}
	var texts [4]*C.char
	for i, text := range []string{object.Kind, object.Namespace, object.Name, object.UID} {
		var err error
		if texts[i], err = c.optional("object", text); err != nil {
			return err
		}
	}
	return c.failed(C.berth_cluster_delete(k.p, texts[0], texts[1], texts[2], texts[3], &c.err))
}

// Assume places the pod on the node without asking any rule; its upsert there confirms it. Errors: NotFound, Exists,
// Unsupported.
func (k *Cluster) Assume(pod *Pod, node NodeID) error {
	c := begin("Cluster.Assume")
	defer c.end()
	if err := c.useWith(&k.handle, pod); err != nil {
		return err
	}
	return c.failed(C.berth_cluster_assume(k.p, pod.p, C.uint32_t(node), &c.err))
}

// Forget takes back what Assume or a commit placed and no upsert confirmed. Errors: NotFound.
func (k *Cluster) Forget(pod *Pod) error {
	c := begin("Cluster.Forget")
	defer c.end()
	if err := c.useWith(&k.handle, pod); err != nil {
		return err
	}
	return c.failed(C.berth_cluster_forget(k.p, pod.p, &c.err))
}

// FindNode is the number of a node name. Errors: NotFound.
func (k *Cluster) FindNode(name string) (NodeID, error) {
	c := begin("Cluster.FindNode")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return NoNode, err
	}
	text, err := c.chars("name", name)
	if err != nil {
		return NoNode, err
	}
	if err := c.failed(C.berth_cluster_find_node(k.p, text, &c.number, &c.err)); err != nil {
		return NoNode, err
	}
	return NodeID(c.number), nil
}

// NodeName is the name of a number. Errors: NotFound.
func (k *Cluster) NodeName(node NodeID) (string, error) {
	c := begin("Cluster.NodeName")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return "", err
	}
	if err := c.failed(C.berth_cluster_node_name(k.p, C.uint32_t(node), &c.text, &c.err)); err != nil {
		return "", err
	}
	return c.copied(), nil
}

// NodeSet is a set of node numbers, of use with every snapshot and fork of its cluster.
type NodeSet struct {
	handle
	p *C.berth_node_set
}

// NewNodeSet makes a set of numbers, in any order.
func (k *Cluster) NewNodeSet(nodes []NodeID) (*NodeSet, error) {
	c := begin("Cluster.NewNodeSet")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return nil, err
	}
	var p *C.berth_node_set
	status := C.berth_node_set_create(k.p, numbers(nodes), C.size_t(len(nodes)), &p, &c.err)
	if err := c.failed(status); err != nil {
		return nil, err
	}
	s := &NodeSet{handle: newHandle(nodeSetKind), p: p}
	s.release = func() { C.berth_node_set_free(&p) }
	return watched(s, s.handle), nil
}

// Close gives the handle back; see the package's ownership rules.
func (s *NodeSet) Close() error { return s.close() }

// NewSnapshot is the cluster as it is now. Costs the same whatever its size.
func (k *Cluster) NewSnapshot() (*Snapshot, error) {
	c := begin("Cluster.NewSnapshot")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return nil, err
	}
	var p *C.berth_snapshot
	if err := c.failed(C.berth_snapshot_create(k.p, &p, &c.err)); err != nil {
		return nil, err
	}
	return newSnapshot(p), nil
}

// useWith uses a handle and a pod.
func (c *call) useWith(h *handle, pod *Pod) error {
	if err := c.use(h); err != nil {
		return err
	}
	if pod == nil {
		return refused(c.verb, "pod", "nil")
	}
	return c.use(&pod.handle)
}

// copied is the text of an out-parameter.
func (c *call) copied() string { return C.GoStringN(c.text.data, C.int(c.text.size)) }

// numbers is the data of node numbers.
func numbers(nodes []NodeID) *C.uint32_t {
	return (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(nodes)))
}

var noText = []byte{0}

// emptyText is the data of a text; of an empty one not NULL, which has no meaning.
func emptyText(text []byte) *C.char {
	if len(text) == 0 {
		text = noText
	}
	return bytes(text)
}

func at(what string, i int) string { return fmt.Sprintf("%s[%d]", what, i) }
