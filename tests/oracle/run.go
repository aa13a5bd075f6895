// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"berth.dev/tests/oracle/upstream"
)

// runRecord is one step of the serial schedule. Difference says why upstream could not have taken the followed step.
type runRecord struct {
	podRecord
	Chosen     string `json:"chosen,omitempty"`
	Said       string `json:"said,omitempty"` // the followed scheduler's message for an unplaced pod
	Difference string `json:"difference,omitempty"`
}

// runSummary is the last record of a cluster when only differences are written.
type runSummary struct {
	Pods        int `json:"pods"`
	Placed      int `json:"placed"`
	Differences int `json:"differences"`
}

// runAll follows the steps of another scheduler in queue order: at each step the node must be one that upstream could
// have taken, or upstream must find no node for an unplaced pod. Then the placement is assumed, right or wrong. It writes
// one record per step, or only the differences and a summary.
func runAll(ctx context.Context, s *upstream.Scheduler, follow string, onlyDifferences bool, out *json.Encoder) error {
	steps, err := readSteps(follow, s.Pending)
	if err != nil {
		return err
	}
	summary := runSummary{Pods: len(steps)}
	for _, step := range steps {
		r, err := takeStep(ctx, s, step)
		if err != nil {
			return err
		}
		if step.node != "" {
			summary.Placed++
		}
		if r.Difference != "" {
			summary.Differences++
		}
		if !onlyDifferences || r.Difference != "" {
			if err := out.Encode(r); err != nil {
				return err
			}
		}
	}
	if !onlyDifferences {
		return nil
	}
	return out.Encode(summary)
}

func takeStep(ctx context.Context, s *upstream.Scheduler, step step) (*runRecord, error) {
	c, err := newCycle(ctx, s, step.pod)
	if err != nil {
		return nil, err
	}
	c.serial = true
	c.keep(step.among)
	r := &runRecord{Chosen: step.node, Said: step.message}
	if gate := c.gate(); step.reason == "SchedulingGated" || gate != "" {
		if step.message != gate || step.node != "" {
			r.Difference = "the gates say: " + gate
		}
		r.podRecord = *c.record
		return r, nil // such a pod does not leave the queue: no cycle, and no end to a claim that it does not have
	}
	if c.filter() && c.unrivalled() == "" {
		c.score()
	}
	r.podRecord = *c.record
	r.Difference = difference(step, c)
	if step.node != "" {
		// What VolumeBinding assumes counts for the next pods. A profile without its PreFilter has nothing to assume.
		writes, err := s.ReserveVolumes(c.ctx, c.Profile, c.state, step.pod, step.node)
		if r.Difference == "" && err == nil && step.volumes != nil && !slices.Equal(writes, step.volumes) {
			r.Difference = fmt.Sprintf("upstream writes other volumes: %v", writes)
		}
		if err := s.Assume(step.pod, step.node); err != nil {
			r.Difference = "cannot be assumed: " + err.Error()
		}
	}
	if step.node != "" || !step.keeps {
		s.Denominate(step.pod)
	}
	return r, nil
}

// gate is the message of the first PreEnqueue plugin that holds the pod back; empty when none does.
func (c *cycle) gate() string {
	for _, plugin := range c.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(c.ctx, c.pod); !status.IsSuccess() {
			return status.Message()
		}
	}
	return ""
}

func difference(step step, c *cycle) string {
	could := c.choices()
	switch {
	case !step.silent && (step.reason == "SchedulerError") != (c.record.Error != ""):
		return "only one of both ended with an error"
	case step.node == "" && c.record.Error != "":
		return ""
	case step.node == "" && len(could) > 0:
		return "left unplaced, but nodes are feasible"
	case step.node != "" && !slices.Contains(could, step.node):
		return "placed on a node that upstream would not have taken"
	case step.node == "" && !step.silent && step.message != c.record.Message:
		return "unplaced with another message"
	}
	return ""
}

// choices are the nodes that upstream could take.
func (c *cycle) choices() []string {
	if node := c.unrivalled(); node != "" {
		return []string{node}
	}
	return c.record.Best
}

// unrivalled is the node that is selected without scoring, if any: the nominated node when it is feasible, or the only
// feasible one.
func (c *cycle) unrivalled() string {
	if i, ok := c.index[c.pod.Status.NominatedNodeName]; ok && c.record.Nodes[i].Feasible {
		return c.pod.Status.NominatedNodeName
	}
	if len(c.feasible) == 1 {
		return c.feasible[0].Node().Name
	}
	return ""
}
