// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import (
	"context"
	"unsafe"
)

// Amount is an amount of a resource, in kube-scheduler's units: "cpu" in thousandths, "memory" in bytes.
type Amount struct {
	Resource string
	Amount   int64
}

// Shape is a kind of node that may be added.
type Shape struct {
	Node          []byte // one Node as text; nil: a copy of CopyOf
	CopyOf        NodeID
	WithPods      bool     // of a copy: the DaemonSet pods and the static pods of that node come with each new one
	MaxNodes      uint32   // at most so many; 0: no cap
	StartupTaints []string // keys of taints that new nodes lose before pods come
	Pods          []*Pod   // pods that come with each new node, put there without asking a rule
	Caps          []Amount // what all new nodes together may offer, at most
	Price         int64    // of one node, for Replace: any unit, 0 or more
}

// Cap says which cap kept a pod of a shape from a new node that takes it.
type Cap uint8

// Caps of shapes.
const (
	CapNone     Cap = C.BERTH_CAP_NONE
	CapNodes    Cap = C.BERTH_CAP_NODES
	CapResource Cap = C.BERTH_CAP_RESOURCE
)

// shapeList is an array of shapes for C, until end; NULL of none.
func (c *call) shapeList(shapes []Shape) (**C.berth_shape, C.size_t, error) {
	if len(shapes) == 0 {
		return nil, 0, nil
	}
	memory := c.memory(uintptr(len(shapes)) * unsafe.Sizeof((*C.berth_shape)(nil)))
	list := unsafe.Slice((**C.berth_shape)(memory), len(shapes))
	for i := range shapes {
		var err error
		if list[i], err = c.shape(at("shapes", i), &shapes[i]); err != nil {
			return nil, 0, err
		}
	}
	return (**C.berth_shape)(memory), C.size_t(len(shapes)), nil
}

func (c *call) shape(what string, shape *Shape) (*C.berth_shape, error) {
	s := (*C.berth_shape)(c.memory(unsafe.Sizeof(C.berth_shape{})))
	s.struct_size = C.uint32_t(unsafe.Sizeof(*s))
	s.flags = bit(shape.WithPods, C.BERTH_SHAPE_WITH_PODS_OF_NODE)
	s.copy_of, s.max_nodes, s.price = C.uint32_t(shape.CopyOf), C.uint32_t(shape.MaxNodes), C.int64_t(shape.Price)
	if shape.Node != nil {
		s.node, s.node_size = (*C.char)(c.copy(shape.Node)), C.size_t(len(shape.Node))
	}
	var err error
	if s.startup_taints, err = c.list(what+".StartupTaints", shape.StartupTaints); err != nil {
		return nil, err
	}
	s.startup_taint_count = C.size_t(len(shape.StartupTaints))
	if n := len(shape.Pods); n > 0 {
		pods := unsafe.Slice((**C.berth_pod)(c.memory(uintptr(n)*unsafe.Sizeof((*C.berth_pod)(nil)))), n)
		for i, pod := range shape.Pods {
			if pod == nil {
				return nil, refused(c.verb, at(what+".Pods", i), "nil")
			}
			if err := c.use(&pod.handle); err != nil {
				return nil, err
			}
			pods[i] = pod.p
		}
		s.pods, s.pod_count = unsafe.SliceData(pods), C.size_t(n)
	}
	if n := len(shape.Caps); n > 0 {
		caps := unsafe.Slice((*C.berth_amount)(c.memory(uintptr(n)*unsafe.Sizeof(C.berth_amount{}))), n)
		for i, amount := range shape.Caps {
			if caps[i].resource, err = c.chars(at(what+".Caps", i), amount.Resource); err != nil {
				return nil, err
			}
			caps[i].amount = C.int64_t(amount.Amount)
		}
		s.caps, s.cap_count = unsafe.SliceData(caps), C.size_t(n)
	}
	return s, nil
}

// ScaleUpOptions say how an estimate goes. The zero value, or nil: new nodes only, pods in the given order.
type ScaleUpOptions struct {
	ExistingFirst bool // pods are tried on the existing nodes before new ones
	Decreasing    bool // the largest pods first, as cluster-autoscaler orders them
	SkipCordoned  bool
	AsMoved       bool     // spec.nodeName is ignored, and the pods' own running copies leave before the first is tried
	Nodes         *NodeSet // with ExistingFirst: of these alone
	Progress      Progress // nil: nobody is told
}

