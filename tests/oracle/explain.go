// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"berth.dev/tests/oracle/upstream"
)

type scoreRecord struct {
	Plugin     string `json:"plugin"`
	Raw        int64  `json:"raw"`
	Normalized int64  `json:"normalized"`
	Weight     int32  `json:"weight"`
}

type nodeRecord struct {
	Node     string        `json:"node"`
	Feasible bool          `json:"feasible"`
	Plugin   string        `json:"plugin,omitempty"`
	Code     string        `json:"code,omitempty"`
	Reasons  []string      `json:"reasons,omitempty"`
	Scores   []scoreRecord `json:"scores,omitempty"`
	Total    int64         `json:"total"`
}

// pluginRecord is the PreFilter or PreScore status of one plugin.
type pluginRecord struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons,omitempty"`
}

type podRecord struct {
	Pod       string         `json:"pod"`
	Profile   string         `json:"profile"`
	PreFilter []pluginRecord `json:"preFilter,omitempty"`
	PreScore  []pluginRecord `json:"preScore,omitempty"`
	Nodes     []nodeRecord   `json:"nodes"`
	Best      []string       `json:"best"`
	Message   string         `json:"message,omitempty"`
	Rejectors []string       `json:"rejectors,omitempty"` // UnschedulablePlugins of the diagnosis, with a message only
	Error     string         `json:"error,omitempty"`
	LeftOut   string         `json:"leftOut,omitempty"` // the reason of nodes that PreFilter plugins do not name
	Nominated *nodeRecord    `json:"nominated,omitempty"`
}

func explainAll(ctx context.Context, s *upstream.Scheduler, out *json.Encoder) error {
	for _, pod := range s.Pending {
		c, err := newCycle(ctx, s, pod)
		if err != nil {
			return fmt.Errorf("%s: %w", fullName(pod), err)
		}
		if err := out.Encode(c.explain()); err != nil {
			return err
		}
	}
	return nil
}

func fullName(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// cycle runs one pod through the extension points on every node: no sampling, scores even for a single feasible node,
// and the nominated-node fast path only in a serial run.
type cycle struct {
	*upstream.Profile
	ctx       context.Context
	state     fwk.CycleState
	pod       *v1.Pod
	nodes     []fwk.NodeInfo // in snapshot order
	record    *podRecord
	feasible  []fwk.NodeInfo
	index     map[string]int // of a node's name in nodes
	diagnosis framework.Diagnosis
	serial    bool // the nominated node is tried first
}

func newCycle(ctx context.Context, s *upstream.Scheduler, pod *v1.Pod) (*cycle, error) {
	nodes, err := s.Snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	c := &cycle{
		Profile:   s.Profiles[pod.Spec.SchedulerName],
		ctx:       ctx,
		state:     framework.NewCycleState(),
		pod:       pod,
		nodes:     nodes,
		record:    &podRecord{Pod: fullName(pod), Profile: pod.Spec.SchedulerName, Nodes: []nodeRecord{}, Best: []string{}},
		index:     map[string]int{},
		diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()},
	}
	for i, n := range nodes {
		c.index[n.Node().Name] = i
		c.record.Nodes = append(c.record.Nodes, nodeRecord{Node: n.Node().Name})
	}
	return c, nil
}

// keep leaves out the nodes that are not named, as sampling would: plugins see them all. Nil names every node.
func (c *cycle) keep(names []string) {
	if names == nil {
		return
	}
	all, records := c.nodes, c.record.Nodes
	c.nodes, c.record.Nodes, c.index = nil, []nodeRecord{}, map[string]int{}
	for i, n := range all {
		if name := n.Node().Name; slices.Contains(names, name) {
			c.index[name] = len(c.nodes)
			c.nodes = append(c.nodes, n)
			c.record.Nodes = append(c.record.Nodes, records[i])
		}
	}
}

// explain runs the whole cycle.
func (c *cycle) explain() *podRecord {
	if c.filter() {
		c.score()
	}
	return c.record
}

