// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"

	"berth.dev/tests/oracle/upstream"
)

type candidateRecord struct {
	Node          string   `json:"node"`
	Victims       []string `json:"victims"` // most important first
	PDBViolations int64    `json:"pdbViolations"`
	living        []string // the victims that are not being deleted already
}

// preemptRecord is the result of preemption for a pod without a feasible node. Candidates are all nodes where preemption
// may help, in snapshot order; upstream stops at Shortlist of them, starting at a random node.
type preemptRecord struct {
	Pod        string            `json:"pod"`
	Profile    string            `json:"profile"`
	Shortlist  int32             `json:"shortlist"`
	Candidates []candidateRecord `json:"candidates"`
	Chosen     []string          `json:"chosen"`  // more than one when chance decides
	Message    string            `json:"message"` // the FitError text, with what PostFilter adds to it
	Error      string            `json:"error,omitempty"`
	Nominated  *string           `json:"-"` // what becomes of the nomination without a candidate; nil: it stays
}

// preemptAll writes a record for each pending pod without a feasible node, alone against the cluster as loaded. It calls
// DefaultPreemption itself; a PostFilter plugin before it that may free a device claim is not considered.
func preemptAll(ctx context.Context, s *upstream.Scheduler, out *json.Encoder) error {
	for _, pod := range s.Pending {
		c, err := newCycle(ctx, s, pod)
		if err != nil {
			return fmt.Errorf("%s: %w", fullName(pod), err)
		}
		if len(c.nodes) == 0 || c.filter() || c.record.Error != "" {
			continue
		}
		record, err := c.preempt(s)
		if err != nil {
			return fmt.Errorf("%s: %w", fullName(pod), err)
		}
		if err := out.Encode(record); err != nil {
			return err
		}
	}
	return nil
}

func (c *cycle) preempt(s *upstream.Scheduler) (*preemptRecord, error) {
	r := &preemptRecord{Pod: c.record.Pod, Profile: c.record.Profile, Candidates: []candidateRecord{}, Chosen: []string{}}
	plugin, ok := c.Plugins[defaultpreemption.Name].(*defaultpreemption.DefaultPreemption)
	if !ok || !c.HasPostFilterPlugins() {
		r.Message = c.record.Message
		return r, nil
	}
	var candidates []preemption.Candidate
	if ok, _ := plugin.PodEligibleToPreemptOthers(c.ctx, c.pod, c.diagnosis.NodeToStatus.Get(c.pod.Status.NominatedNodeName)); ok {
		var err error
		if candidates, err = c.candidates(s, plugin, r); err != nil {
			r.Error = err.Error()
		}
	}
	if len(candidates) == 0 { // then upstream's plugin evicts nothing and can be called for its message
		result, status := c.RunPostFilterPlugins(c.ctx, c.state, c.pod, c.diagnosis.NodeToStatus)
		if result != nil && result.NominatingInfo != nil && result.Mode() == fwk.ModeOverride {
			r.Nominated = &result.NominatedNodeName
		}
		c.diagnosis.PostFilterMsg = status.Message()
		r.Message = c.fitError()
		return r, nil
	}
	r.Message = c.record.Message
	for _, candidate := range candidates {
		r.Candidates = append(r.Candidates, toRecord(candidate))
	}
	r.Chosen = chosen(c.ctx, plugin.Evaluator, candidates)
	return r, nil
}

// candidates are the results of the dry run of all nodes, sorted by node.
func (c *cycle) candidates(s *upstream.Scheduler, plugin *defaultpreemption.DefaultPreemption, r *preemptRecord) ([]preemption.Candidate, error) {
	nodes, err := c.diagnosis.NodeToStatus.NodesForStatusCode(s.Snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	slices.SortFunc(nodes, func(a, b fwk.NodeInfo) int { return c.index[a.Node().Name] - c.index[b.Node().Name] })
	pdbs, err := plugin.Evaluator.PdbLister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	_, r.Shortlist = plugin.GetOffsetAndNumCandidates(int32(len(nodes)))
	candidates, _, err := plugin.Evaluator.DryRunPreemption(c.ctx, c.state, c.pod, nodes, pdbs, 0, int32(len(nodes)))
	slices.SortFunc(candidates, func(a, b preemption.Candidate) int { return c.index[a.Name()] - c.index[b.Name()] })
	if len(candidates) > 0 { // an error on one node does not stop upstream on the others
		err = nil
	}
	return candidates, err
}

func toRecord(candidate preemption.Candidate) candidateRecord {
	r := candidateRecord{Node: candidate.Name(), PDBViolations: candidate.Victims().NumPDBViolations}
	for _, victim := range candidate.Victims().Pods {
		r.Victims = append(r.Victims, fullName(victim))
		if victim.DeletionTimestamp == nil {
			r.living = append(r.living, fullName(victim))
		}
	}
	return r
}

// drawsPerPair bounds the probability of missing a tie to one in 2^drawsPerPair.
const drawsPerPair = 60

// chosen are the candidates that upstream may pick. Among equals it takes the first in the order of a Go
// map, which is random each time; so a candidate ties with the picked one when it sometimes wins against it.
func chosen(ctx context.Context, evaluator *preemption.Evaluator, candidates []preemption.Candidate) []string {
	best := evaluator.SelectCandidate(ctx, candidates)
	names := []string{}
	for _, other := range candidates {
		won := other.Name() == best.Name()
		for i := 0; i < drawsPerPair && !won; i++ {
			won = evaluator.SelectCandidate(ctx, []preemption.Candidate{best, other}).Name() == other.Name()
		}
		if won {
			names = append(names, other.Name())
		}
	}
	return names
}
