// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import (
	"context"
	"unsafe"
)

// Fork is a what-if on a snapshot, or on a fork. One goroutine uses it at a time; a second one gets Busy. After Commit
// it takes no call but Close.
type Fork struct{ asker }

func newFork(p *C.berth_fork) *Fork {
	f := &Fork{asker{handle: newHandle(forkKind), fork: p}}
	f.release = func() { C.berth_fork_free(&p) }
	return watched(f, f.handle)
}

// Close drops the what-if, and gives the handle back; see the package's ownership rules.
func (f *Fork) Close() error { return f.close() }

// Fork opens a what-if on the fork as it is now. Later changes of the parent do not affect it.
func (f *Fork) Fork() (*Fork, error) {
	c := begin("Fork.Fork")
	defer c.end()
	if err := c.use(&f.handle); err != nil {
		return nil, err
	}
	var p *C.berth_fork
	if err := c.failed(C.berth_fork_fork(f.fork, &p, &c.err)); err != nil {
		return nil, err
	}
	return newFork(p), nil
}

// Revert makes the fork what it was when it was opened. Errors: Stale.
func (f *Fork) Revert() error {
	c := begin("Fork.Revert")
	defer c.end()
	if err := c.use(&f.handle); err != nil {
		return err
	}
	return c.failed(C.berth_fork_revert(f.fork, &c.err))
}

// Commit does to the parent what was done to the fork: a fork of a fork to that fork, a fork of a snapshot to the
// cluster, whose version afterwards it returns; 0 of a fork of a fork. Errors: Stale, and the fork stays usable.
func (f *Fork) Commit() (uint64, error) {
	c := begin("Fork.Commit")
	defer c.end()
	if err := c.use(&f.handle); err != nil {
		return 0, err
	}
	c.version = 0
	if err := c.failed(C.berth_fork_commit(f.fork, &c.version, &c.err)); err != nil {
		return 0, err
	}
	return uint64(c.version), nil
}

// AddNode adds one Node, and gives its number. Errors: Exists, Input.
func (f *Fork) AddNode(text []byte) (NodeID, error) {
	c := begin("Fork.AddNode")
	defer c.end()
	if err := c.use(&f.handle); err != nil {
		return NoNode, err
	}
	status := C.berth_fork_add_node(f.fork, emptyText(text), C.size_t(len(text)), &c.number, &c.err)
	if err := c.failed(status); err != nil {
		return NoNode, err
	}
	return NodeID(c.number), nil
}

// UpdateNode replaces a node's object. Errors: NotFound, Input.
func (f *Fork) UpdateNode(text []byte) error {
	c := begin("Fork.UpdateNode")
	defer c.end()
	if err := c.use(&f.handle); err != nil {
		return err
	}
	return c.failed(C.berth_fork_update_node(f.fork, emptyText(text), C.size_t(len(text)), &c.err))
}

// RemoveNode removes a node. Pods on it stand nowhere that counts, until a node has the name again. Errors: NotFound.
func (f *Fork) RemoveNode(node NodeID) error {
	c := begin("Fork.RemoveNode")
	defer c.end()
	if err := c.use(&f.handle); err != nil {
		return err
	}
	return c.failed(C.berth_fork_remove_node(f.fork, C.uint32_t(node), &c.err))
}

// AddPod puts a pod on a node without asking any rule. One that stands elsewhere moves. Errors: NotFound.
func (f *Fork) AddPod(pod *Pod, node NodeID) error {
	c := begin("Fork.AddPod")
	defer c.end()
	if err := c.useWith(&f.handle, pod); err != nil {
		return err
	}
	return c.failed(C.berth_fork_add_pod(f.fork, pod.p, C.uint32_t(node), &c.err))
}

// RemovePod takes a pod off its node, by its uid. Errors: NotFound.
func (f *Fork) RemovePod(uid string) error {
	c := begin("Fork.RemovePod")
	defer c.end()
	if err := c.use(&f.handle); err != nil {
		return err
	}
	text, err := c.chars("uid", uid)
	if err != nil {
		return err
	}
	return c.failed(C.berth_fork_remove_pod(f.fork, text, &c.err))
}

