// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import (
	"context"
	"unsafe"
)

// NoPod stands in GroupColumns.TryPods for a try in which every pod found a node.
const NoPod = uint32(C.BERTH_NO_POD)

// MaxReplicasOptions say what is counted. The zero value, or nil: counts alone, on all nodes.
type MaxReplicasOptions struct {
	SkipCordoned bool
	AsMoved      bool
	Nodes        *NodeSet
	Keys         []string // label keys of nodes to sum the copies by, at most 4
	PerNode      bool     // the copies on each node are wanted too
	Progress     Progress // nil: nobody is told
}

// MaxReplicasColumns are the columns of MaxReplicas.
type MaxReplicasColumns struct {
	Counts  []int64  // shapes: copies that find a node
	Judged  []Judged // shapes
	Plugins Texts    // shapes: of one that is not judged
	Reasons Texts    // shapes

	Nodes       []NodeID // with PerNode
	CountOnNode []int32  // with PerNode: shapes x nodes

	Values       Texts    // with Keys: values of the keys, key by key, in byte order
	ValueBegin   []uint32 // with Keys: where a key's values begin in Values; one entry more than keys
	CountOfValue []int64  // with Keys: shapes x values
}

// MaxReplicasResult is an answer of MaxReplicas.
type MaxReplicasResult struct {
	Result
	MaxReplicasColumns
}

// Close gives the result back; its columns are nil then.
func (r *MaxReplicasResult) Close() error {
	if r == nil {
		return nil
	}
	r.MaxReplicasColumns = MaxReplicasColumns{}
	return r.closeResult()
}

// MaxReplicas counts how many copies of each shape kube-scheduler would place one after another, by score, before the
// first that fits nowhere. Nothing is placed. Where the context ends it, the columns are of a prefix of the shapes.
// Errors: Unsupported.
func (a *asker) MaxReplicas(
	ctx context.Context, shapes []*Pod, options *MaxReplicasOptions,
) (*MaxReplicasResult, error) {
	c := begin("MaxReplicas")
	defer c.end()
	if err := c.use(&a.handle); err != nil {
		return nil, err
	}
	list, count, err := c.podList(shapes)
	if err != nil {
		return nil, err
	}
	if options == nil {
		options = &MaxReplicasOptions{}
	}
	o := C.berth_max_replicas_options{per_node: bit(options.PerNode, 1), key_count: C.size_t(len(options.Keys))}
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	o.flags = bit(options.SkipCordoned, C.BERTH_SKIP_CORDONED) | bit(options.AsMoved, C.BERTH_AS_MOVED)
	if o.nodes, err = c.nodeSet(options.Nodes); err != nil {
		return nil, err
	}
	if o.keys, err = c.list("Keys", options.Keys); err != nil {
		return nil, err
	}
	if err := c.watch(ctx, options.Progress); err != nil {
		return nil, err
	}
	o.deadline_us, o.cancel = c.deadline, c.token
	o.progress, o.progress_user_data = c.progressOptions()
	var status C.berth_status
	if a.fork != nil {
		status = C.berth_fork_max_replicas(a.fork, list, count, &o, &c.result, &c.err)
	} else {
		status = C.berth_snapshot_max_replicas(a.snapshot, list, count, &o, &c.result, &c.err)
	}
	return answered(c, status, func(c *call) (*MaxReplicasResult, error) {
		r := &MaxReplicasResult{}
		r.take(c)
		columns := []binding{{C.BERTH_COLUMN_COUNT, &r.Counts}, {C.BERTH_COLUMN_JUDGED, &r.Judged},
			{C.BERTH_COLUMN_PLUGIN, &r.Plugins}, {C.BERTH_COLUMN_REASONS, &r.Reasons}}
		if options.PerNode {
			columns = append(columns, binding{C.BERTH_COLUMN_NODE, &r.Nodes},
				binding{C.BERTH_COLUMN_COUNT_ON_NODE, &r.CountOnNode})
		}
		if len(options.Keys) > 0 {
			columns = append(columns, binding{C.BERTH_COLUMN_VALUE, &r.Values},
				binding{C.BERTH_COLUMN_VALUE_BEGIN, &r.ValueBegin}, binding{C.BERTH_COLUMN_COUNT_OF_VALUE, &r.CountOfValue})
		}
		if err := r.bind(c, columns...); err != nil {
			r.Close()
			return nil, err
		}
		return watched(r, r.handle), nil
	})
}

