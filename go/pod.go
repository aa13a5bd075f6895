// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import (
	"context"
	"unsafe"
)

// PodOptions say what a pod is judged without; every answer about it is then marked JudgedIgnoring.
type PodOptions struct {
	IgnoreClaims  bool // as if spec.resourceClaims were empty
	IgnoreVolumes bool // as if the pod had no volumes
	IgnorePlugins bool // as if its profile had none of EngineOptions.IgnoredPlugins
}

func (o *PodOptions) native() *C.berth_pod_options {
	native := &C.berth_pod_options{}
	native.struct_size = C.uint32_t(unsafe.Sizeof(*native))
	if o != nil {
		native.ignore = bit(o.IgnoreClaims, C.BERTH_IGNORE_CLAIMS) | bit(o.IgnoreVolumes, C.BERTH_IGNORE_VOLUMES) |
			bit(o.IgnorePlugins, C.BERTH_IGNORE_PLUGINS)
	}
	return native
}

// Pod is a pod as it is to be placed, prepared once; valid in every snapshot and fork of its cluster.
type Pod struct {
	handle
	p *C.berth_pod
}

func newPod(p *C.berth_pod) *Pod {
	pod := &Pod{handle: newHandle(podKind), p: p}
	pod.release = func() { C.berth_pod_free(&p) }
	return watched(pod, pod.handle)
}

// NewPod reads and prepares a pod. Options nil: all of it is judged. Errors: Input.
func (k *Cluster) NewPod(text []byte, options *PodOptions) (*Pod, error) {
	c := begin("Cluster.NewPod")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return nil, err
	}
	var p *C.berth_pod
	status := C.berth_pod_create(k.p, emptyText(text), C.size_t(len(text)), options.native(), &p, &c.err)
	if err := c.failed(status); err != nil {
		return nil, err
	}
	return newPod(p), nil
}

// NewPods is NewPod for many, of which none is made when one is refused.
func (k *Cluster) NewPods(texts *Bulk, options *PodOptions) ([]*Pod, error) {
	return k.NewPodsContext(context.Background(), texts, options)
}

// Close gives the handle back; see the package's ownership rules.
func (p *Pod) Close() error { return p.close() }

// Retain is one more handle of the pod, closed by itself.
func (p *Pod) Retain() (*Pod, error) {
	c := begin("Pod.Retain")
	defer c.end()
	if err := c.use(&p.handle); err != nil {
		return nil, err
	}
	return newPod(C.berth_pod_retain(p.p)), nil
}

// UID is metadata.uid, or "namespace/name" of a pod without one.
func (p *Pod) UID() (string, error) {
	c := begin("Pod.UID")
	defer c.end()
	if err := c.use(&p.handle); err != nil {
		return "", err
	}
	if err := c.failed(C.berth_pod_uid(p.p, &c.text, &c.err)); err != nil {
		return "", err
	}
	return c.copied(), nil
}

// Priority is spec.priority, or 0: by it kube-scheduler's queue orders pods, and preemption says who may evict whom.
func (p *Pod) Priority() (int32, error) {
	c := begin("Pod.Priority")
	defer c.end()
	if err := c.use(&p.handle); err != nil {
		return 0, err
	}
	var priority C.int32_t
	if err := c.failed(C.berth_pod_priority(p.p, &priority, &c.err)); err != nil {
		return 0, err
	}
	return int32(priority), nil
}

// Class is the number of the pod's class: pods that no rule can tell apart have the same, as of now.
func (p *Pod) Class() (uint64, error) {
	c := begin("Pod.Class")
	defer c.end()
	if err := c.use(&p.handle); err != nil {
		return 0, err
	}
	if err := c.failed(C.berth_pod_class(p.p, &c.version, &c.err)); err != nil {
		return 0, err
	}
	return uint64(c.version), nil
}

// NodeLocal tells whether a copy of the pod that is placed changes the verdict and the score of no other node for the
// next copy, as of now: of one ranking of the nodes the next best one is then the best once the first is full.
func (p *Pod) NodeLocal() (bool, error) {
	c := begin("Pod.NodeLocal")
	defer c.end()
	if err := c.use(&p.handle); err != nil {
		return false, err
	}
	var local C.int32_t
	if err := c.failed(C.berth_pod_is_node_local(p.p, &local, &c.err)); err != nil {
		return false, err
	}
	return local != 0, nil
}
