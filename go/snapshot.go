// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import (
	"context"
	"unsafe"
)

// asker is what snapshots and forks have in common: one of the two, and the questions that both answer.
type asker struct {
	handle
	snapshot *C.berth_snapshot
	fork     *C.berth_fork
}

// Snapshot is a cluster at one version. It does not change, and any number of goroutines read it.
type Snapshot struct{ asker }

func newSnapshot(p *C.berth_snapshot) *Snapshot {
	s := &Snapshot{asker{handle: newHandle(snapshotKind), snapshot: p}}
	s.release = func() { C.berth_snapshot_free(&p) }
	return watched(s, s.handle)
}

// Close gives the handle back; see the package's ownership rules.
func (s *Snapshot) Close() error { return s.close() }

// Version is the version of the cluster that the snapshot has.
func (s *Snapshot) Version() (uint64, error) {
	c := begin("Snapshot.Version")
	defer c.end()
	if err := c.use(&s.handle); err != nil {
		return 0, err
	}
	if err := c.failed(C.berth_snapshot_version(s.snapshot, &c.version, &c.err)); err != nil {
		return 0, err
	}
	return uint64(c.version), nil
}

// Fork opens a what-if on the snapshot, which does not change.
func (s *Snapshot) Fork() (*Fork, error) {
	c := begin("Snapshot.Fork")
	defer c.end()
	if err := c.use(&s.handle); err != nil {
		return nil, err
	}
	var p *C.berth_fork
	if err := c.failed(C.berth_snapshot_fork(s.snapshot, &p, &c.err)); err != nil {
		return nil, err
	}
	return newFork(p), nil
}

// Write writes the snapshot to a file, which has its old content until the new one is complete. Errors: Unsupported,
// Input.
func (s *Snapshot) Write(path string) error { return s.WriteContext(context.Background(), path) }

// Bytes is what Write writes, copied.
func (s *Snapshot) Bytes() ([]byte, error) { return s.BytesContext(context.Background()) }

// Nodes are the numbers of the nodes, ascending.
func (a *asker) Nodes() ([]NodeID, error) {
	c := begin("Nodes")
	defer c.end()
	if err := c.use(&a.handle); err != nil {
		return nil, err
	}
	var nodes []NodeID
	for {
		var status C.berth_status
		if a.fork != nil {
			status = C.berth_fork_nodes(a.fork, numbers(nodes), C.size_t(len(nodes)), &c.size, &c.err)
		} else {
			status = C.berth_snapshot_nodes(a.snapshot, numbers(nodes), C.size_t(len(nodes)), &c.size, &c.err)
		}
		if err := c.failed(status); err != nil {
			return nil, err
		}
		if int(c.size) == len(nodes) {
			return nodes, nil
		}
		nodes = make([]NodeID, int(c.size))
	}
}

// askOptions are those of a call that asks about one pod, until the context ends.
func (c *call) askOptions(ctx context.Context, flags C.uint32_t) (C.berth_ask_options, error) {
	o := C.berth_ask_options{flags: flags}
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if err := c.follow(ctx); err != nil {
		return o, err
	}
	o.deadline_us, o.cancel = c.deadline, c.token
	return o, nil
}

// ExplainOptions say what an explanation is of.
type ExplainOptions struct {
	AsMoved        bool // spec.nodeName is ignored, and the pod's own running copy is taken out first
	WithPreemption bool // add what preemption would do for a pod that fits nowhere
}

// Explain is what every node says of a pod: one record of docs/schemas/explain-record.schema.json. Where the context
// ends it there is no record.
func (a *asker) Explain(ctx context.Context, pod *Pod, options ExplainOptions) ([]byte, error) {
	c := begin("Explain")
	defer c.end()
	if err := c.useWith(&a.handle, pod); err != nil {
		return nil, err
	}
	flags := bit(options.AsMoved, C.BERTH_AS_MOVED) | bit(options.WithPreemption, C.BERTH_WITH_PREEMPTION)
	o, err := c.askOptions(ctx, flags)
	if err != nil {
		return nil, err
	}
	var status C.berth_status
	if a.fork != nil {
		status = C.berth_fork_explain_until(a.fork, pod.p, &o, &c.result, &c.err)
	} else {
		status = C.berth_snapshot_explain_until(a.snapshot, pod.p, &o, &c.result, &c.err)
	}
	defer C.berth_result_free(&c.result)
	if err := c.failed(status); err != nil {
		return nil, err
	}
	if err := c.failed(C.berth_result_json(c.result, &c.text, &c.err)); err != nil {
		return nil, err
	}
	return []byte(c.copied()), nil
}

// PreemptColumns are the columns of Preempt, one entry a candidate, ascending by node.
type PreemptColumns struct {
	Nodes      []NodeID
	Violations []int32 // victims whose eviction violates a budget
	Best       []bool  // upstream's choice may take the candidate
	// VictimBegin is where a candidate's victims begin in Victims; it has one entry more.
	VictimBegin []uint32
	Victims     Texts // uids, most important first
}

// PreemptResult is an answer of Preempt.
type PreemptResult struct {
	Result
	PreemptColumns
	Message string // why there is no candidate; empty: there is one
}

// Close gives the result back; its columns are nil then.
func (r *PreemptResult) Close() error {
	if r == nil {
		return nil
	}
	r.PreemptColumns = PreemptColumns{}
	return r.closeResult()
}

// Preempt tells whom the pod would evict, and where: upstream's dry run on every node where eviction can help, and its
// choice. It evicts nobody. Where the context ends it there is no candidate, which says nothing of the cluster.
func (a *asker) Preempt(ctx context.Context, pod *Pod, asMoved bool) (*PreemptResult, error) {
	c := begin("Preempt")
	defer c.end()
	if err := c.useWith(&a.handle, pod); err != nil {
		return nil, err
	}
	o, err := c.askOptions(ctx, bit(asMoved, C.BERTH_AS_MOVED))
	if err != nil {
		return nil, err
	}
	var status C.berth_status
	if a.fork != nil {
		status = C.berth_fork_preempt_until(a.fork, pod.p, &o, &c.result, &c.err)
	} else {
		status = C.berth_snapshot_preempt_until(a.snapshot, pod.p, &o, &c.result, &c.err)
	}
	return answered(c, status, newPreemptResult)
}

func newPreemptResult(c *call) (*PreemptResult, error) {
	r := &PreemptResult{}
	r.take(c)
	err := r.bind(c, binding{C.BERTH_COLUMN_NODE, &r.Nodes}, binding{C.BERTH_COLUMN_VIOLATIONS, &r.Violations},
		binding{C.BERTH_COLUMN_BEST, &r.Best}, binding{C.BERTH_COLUMN_VICTIM_BEGIN, &r.VictimBegin},
		binding{C.BERTH_COLUMN_VICTIM, &r.Victims})
	if err == nil {
		r.Message, err = r.message(c)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return watched(r, r.handle), nil
}