// Domain says whether the pods of a group have to, or should, be in one domain.
type Domain uint32

// Domains of groups.
const (
	AnyDomain       Domain = C.BERTH_DOMAIN_NONE
	DomainRequired  Domain = C.BERTH_DOMAIN_REQUIRED  // in one domain of one of the keys, or not at all
	DomainPreferred Domain = C.BERTH_DOMAIN_PREFERRED // where no domain holds it, anywhere
)

// GroupOptions say where a group may go. The zero value, or nil: all pods, anywhere.
type GroupOptions struct {
	SkipCordoned bool
	Nodes        *NodeSet
	Keys         []string // label keys of nodes, narrowest first, at most 4
	Domain       Domain
	Minimum      int // of pods that must find a node; 0: all
}

// GroupColumns are the tries of ScheduleGroup, one entry each.
type GroupColumns struct {
	TryKeys    Texts    // label key of the domain; empty: all nodes
	TryValues  Texts    // its value
	TryPlaced  []uint32 // pods that found a node
	TryPods    []uint32 // the first pod that found none, or NoPod
	TryReasons Texts    // why, as kube-scheduler's event says it
	TryTaken   []bool   // the pods stand where this try placed them
}

// GroupResult is an answer of ScheduleGroup.
type GroupResult struct {
	Result
	ScheduleColumns // of the try that was taken, and otherwise without nodes
	GroupColumns
}

// Close gives the result back; its columns are nil then.
func (r *GroupResult) Close() error {
	if r == nil {
		return nil
	}
	r.ScheduleColumns, r.GroupColumns = ScheduleColumns{}, GroupColumns{}
	return r.closeResult()
}

// ScheduleGroup places a group of pods in the fork by score, all of them or at least the minimum, or none. Where the
// context ends it, nothing is placed. Errors: Exists, Unsupported.
func (f *Fork) ScheduleGroup(ctx context.Context, pods []*Pod, options *GroupOptions) (*GroupResult, error) {
	c := begin("Fork.ScheduleGroup")
	defer c.end()
	if err := c.use(&f.handle); err != nil {
		return nil, err
	}
	list, count, err := c.podList(pods)
	if err != nil {
		return nil, err
	}
	if options == nil {
		options = &GroupOptions{}
	}
	if options.Minimum < 0 {
		return nil, refused(c.verb, "Minimum", "negative")
	}
	o := C.berth_group_options{domain: C.uint32_t(options.Domain), minimum: C.size_t(options.Minimum)}
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	o.flags = bit(options.SkipCordoned, C.BERTH_SKIP_CORDONED)
	if o.nodes, err = c.nodeSet(options.Nodes); err != nil {
		return nil, err
	}
	if o.keys, err = c.list("Keys", options.Keys); err != nil {
		return nil, err
	}
	o.key_count = C.size_t(len(options.Keys))
	if err := c.follow(ctx); err != nil {
		return nil, err
	}
	o.deadline_us, o.cancel = c.deadline, c.token
	status := C.berth_fork_schedule_group(f.fork, list, count, &o, &c.result, &c.err)
	return answered(c, status, func(c *call) (*GroupResult, error) {
		r := &GroupResult{}
		r.take(c)
		err := r.bind(c, append(r.bindings(), binding{C.BERTH_COLUMN_TRY_KEY, &r.TryKeys},
			binding{C.BERTH_COLUMN_TRY_VALUE, &r.TryValues}, binding{C.BERTH_COLUMN_TRY_PLACED, &r.TryPlaced},
			binding{C.BERTH_COLUMN_TRY_POD, &r.TryPods}, binding{C.BERTH_COLUMN_TRY_REASONS, &r.TryReasons},
			binding{C.BERTH_COLUMN_TRY_TAKEN, &r.TryTaken})...)
		if err != nil {
			r.Close()
			return nil, err
		}
		return watched(r, r.handle), nil
	})
}
