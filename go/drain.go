// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import (
	"context"
	"unsafe"
)

// Preset says whose rules a drain follows.
type Preset uint32

// Presets of rules.
const (
	Kubectl           Preset = C.BERTH_DRAIN_KUBECTL
	ClusterAutoscaler Preset = C.BERTH_DRAIN_CLUSTER_AUTOSCALER
	Karpenter         Preset = C.BERTH_DRAIN_KARPENTER
)

// Rule is a rule of draining. docs/embedding.md has the table of them.
type Rule uint8

// Rules of draining.
const (
	RuleNone           Rule = C.BERTH_RULE_NONE
	RuleMirror         Rule = C.BERTH_RULE_MIRROR
	RuleDaemonSet      Rule = C.BERTH_RULE_DAEMON_SET
	RuleNoController   Rule = C.BERTH_RULE_NO_CONTROLLER
	RuleEmptyDir       Rule = C.BERTH_RULE_EMPTY_DIR
	RuleLocalStorage   Rule = C.BERTH_RULE_LOCAL_STORAGE
	RuleKubeSystem     Rule = C.BERTH_RULE_KUBE_SYSTEM
	RuleBudget         Rule = C.BERTH_RULE_BUDGET
	RuleManyBudgets    Rule = C.BERTH_RULE_MANY_BUDGETS
	RuleSafeToEvict    Rule = C.BERTH_RULE_SAFE_TO_EVICT
	RuleNotSafeToEvict Rule = C.BERTH_RULE_NOT_SAFE_TO_EVICT
	RuleOnCompletion   Rule = C.BERTH_RULE_ON_COMPLETION
	RuleDoNotDisrupt   Rule = C.BERTH_RULE_DO_NOT_DISRUPT
	RuleMinReplicas    Rule = C.BERTH_RULE_MIN_REPLICAS
	RuleTerminating    Rule = C.BERTH_RULE_TERMINATING
	RuleToleratesTaint Rule = C.BERTH_RULE_TOLERATES_TAINT
)

// Outcome is what becomes of a pod of a drained node.
type Outcome uint8

// Outcomes of pods.
const (
	PodMoves     Outcome = C.BERTH_POD_MOVES      // to the target, or it was not tried, since the node is blocked: NoNode
	PodStays     Outcome = C.BERTH_POD_STAYS      // it needs no place, and keeps nobody from removing the node
	PodEnds      Outcome = C.BERTH_POD_ENDS       // the same, and it is on its way out
	PodBlocks    Outcome = C.BERTH_POD_BLOCKS     // by its rule
	PodNoPlace   Outcome = C.BERTH_POD_NO_PLACE   // no node takes it: the message says why
	PodNotJudged Outcome = C.BERTH_POD_NOT_JUDGED // the message names plugin and field
)

// DrainOptions say how nodes are drained. The zero value, or nil: each node by itself, kubectl's rules, first fit among
// all nodes.
type DrainOptions struct {
	Together     bool // one node after another: budgets are shared, and moves seen by the nodes behind
	Keep         bool // of forks, with Together: nodes and pods stay so
	ByScore      bool // pods go where kube-scheduler would put them, which costs far more
	SkipCordoned bool
	Preset       Preset
	RulesOn      []Rule // hold beside those of the preset
	RulesOff     []Rule // do not hold
	MinReplicas  int32  // of RuleMinReplicas
	Nodes        *NodeSet
	Progress     Progress // nil: nobody is told
}

func bits(rules []Rule) (set C.uint32_t) {
	for _, rule := range rules {
		set |= 1 << rule
	}
	return set
}

// DrainColumns are the columns of Drain and Replace.
type DrainColumns struct {
	Nodes        []NodeID // drained
	Removable    []bool   // drained: no pod is in the way
	Rules        []Rule   // drained: of the first pod that blocks
	BlockingPods Texts    // drained: uid of that pod, or of the first without a place
	PodBegin     []uint32 // drained, and one more: where a node's pods begin
	Pods         Texts    // pods of drained nodes: uids, in the order in which they leave
	Outcomes     []Outcome
	PodRules     []Rule
	Targets      []NodeID // where the pod goes, or NoNode
	Messages     Texts
}

func (d *DrainColumns) bindings() []binding {
	return []binding{{C.BERTH_COLUMN_NODE, &d.Nodes}, {C.BERTH_COLUMN_REMOVABLE, &d.Removable},
		{C.BERTH_COLUMN_RULE, &d.Rules}, {C.BERTH_COLUMN_BLOCKING_POD, &d.BlockingPods},
		{C.BERTH_COLUMN_POD_BEGIN, &d.PodBegin}, {C.BERTH_COLUMN_POD, &d.Pods}, {C.BERTH_COLUMN_OUTCOME, &d.Outcomes},
		{C.BERTH_COLUMN_POD_RULE, &d.PodRules}, {C.BERTH_COLUMN_TARGET, &d.Targets}, {C.BERTH_COLUMN_MESSAGE, &d.Messages}}
}

// DrainResult is an answer of Drain.
type DrainResult struct {
	Result
	DrainColumns
}

