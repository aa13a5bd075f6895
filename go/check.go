// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import (
	"context"
	"unsafe"
)

// CheckOptions limit a check. The zero value, or nil: all nodes, with reasons.
type CheckOptions struct {
	SkipCordoned bool     // nodes with spec.unschedulable are left out, whatever the pod tolerates
	AsMoved      bool     // spec.nodeName is ignored, and the pod's own running copy is taken out first
	NoReasons    bool     // leave Reasons empty, which is much cheaper; Check looks at it not
	Scores       bool     // of CheckBulk: fill Scores and Messages
	Nodes        *NodeSet // of CheckBulk; nil: all nodes
}

// NoScore is the score of a node that does not fit, or where nothing was scored.
const NoScore = C.BERTH_NO_SCORE

func (o *CheckOptions) flags() C.uint32_t {
	if o == nil {
		return 0
	}
	return bit(o.SkipCordoned, C.BERTH_SKIP_CORDONED) | bit(o.AsMoved, C.BERTH_AS_MOVED)
}

// Check asks the Filter plugins about one pod on one node. A pod that Berth cannot judge does not fit.
func (a *asker) Check(pod *Pod, node NodeID, options *CheckOptions) (bool, error) {
	c := begin("Check")
	defer c.end()
	if err := c.useWith(&a.handle, pod); err != nil {
		return false, err
	}
	if err := c.failed(a.check(c, pod, node, options, false)); err != nil {
		return false, err
	}
	return c.fits != 0, nil
}

func (a *asker) check(c *call, pod *Pod, node NodeID, options *CheckOptions, details bool) C.berth_status {
	flags := options.flags()
	switch {
	case a.fork != nil && details:
		return C.berth_fork_check(a.fork, pod.p, C.uint32_t(node), flags, &c.fits, &c.result, &c.err)
	case a.fork != nil:
		return C.berth_fork_check(a.fork, pod.p, C.uint32_t(node), flags, &c.fits, nil, &c.err)
	case details:
		return C.berth_snapshot_check(a.snapshot, pod.p, C.uint32_t(node), flags, &c.fits, &c.result, &c.err)
	default:
		return C.berth_snapshot_check(a.snapshot, pod.p, C.uint32_t(node), flags, &c.fits, nil, &c.err)
	}
}

// CheckColumns are the columns of checks. Element (p, n) of a column over pods and nodes is at p * len(Nodes) + n.
type CheckColumns struct {
	Nodes   []NodeID // the nodes that were asked
	Fits    []bool   // pods x nodes
	Judged  []Judged // pods
	Codes   []Code   // pods x nodes
	Phases  []Phase  // pods x nodes
	Plugins Texts    // pods x nodes: the plugin that refuses
	Reasons Texts    // pods x nodes: upstream's reasons, joined with ", "
	// With CheckOptions.Scores, and otherwise empty: by which kube-scheduler chooses, normalised over the nodes on
	// which the pod fits.
	Scores   []int64 // pods x nodes: the total, or NoScore
	Messages Texts   // pods: the error with which scoring ends the cycle; empty: none
}

// CheckResult is an answer of Verdict and CheckBulk.
type CheckResult struct {
	Result
	CheckColumns
}

// Close gives the result back; its columns are nil then.
func (r *CheckResult) Close() error {
	if r == nil {
		return nil
	}
	r.CheckColumns = CheckColumns{}
	return r.closeResult()
}

func newCheckResult(c *call) (*CheckResult, error) {
	r := &CheckResult{}
	r.take(c)
	err := r.bind(c, binding{C.BERTH_COLUMN_NODE, &r.Nodes}, binding{C.BERTH_COLUMN_FITS, &r.Fits},
		binding{C.BERTH_COLUMN_JUDGED, &r.Judged}, binding{C.BERTH_COLUMN_CODE, &r.Codes},
		binding{C.BERTH_COLUMN_PHASE, &r.Phases}, binding{C.BERTH_COLUMN_PLUGIN, &r.Plugins},
		binding{C.BERTH_COLUMN_REASONS, &r.Reasons})
	if err == nil && c.scores {
		err = r.bind(c, binding{C.BERTH_COLUMN_SCORE, &r.Scores}, binding{C.BERTH_COLUMN_MESSAGE, &r.Messages})
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return watched(r, r.handle), nil
}

// Verdict is Check with plugin and reasons: a result of one pod and one node.
func (a *asker) Verdict(pod *Pod, node NodeID, options *CheckOptions) (*CheckResult, error) {
	c := begin("Verdict")
	defer c.end()
	if err := c.useWith(&a.handle, pod); err != nil {
		return nil, err
	}
	if err := c.failed(a.check(c, pod, node, options, true)); err != nil {
		return nil, err
	}
	return newCheckResult(c)
}

// CheckBulk asks about every pod on every node. Where the context ends it, every column but Nodes is of a prefix of the
// pods, of the length of Judged; with a deadline of at least one.
func (a *asker) CheckBulk(ctx context.Context, pods []*Pod, options *CheckOptions) (*CheckResult, error) {
	c := begin("CheckBulk")
	defer c.end()
	if err := c.use(&a.handle); err != nil {
		return nil, err
	}
	list, count, err := c.podList(pods)
	if err != nil {
		return nil, err
	}
	o := C.berth_check_options{flags: options.flags()}
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if options != nil {
		o.flags |= bit(options.NoReasons, C.BERTH_NO_REASONS) | bit(options.Scores, C.BERTH_WITH_SCORES)
		c.scores = options.Scores
		if o.nodes, err = c.nodeSet(options.Nodes); err != nil {
			return nil, err
		}
	}
	if err := c.follow(ctx); err != nil {
		return nil, err
	}
	o.deadline_us, o.cancel = c.deadline, c.token
	var status C.berth_status
	if a.fork != nil {
		status = C.berth_fork_check_bulk_until(a.fork, list, count, &o, &c.result, &c.err)
	} else {
		status = C.berth_snapshot_check_bulk_until(a.snapshot, list, count, &o, &c.result, &c.err)
	}
	return answered(c, status, newCheckResult)
}

// answered makes the result of a status that is not negative, beside the error of a context that ended the call.
func answered[T any](c *call, status C.berth_status, make func(*call) (*T, error)) (*T, error) {
	note := c.failed(status)
	if status < 0 {
		return nil, note
	}
	if c.progress.panicked != nil { // end goes on with that, and nobody gets the result
		C.berth_result_free(&c.result)
		return nil, note
	}
	result, err := make(c)
	if err != nil {
		return nil, err
	}
	return result, note
}