// filter fills the verdicts and reports whether nodes remain to be scored.
func (c *cycle) filter() bool {
	if len(c.nodes) == 0 {
		c.record.Message = scheduler.ErrNoNodesAvailable.Error()
		return false
	}
	result, status, by := c.RunPreFilterPlugins(c.ctx, c.state, c.pod)
	c.record.PreFilter = c.preFilterRecords(status)
	c.diagnosis.UnschedulablePlugins = by
	if !status.IsSuccess() {
		c.preFilterRefused(status)
		return false
	}
	if c.serial && c.tryNominated() {
		return true
	}
	var outside *fwk.Status
	if !result.AllNodes() {
		outside = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(by)))
		c.diagnosis.NodeToStatus.SetAbsentNodesStatus(outside)
		c.record.LeftOut = outside.Message()
	}
	for i, node := range c.nodes {
		if outside != nil && !result.NodeNames.Has(node.Node().Name) {
			c.refuse(i, "PreFilter", outside.Code(), nil)
			continue
		}
		verdict := c.RunFilterPluginsWithNominatedPods(c.ctx, c.state, c.pod, node)
		if !c.verdict(i, verdict) {
			return false
		}
	}
	if len(c.feasible) == 0 {
		c.rejected()
	}
	return len(c.feasible) > 0
}

// preFilterRecords are derived from the skipped plugins. After a rejection the results of the other plugins are unknown,
// and plugins after the rejecting one did not run; then each plugin is called alone.
func (c *cycle) preFilterRecords(status *fwk.Status) []pluginRecord {
	records := []pluginRecord{}
	for _, p := range c.ListPlugins().PreFilter.Enabled {
		answer := skipOrSuccess(c.state.GetSkipFilterPlugins().Has(p.Name))
		if !status.IsSuccess() {
			_, answer = c.Plugins[p.Name].(fwk.PreFilterPlugin).PreFilter(c.ctx, framework.NewCycleState(), c.pod, c.nodes)
		}
		records = append(records, newPluginRecord(p.Name, answer))
	}
	return records
}

func newPluginRecord(plugin string, answer *fwk.Status) pluginRecord {
	r := pluginRecord{Plugin: plugin, Code: answer.Code().String()}
	if !answer.IsSuccess() { // a success may be a nil status, which has no reasons to ask for
		r.Reasons = answer.Reasons()
	}
	return r
}