// Close gives the result back; its columns are nil then.
func (r *DrainResult) Close() error {
	if r == nil {
		return nil
	}
	r.DrainColumns = DrainColumns{}
	return r.closeResult()
}

// drainOptions are the options for C, of a call that follows the context.
func (c *call) drainOptions(ctx context.Context, options *DrainOptions) (*C.berth_drain_options, error) {
	if options == nil {
		options = &DrainOptions{}
	}
	o := &C.berth_drain_options{preset: C.uint32_t(options.Preset), min_replicas: C.int32_t(options.MinReplicas)}
	o.struct_size = C.uint32_t(unsafe.Sizeof(*o))
	o.flags = bit(options.Together, C.BERTH_DRAIN_TOGETHER) | bit(options.Keep, C.BERTH_DRAIN_KEEP) |
		bit(options.ByScore, C.BERTH_DRAIN_BY_SCORE) | bit(options.SkipCordoned, C.BERTH_SKIP_CORDONED)
	o.rules_on, o.rules_off = bits(options.RulesOn), bits(options.RulesOff)
	var err error
	if o.nodes, err = c.nodeSet(options.Nodes); err != nil {
		return nil, err
	}
	if err := c.watch(ctx, options.Progress); err != nil {
		return nil, err
	}
	o.deadline_us, o.cancel = c.deadline, c.token
	o.progress, o.progress_user_data = c.progressOptions()
	return o, nil
}

// Drain tells which nodes can be removed, and where their pods go. Where the context ends it, the columns are of a
// prefix of the nodes, which may be empty. Errors: NotFound, Argument.
func (a *asker) Drain(ctx context.Context, nodes []NodeID, options *DrainOptions) (*DrainResult, error) {
	c := begin("Drain")
	defer c.end()
	if err := c.use(&a.handle); err != nil {
		return nil, err
	}
	o, err := c.drainOptions(ctx, options)
	if err != nil {
		return nil, err
	}
	var status C.berth_status
	if a.fork != nil {
		status = C.berth_fork_drain(a.fork, numbers(nodes), C.size_t(len(nodes)), o, &c.result, &c.err)
	} else {
		status = C.berth_snapshot_drain(a.snapshot, numbers(nodes), C.size_t(len(nodes)), o, &c.result, &c.err)
	}
	return answered(c, status, func(c *call) (*DrainResult, error) {
		r := &DrainResult{}
		r.take(c)
		if err := r.bind(c, r.bindings()...); err != nil {
			r.Close()
			return nil, err
		}
		return watched(r, r.handle), nil
	})
}

// ReplaceColumns are the columns of replacements, beside those of the drain.
type ReplaceColumns struct {
	Shapes     []uint32 // replacements: NoNode where none is needed or none holds the rest
	NodeCounts []uint32 // replacements
	Prices     []int64  // replacements: of all nodes
	NewNodes   []NodeID // pods of drained nodes: which of the new nodes, or NoNode
}

// ReplaceResult is an answer of Replace.
type ReplaceResult struct {
	Result
	DrainColumns
	ReplaceColumns
}

// Close gives the result back; its columns are nil then.
func (r *ReplaceResult) Close() error {
	if r == nil {
		return nil
	}
	r.DrainColumns, r.ReplaceColumns = DrainColumns{}, ReplaceColumns{}
	return r.closeResult()
}

// Replace is Drain, and then at most maxNodes new nodes of one shape, the cheapest that holds them, for the pods that
// find no place. Where the context ends it, the columns are of a prefix of the nodes; empty with Together.
func (a *asker) Replace(
	ctx context.Context, nodes []NodeID, shapes []Shape, maxNodes uint32, options *DrainOptions,
) (*ReplaceResult, error) {
	c := begin("Replace")
	defer c.end()
	if err := c.use(&a.handle); err != nil {
		return nil, err
	}
	kinds, count, err := c.shapeList(shapes)
	if err != nil {
		return nil, err
	}
	o, err := c.drainOptions(ctx, options)
	if err != nil {
		return nil, err
	}
	drained, drainedCount, most := numbers(nodes), C.size_t(len(nodes)), C.uint32_t(maxNodes)
	var status C.berth_status
	if a.fork != nil {
		status = C.berth_fork_replace(a.fork, drained, drainedCount, o, kinds, count, most, &c.result, &c.err)
	} else {
		status = C.berth_snapshot_replace(a.snapshot, drained, drainedCount, o, kinds, count, most, &c.result, &c.err)
	}
	return answered(c, status, func(c *call) (*ReplaceResult, error) {
		r := &ReplaceResult{}
		r.take(c)
		err := r.bind(c, append(r.DrainColumns.bindings(), binding{C.BERTH_COLUMN_SHAPE, &r.Shapes},
			binding{C.BERTH_COLUMN_NODE_COUNT, &r.NodeCounts}, binding{C.BERTH_COLUMN_PRICE, &r.Prices},
			binding{C.BERTH_COLUMN_NEW_NODE, &r.NewNodes})...)
		if err != nil {
			r.Close()
			return nil, err
		}
		return watched(r, r.handle), nil
	})
}