// ScaleUpColumns are the columns of ScaleUp. Element (s, p) of a column over shapes and pods is at s * pods + p.
type ScaleUpColumns struct {
	Shapes       []uint32 // shapes: position of the first shape that no rule can tell from this one
	NodeCounts   []uint32 // shapes: new nodes that the shape needs
	Placed       []uint32 // shapes: pods that have a node
	Caps         []Cap    // shapes: the first that kept a pod out
	CapResources Texts    // shapes: the resource of CapResource
	Nodes        []NodeID // shapes x pods: the existing node
	NewNodes     []NodeID // shapes x pods: which of the shape's new nodes, from 0
	Fits         []bool   // shapes x pods
	Codes        []Code   // shapes x pods
	Phases       []Phase  // shapes x pods
	Plugins      Texts    // shapes x pods
	Reasons      Texts    // shapes x pods
	Judged       []Judged // pods
	Resources    Texts    // resources: cpu, memory, ephemeral-storage, pods, then others
	PodClasses   []uint32 // pods: which class, from 0; those of one differ in name, uid and times alone
	// PlacedOfClass has for each shape and class how many pods have a node, shapes x classes.
	PlacedOfClass []uint32
	Requested     []int64 // shapes x resources: what pods request of the shape's new nodes
	Allocatable   []int64 // shapes x resources: what these nodes offer
}

// ScaleUpResult is an answer of ScaleUp.
type ScaleUpResult struct {
	Result
	ScaleUpColumns
}

// Close gives the result back; its columns are nil then.
func (r *ScaleUpResult) Close() error {
	if r == nil {
		return nil
	}
	r.ScaleUpColumns = ScaleUpColumns{}
	return r.closeResult()
}

// ScaleUp estimates how many nodes of each shape the pods need, each shape by itself. Where the context ends it, the
// columns of shapes are of a prefix of them, which may be empty. Errors: Exists, NotFound, Input.
func (a *asker) ScaleUp(
	ctx context.Context, pods []*Pod, shapes []Shape, options *ScaleUpOptions,
) (*ScaleUpResult, error) {
	c := begin("ScaleUp")
	defer c.end()
	if err := c.use(&a.handle); err != nil {
		return nil, err
	}
	list, count, err := c.podList(pods)
	if err != nil {
		return nil, err
	}
	kinds, kindCount, err := c.shapeList(shapes)
	if err != nil {
		return nil, err
	}
	if options == nil {
		options = &ScaleUpOptions{}
	}
	o := C.berth_scale_up_options{}
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	o.flags = bit(options.ExistingFirst, C.BERTH_EXISTING_FIRST) | bit(options.Decreasing, C.BERTH_DECREASING) |
		bit(options.SkipCordoned, C.BERTH_SKIP_CORDONED) | bit(options.AsMoved, C.BERTH_AS_MOVED)
	if o.nodes, err = c.nodeSet(options.Nodes); err != nil {
		return nil, err
	}
	if err := c.watch(ctx, options.Progress); err != nil {
		return nil, err
	}
	o.deadline_us, o.cancel = c.deadline, c.token
	o.progress, o.progress_user_data = c.progressOptions()
	var status C.berth_status
	if a.fork != nil {
		status = C.berth_fork_scale_up(a.fork, list, count, kinds, kindCount, &o, &c.result, &c.err)
	} else {
		status = C.berth_snapshot_scale_up(a.snapshot, list, count, kinds, kindCount, &o, &c.result, &c.err)
	}
	return answered(c, status, func(c *call) (*ScaleUpResult, error) {
		r := &ScaleUpResult{}
		r.take(c)
		err := r.bind(c, binding{C.BERTH_COLUMN_SHAPE, &r.Shapes}, binding{C.BERTH_COLUMN_NODE_COUNT, &r.NodeCounts},
			binding{C.BERTH_COLUMN_PLACED, &r.Placed}, binding{C.BERTH_COLUMN_CAP, &r.Caps},
			binding{C.BERTH_COLUMN_CAP_RESOURCE, &r.CapResources}, binding{C.BERTH_COLUMN_NODE, &r.Nodes},
			binding{C.BERTH_COLUMN_NEW_NODE, &r.NewNodes}, binding{C.BERTH_COLUMN_FITS, &r.Fits},
			binding{C.BERTH_COLUMN_CODE, &r.Codes}, binding{C.BERTH_COLUMN_PHASE, &r.Phases},
			binding{C.BERTH_COLUMN_PLUGIN, &r.Plugins}, binding{C.BERTH_COLUMN_REASONS, &r.Reasons},
			binding{C.BERTH_COLUMN_JUDGED, &r.Judged}, binding{C.BERTH_COLUMN_RESOURCE, &r.Resources},
			binding{C.BERTH_COLUMN_REQUESTED, &r.Requested}, binding{C.BERTH_COLUMN_ALLOCATABLE, &r.Allocatable},
			binding{C.BERTH_COLUMN_POD_CLASS, &r.PodClasses}, binding{C.BERTH_COLUMN_PLACED_OF_CLASS, &r.PlacedOfClass})
		if err != nil {
			r.Close()
			return nil, err
		}
		return watched(r, r.handle), nil
	})
}