func skipOrSuccess(skip bool) *fwk.Status {
	if skip {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

func (c *cycle) preFilterRefused(status *fwk.Status) {
	for i := range c.nodes {
		c.refuse(i, "PreFilter", status.Code(), status.Reasons())
	}
	if !status.IsRejected() {
		c.record.Error = "prefilter: " + status.AsError().Error()
		return
	}
	c.diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
	c.diagnosis.PreFilterMsg = status.Message()
	c.diagnosis.AddPluginStatus(status)
	c.rejected()
}

// tryNominated filters the pod's nominated node, as upstream's cycle does before the others, even when PreFilter excludes
// that node. It returns true when the node is feasible. A rejection stays in the diagnosis, an error is dropped.
func (c *cycle) tryNominated() bool {
	i, ok := c.index[c.pod.Status.NominatedNodeName]
	if !ok {
		return false
	}
	status := c.RunFilterPluginsWithNominatedPods(c.ctx, c.state, c.pod, c.nodes[i])
	if status.IsSuccess() {
		return c.verdict(i, status)
	}
	if status.Code() != fwk.Error {
		c.diagnosis.NodeToStatus.Set(c.record.Nodes[i].Node, status)
		c.diagnosis.AddPluginStatus(status)
	}
	return false
}

// verdict records the filter results; false when the cycle ended with an error.
func (c *cycle) verdict(i int, status *fwk.Status) bool {
	if status.IsSuccess() {
		c.record.Nodes[i].Feasible = true
		c.feasible = append(c.feasible, c.nodes[i])
		return true
	}
	c.refuse(i, status.Plugin(), status.Code(), status.Reasons())
	if status.Code() == fwk.Error {
		c.record.Error = "filter: " + status.AsError().Error()
		return false
	}
	c.diagnosis.NodeToStatus.Set(c.record.Nodes[i].Node, status)
	c.diagnosis.AddPluginStatus(status)
	return true
}

// askNominated records what Filter says of the pod's nominated node where PreFilter does not name it: upstream tries it all the same
// (tryNominated), and drops an error.
func (c *cycle) askNominated() {
	i, ok := c.index[c.pod.Status.NominatedNodeName]
	if !ok || c.record.LeftOut == "" || c.record.Nodes[i].Plugin != "PreFilter" {
		return
	}
	status := c.RunFilterPluginsWithNominatedPods(c.ctx, c.state, c.pod, c.nodes[i])
	if status.Code() == fwk.Error {
		return
	}
	n := nodeRecord{Node: c.record.Nodes[i].Node, Feasible: status.IsSuccess()}
	if !n.Feasible {
		n.Plugin, n.Code, n.Reasons = status.Plugin(), status.Code().String(), status.Reasons()
	}
	c.record.Nominated = &n
}

func (c *cycle) refuse(i int, plugin string, code fwk.Code, reasons []string) {
	n := &c.record.Nodes[i]
	n.Plugin, n.Code, n.Reasons = plugin, code.String(), reasons
}

// rejected records why no node is feasible.
func (c *cycle) rejected() {
	c.record.Message = c.fitError()
	c.record.Rejectors = sets.List(c.diagnosis.UnschedulablePlugins)
}

func (c *cycle) fitError() string {
	return (&framework.FitError{Pod: c.pod, NumAllNodes: len(c.nodes), Diagnosis: c.diagnosis}).Error()
}

func (c *cycle) score() {
	if !c.HasScorePlugins() {
		c.record.takeBest(func(n *nodeRecord) { n.Total = 1 })
		return
	}
	if status := c.RunPreScorePlugins(c.ctx, c.state, c.pod, c.feasible); !status.IsSuccess() {
		c.record.Error = "prescore: " + status.AsError().Error()
		return
	}
	for _, p := range c.ListPlugins().PreScore.Enabled {
		answer := skipOrSuccess(c.state.GetSkipScorePlugins().Has(p.Name))
		c.record.PreScore = append(c.record.PreScore, newPluginRecord(p.Name, answer))
	}
	scores, status := c.RunScorePlugins(c.ctx, c.state, c.pod, c.feasible)
	if !status.IsSuccess() {
		c.record.Error = "score: " + status.AsError().Error()
		return
	}
	raw, err := c.rawScores()
	if err != nil {
		c.record.Error = "score: " + err.Error()
		return
	}
	weights := c.weights()
	for _, node := range scores {
		n := &c.record.Nodes[c.index[node.Name]]
		n.Total = node.TotalScore
		for _, p := range node.Scores {
			weight := weights[p.Name]
			n.Scores = append(n.Scores, scoreRecord{p.Name, raw[p.Name][node.Name], p.Score / int64(weight), weight})
		}
		slices.SortFunc(n.Scores, func(a, b scoreRecord) int { return strings.Compare(a.Plugin, b.Plugin) })
	}
	c.record.takeBest(func(*nodeRecord) {})
}

func (c *cycle) weights() map[string]int32 {
	weights := map[string]int32{}
	for _, p := range c.ListPlugins().Score.Enabled {
		weights[p.Name] = p.Weight
	}
	return weights
}

// rawScores are by plugin and node, before normalisation.
func (c *cycle) rawScores() (map[string]map[string]int64, error) {
	raw := map[string]map[string]int64{}
	skip := c.state.GetSkipScorePlugins()
	for name := range c.weights() {
		if skip.Has(name) {
			continue
		}
		raw[name] = map[string]int64{}
		for _, node := range c.feasible {
			score, status := c.Plugins[name].(fwk.ScorePlugin).Score(c.ctx, c.state, c.pod, node)
			if !status.IsSuccess() {
				return nil, fmt.Errorf("plugin %q failed with: %w", name, status.AsError())
			}
			raw[name][node.Node().Name] = score
		}
	}
	return raw, nil
}

func (r *podRecord) takeBest(each func(*nodeRecord)) {
	top := int64(-1)
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if !n.Feasible {
			continue
		}
		each(n)
		if n.Total > top {
			top, r.Best = n.Total, r.Best[:0]
		}
		if n.Total == top {
			r.Best = append(r.Best, n.Node)
		}
	}
}
