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
	"k8s.io/kubernetes/pkg/scheduler/framework"
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

type podRecord struct {
	Pod     string       `json:"pod"`
	Profile string       `json:"profile"`
	Nodes   []nodeRecord `json:"nodes"`
	Best    []string     `json:"best"`
	Message string       `json:"message,omitempty"`
	Error   string       `json:"error,omitempty"`
}

func (s *oracleScheduler) explainAll(ctx context.Context, out *json.Encoder) error {
	for _, pod := range s.pending {
		record, err := s.explain(ctx, pod)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", pod.Namespace, pod.Name, err)
		}
		if err := out.Encode(record); err != nil {
			return err
		}
	}
	return nil
}

// cycle is one pod's way through the extension points, every node looked at: no sampling, no short cut over the
// nominated node, scores even for a single feasible node.
type cycle struct {
	*profileRuntime
	ctx       context.Context
	state     fwk.CycleState
	pod       *v1.Pod
	nodes     []fwk.NodeInfo
	record    *podRecord
	feasible  []fwk.NodeInfo
	index     map[string]int
	diagnosis framework.Diagnosis
}

func (s *oracleScheduler) explain(ctx context.Context, pod *v1.Pod) (*podRecord, error) {
	nodes, err := s.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	c := &cycle{
		profileRuntime: s.profiles[pod.Spec.SchedulerName],
		ctx:            ctx,
		state:          framework.NewCycleState(),
		pod:            pod,
		nodes:          nodes,
		record:         &podRecord{Pod: pod.Namespace + "/" + pod.Name, Profile: pod.Spec.SchedulerName, Nodes: []nodeRecord{}, Best: []string{}},
		index:          map[string]int{},
		diagnosis:      framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()},
	}
	for i, n := range nodes {
		c.index[n.Node().Name] = i
		c.record.Nodes = append(c.record.Nodes, nodeRecord{Node: n.Node().Name})
	}
	if len(nodes) == 0 {
		c.record.Message = "no nodes available to schedule pods"
		return c.record, nil
	}
	if c.filter() {
		c.score()
	}
	return c.record, nil
}

// filter fills the verdicts and says whether there is something to score.
func (c *cycle) filter() bool {
	result, status, by := c.RunPreFilterPlugins(c.ctx, c.state, c.pod)
	c.diagnosis.UnschedulablePlugins = by
	if !status.IsSuccess() {
		c.preFilterRefused(status)
		return false
	}
	var outside *fwk.Status
	if !result.AllNodes() {
		outside = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(by)))
		c.diagnosis.NodeToStatus.SetAbsentNodesStatus(outside)
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
		c.record.Message = c.fitError()
	}
	return len(c.feasible) > 0
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
	c.record.Message = c.fitError()
}

// verdict notes what the filters said; false when the cycle ended with an error.
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

func (c *cycle) refuse(i int, plugin string, code fwk.Code, reasons []string) {
	n := &c.record.Nodes[i]
	n.Plugin, n.Code, n.Reasons = plugin, code.String(), reasons
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
	raw, err := c.rawScores()
	if err != nil {
		c.record.Error = "score: " + err.Error()
		return
	}
	scores, status := c.RunScorePlugins(c.ctx, c.state, c.pod, c.feasible)
	if !status.IsSuccess() {
		c.record.Error = "score: " + status.AsError().Error()
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
			score, status := c.plugins[name].(fwk.ScorePlugin).Score(c.ctx, c.state, c.pod, node)
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