// Unschedule is RemovePod for a pod of a handle, which may be scheduled again then.
func (f *Fork) Unschedule(pod *Pod) error {
	c := begin("Fork.Unschedule")
	defer c.end()
	if err := c.useWith(&f.handle, pod); err != nil {
		return err
	}
	return c.failed(C.berth_fork_unschedule(f.fork, pod.p, &c.err))
}

// NodeOfPod is the node that a pod stands on, or NoNode.
func (f *Fork) NodeOfPod(uid string) (NodeID, error) {
	c := begin("Fork.NodeOfPod")
	defer c.end()
	if err := c.use(&f.handle); err != nil {
		return NoNode, err
	}
	text, err := c.chars("uid", uid)
	if err != nil {
		return NoNode, err
	}
	if err := c.failed(C.berth_fork_node_of_pod(f.fork, text, &c.number, &c.err)); err != nil {
		return NoNode, err
	}
	return NodeID(c.number), nil
}

// Mask tells which nodes take a pod: the column Fits of CheckBulk of this pod alone, without a result; NoReasons says
// nothing here. The fork keeps the answers of the classes that were asked about lately, so that it costs little to ask
// again. An entry for each node that is asked, by ascending number; in the memory of into, where that is enough. A pod
// that Berth cannot judge fits nowhere.
func (f *Fork) Mask(pod *Pod, options *CheckOptions, into []bool) ([]bool, error) {
	c := begin("Fork.Mask")
	defer c.end()
	if err := c.useWith(&f.handle, pod); err != nil {
		return nil, err
	}
	var nodes *C.berth_node_set
	if options != nil {
		var err error
		if nodes, err = c.nodeSet(options.Nodes); err != nil {
			return nil, err
		}
	}
	flags := options.flags()
	if err := c.failed(C.berth_fork_mask(f.fork, pod.p, nodes, flags, nil, 0, &c.size, &c.err)); err != nil {
		return nil, err
	}
	fits := sized(into, int(c.size))
	if len(fits) == 0 {
		return fits, nil
	}
	data := (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(fits)))
	return fits, c.failed(C.berth_fork_mask(f.fork, pod.p, nodes, flags, data, c.size, &c.size, &c.err))
}

// Use is what the pods on each node request, and what the nodes offer. The entry of resource r and of the i-th node, by
// ascending number, is at r * (number of nodes) + i.
type Use struct {
	Requested   []int64
	Allocatable []int64
}

// Use fills in what NodeResourcesFit counts: "cpu" in thousandths, "memory" and "ephemeral-storage" in bytes, "pods" as
// their number, others by their name in their own unit. The memory of into is used where that is enough; nil: none.
func (f *Fork) Use(resources []string, into *Use) (*Use, error) {
	c := begin("Fork.Use")
	defer c.end()
	if err := c.use(&f.handle); err != nil {
		return nil, err
	}
	names, err := c.list("resources", resources)
	if err != nil {
		return nil, err
	}
	count := C.size_t(len(resources))
	if err := c.failed(C.berth_fork_use(f.fork, names, count, nil, nil, 0, &c.size, &c.err)); err != nil {
		return nil, err
	}
	if into == nil {
		into = &Use{}
	}
	into.Requested, into.Allocatable = sized(into.Requested, int(c.size)), sized(into.Allocatable, int(c.size))
	if c.size == 0 {
		return into, nil
	}
	requested := (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(into.Requested)))
	allocatable := (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(into.Allocatable)))
	return into, c.failed(C.berth_fork_use(f.fork, names, count, requested, allocatable, c.size, &c.size, &c.err))
}

// sized is a slice of a length, in the same memory where that is enough.
func sized[T any](slice []T, length int) []T {
	if cap(slice) < length {
		return make([]T, length)
	}
	return slice[:length]
}

// Choice is how a node is chosen among those that fit.
type Choice uint32

// Choices of nodes.
const (
	ByScore  Choice = C.BERTH_CHOICE_SCORE     // as kube-scheduler: the highest total
	FirstFit Choice = C.BERTH_CHOICE_FIRST_FIT // the first that fits, from Start on and round the end
	InOrder  Choice = C.BERTH_CHOICE_ORDER     // the first that fits of Order
)

