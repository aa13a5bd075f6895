// SPDX-License-Identifier: Apache-2.0

//go:build !v1_36

package main

import (
	"container/heap"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics/legacyregistry"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"berth.dev/tests/oracle/upstream"
)

// batcher takes the attempts of a history through upstream's opportunistic batching.
type batcher struct {
	storedUs map[string]int64 // by profile: when what it keeps was stored, by the history's clock
}

// place takes one attempt as upstream's scheduling cycle would, and compares node, hint and metrics.
func (b *batcher) place(ctx context.Context, s *upstream.Scheduler, pod *v1.Pod, h *happening) (*runRecord, error) {
	c, err := newCycle(ctx, s, pod)
	if err != nil {
		return nil, err
	}
	c.serial = true
	before := batchCounts()
	found := c.filter()
	var hint string
	var signature fwk.PodSignature
	if c.passedPreFilter() {
		b.setAge(c.Profile, time.Duration(h.Batch.TimeUs-b.storedUs[pod.Spec.SchedulerName])*time.Microsecond)
		hint, signature = c.GetNodeHint(ctx, pod, c.state, h.Batch.Cycle)
	}
	node := ""
	if found {
		kept := keptState(c.Profile)
		node = c.takeBatched(hint, signature, h.Batch.Cycle)
		if keptState(c.Profile) != kept {
			b.storedUs[pod.Spec.SchedulerName] = h.Batch.TimeUs
		}
	}
	r := &runRecord{Chosen: h.Node, Said: h.Message, podRecord: *c.record}
	result, flush := countedSince(before)
	switch {
	case c.record.Error == "" && node != h.Node:
		r.Difference = fmt.Sprintf("upstream takes %q, hinted %q", node, hint)
	case (hint != "") != h.Batch.Hint:
		r.Difference = fmt.Sprintf("upstream's hint is %q", hint)
	case result != h.Batch.Result || !slices.Equal(flush, h.Batch.Flush):
		r.Difference = fmt.Sprintf("upstream counts %q, flushed %q", result, flush)
	}
	if h.Node != "" {
		if err := s.Assume(pod, h.Node); err != nil {
			r.Difference = "cannot be assumed: " + err.Error()
		}
	}
	s.Denominate(pod)
	return r, nil
}

func (c *cycle) passedPreFilter() bool {
	if len(c.nodes) == 0 || c.diagnosis.PreFilterMsg != "" || strings.HasPrefix(c.record.Error, "prefilter: ") {
		return false
	}
	for _, p := range c.record.PreFilter {
		if p.Code != fwk.Success.String() && p.Code != fwk.Skip.String() {
			return false
		}
	}
	return true
}

// takeBatched chooses among the feasible nodes as schedulePod does, and stores what is left.
func (c *cycle) takeBatched(hint string, signature fwk.PodSignature, number int64) string {
	tried := c.pod.Status.NominatedNodeName
	if tried == "" {
		tried = hint
	}
	var others framework.SortedScoredNodes
	node := ""
	if i, ok := c.index[tried]; ok && c.record.Nodes[i].Feasible {
		node = tried
	} else if len(c.feasible) == 1 {
		node = c.feasible[0].Node().Name
	} else {
		c.score()
		if c.record.Error != "" {
			return ""
		}
		ranked := &rankedNodes{}
		for _, n := range c.feasible {
			name := n.Node().Name
			ranked.nodes = append(ranked.nodes, fwk.NodePluginScores{Name: name, TotalScore: c.record.Nodes[c.index[name]].Total})
		}
		heap.Init(&ranked.nodes)
		node = ranked.Pop()
		others = ranked
	}
	c.StoreScheduleResults(c.ctx, signature, hint, node, others, number)
	return node
}

// rankedNodes is the list that schedulePod makes; its type is not exported.
type rankedNodes struct{ nodes scoreHeap }

func (r *rankedNodes) Pop() string { return heap.Pop(&r.nodes).(fwk.NodePluginScores).Name }
func (r *rankedNodes) Len() int    { return r.nodes.Len() }

type scoreHeap []fwk.NodePluginScores

func (h scoreHeap) Len() int           { return len(h) }
func (h scoreHeap) Less(i, j int) bool { return h[i].TotalScore > h[j].TotalScore }
func (h scoreHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *scoreHeap) Push(x any)        { *h = append(*h, x.(fwk.NodePluginScores)) }
func (h *scoreHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// state is the field of that name of the framework's OpportunisticBatch.
func state(p *upstream.Profile) reflect.Value {
	return reflect.ValueOf(p.Framework).Elem().FieldByName("batch").Elem().FieldByName("state")
}

func keptState(p *upstream.Profile) uintptr { return state(p).Pointer() }

// setAge makes what is kept as old as it is by the history's clock: upstream asks the wall clock.
func (b *batcher) setAge(p *upstream.Profile, age time.Duration) {
	kept := state(p)
	if kept.IsNil() {
		return
	}
	field := kept.Elem().FieldByName("creationTime")
	*(*time.Time)(unsafe.Pointer(field.UnsafeAddr())) = time.Now().Add(-age)
}

// batchCounts are upstream's counters of batching, by name and label.
func batchCounts() map[string]float64 {
	counts := map[string]float64{}
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		panic(err)
	}
	for _, family := range families {
		if name := family.GetName(); name == "scheduler_batch_attempts_total" || name == "scheduler_batch_cache_flushed_total" {
			for _, metric := range family.GetMetric() {
				for _, label := range metric.GetLabel() {
					if label.GetName() != "profile" {
						counts[label.GetName()+"="+label.GetValue()] += metric.GetCounter().GetValue()
					}
				}
			}
		}
	}
	return counts
}

// countedSince returns the result and the reasons that were counted, these sorted.
func countedSince(before map[string]float64) (result string, flush []string) {
	for key, count := range batchCounts() {
		kind, label, _ := strings.Cut(key, "=")
		for range int(count - before[key]) {
			if kind == "result" {
				result += label
			} else {
				flush = append(flush, label)
			}
		}
	}
	slices.Sort(flush)
	return result, flush
}