// ScheduleOptions say how pods are placed. The zero value, or nil: by score among all nodes.
type ScheduleOptions struct {
	SkipCordoned  bool
	AsMoved       bool // spec.nodeName is ignored, and the pod's own running copy is taken out first
	StopAtFailure bool // stop behind the first pod that finds no node
	Rejectors     bool // fill Rejectors and PendingRejectors
	Choice        Choice
	Start         uint32   // of FirstFit: a position among the nodes; ScheduleResult.NextStart goes on
	Nodes         *NodeSet // nil: all nodes
	Order         []NodeID // of InOrder
	Progress      Progress // nil: nobody is told
}

// ScheduleColumns are the columns of placements: one entry for each pod that was tried, a prefix.
type ScheduleColumns struct {
	Nodes    []NodeID // or NoNode
	Fits     []bool   // the pod was placed
	Judged   []Judged
	Scores   []int64 // the total of the chosen node; 0 where nothing was scored
	Messages Texts   // why the pod has no node, as kube-scheduler's event says it
	// With ScheduleOptions.Rejectors, and otherwise empty: what Queue.Fail asks for. The plugins that keep the pod from
	// nodes, joined with ", ", or none: it has a node, is not judged, or its cycle ended with an error.
	Rejectors        Texts
	PendingRejectors Texts // those of them that answered Pending
}

// ScheduleResult is an answer of Schedule.
type ScheduleResult struct {
	Result
	ScheduleColumns
	NextStart uint32 // where FirstFit goes on
}

// Close gives the result back; its columns are nil then.
func (r *ScheduleResult) Close() error {
	if r == nil {
		return nil
	}
	r.ScheduleColumns = ScheduleColumns{}
	return r.closeResult()
}

func (s *ScheduleColumns) bindings() []binding {
	return []binding{{C.BERTH_COLUMN_NODE, &s.Nodes}, {C.BERTH_COLUMN_FITS, &s.Fits}, {C.BERTH_COLUMN_JUDGED, &s.Judged},
		{C.BERTH_COLUMN_SCORE, &s.Scores}, {C.BERTH_COLUMN_MESSAGE, &s.Messages}}
}

// Schedule places pods in the fork, in order, each as if those before it were bound. None of them stands on a node,
// unless AsMoved. Where the context ends it, the columns are of the pods that were tried, and those placements stand;
// with a deadline at least one is tried. Errors: Exists.
func (f *Fork) Schedule(ctx context.Context, pods []*Pod, options *ScheduleOptions) (*ScheduleResult, error) {
	c := begin("Fork.Schedule")
	defer c.end()
	if err := c.use(&f.handle); err != nil {
		return nil, err
	}
	list, count, err := c.podList(pods)
	if err != nil {
		return nil, err
	}
	if options == nil {
		options = &ScheduleOptions{}
	}
	o := C.berth_schedule_options{choice: C.uint32_t(options.Choice), start: C.uint32_t(options.Start)}
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	o.flags = bit(options.SkipCordoned, C.BERTH_SKIP_CORDONED) | bit(options.AsMoved, C.BERTH_AS_MOVED) |
		bit(options.StopAtFailure, C.BERTH_STOP_AT_FAILURE) | bit(options.Rejectors, C.BERTH_WITH_REJECTORS)
	if o.nodes, err = c.nodeSet(options.Nodes); err != nil {
		return nil, err
	}
	if len(options.Order) > 0 {
		c.pinner.Pin(unsafe.SliceData(options.Order))
		o.order, o.order_count = numbers(options.Order), C.size_t(len(options.Order))
	}
	if err := c.watch(ctx, options.Progress); err != nil {
		return nil, err
	}
	o.deadline_us, o.cancel = c.deadline, c.token
	o.progress, o.progress_user_data = c.progressOptions()
	status := C.berth_fork_schedule(f.fork, list, count, &o, &c.result, &c.err)
	return answered(c, status, func(c *call) (*ScheduleResult, error) {
		r := &ScheduleResult{}
		r.take(c)
		bindings := r.bindings()
		if options.Rejectors {
			bindings = append(bindings, binding{C.BERTH_COLUMN_REJECTORS, &r.Rejectors},
				binding{C.BERTH_COLUMN_PENDING_REJECTORS, &r.PendingRejectors})
		}
		err := r.bind(c, bindings...)
		if err == nil {
			err = c.failed(C.berth_result_next_start(r.p, &c.number, &c.err))
			r.NextStart = uint32(c.number)
		}
		if err != nil {
			r.Close()
			return nil, err
		}
		return watched(r, r.handle), nil
	})
}
