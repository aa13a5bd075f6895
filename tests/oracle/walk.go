// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"berth.dev/tests/oracle/upstream"
)

// happening is one line of a history: what happened to a living engine, or what it answered.
type happening struct {
	Apply []struct {
		Upsert  json.RawMessage
		Created bool // the pod is as its owner wrote it: the API server has not merged label keys into its selectors yet
		Remove  *struct {
			Kind, Namespace, Name string
			UID                   types.UID
		}
		Nominate types.UID
		Node     string
		Status   *string // of the nominated pod, where it names another node
	}
	Undo    types.UID
	Ask     types.UID       // a pod on every node: no step is taken
	Dry     types.UID       // whom a pod would evict: no step is taken
	Use     []string        // names of nodes: what their pods request of them, and what they offer: no step is taken
	Keeps   bool            // a pod without a node stays nominated
	Among   []string        // names of the nodes that may be taken, of Ask and Place; nil: all. Plugins see the others, too
	Explain json.RawMessage // of the pod of the next line
	Place   types.UID
	Node    string
	Score   int64
	Reason  string
	Message string
	Preempt *eviction // of a pod without a node, where the history has preemption
	Batch   *batched  // where the history has opportunistic batching
}

// batched is what opportunistic batching did in one attempt, as its metrics label it.
type batched struct {
	Cycle  int64
	TimeUs int64
	Hint   bool // a node was to be tried first
	Result string
	Flush  []string // sorted
}

// eviction is what the followed scheduler did for a pod that found no node.
type eviction struct {
	Node    string   // that the pod is nominated for after the attempt
	Victims []string // that are evicted, without those that are being deleted already
}

// walkRecord is upstream's answer at one placement of the history.
type walkRecord struct {
	runRecord
	Score int64      `json:"score"`           // of the followed scheduler
	Alone *podRecord `json:"alone,omitempty"` // the pod on every node, where the history has that too
	Ours  any        `json:"ours,omitempty"`  // what the history has
}

// walkAll follows a history of events and placements and writes one record per placement or question. Each placement is assumed,
// right or wrong.
func walkAll(ctx context.Context, s *upstream.Scheduler, follow string, out *json.Encoder) error {
	file, err := os.Open(follow)
	if err != nil {
		return err
	}
	defer file.Close()
	w := walker{s: s, out: out, batcher: batcher{storedUs: map[string]int64{}}}
	decoder := json.NewDecoder(bufio.NewReader(file))
	for line := 1; ; line++ {
		var h happening
		if err := decoder.Decode(&h); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: value %d: %w", follow, line, err)
		}
		if err := w.follow(ctx, &h); err != nil {
			return fmt.Errorf("%s: value %d: %w", follow, line, err)
		}
	}
}

type walker struct {
	s       *upstream.Scheduler
	out     *json.Encoder
	explain json.RawMessage
	batcher batcher
}

func (w *walker) follow(ctx context.Context, h *happening) error {
	switch {
	case h.Explain != nil:
		w.explain = h.Explain
		return nil
	case h.Ask != "":
		return w.ask(ctx, h)
	case h.Dry != "":
		return w.dryRun(ctx, h.Dry)
	case h.Use != nil:
		return w.use(h.Use)
	case h.Place != "":
		return w.place(ctx, h)
	case h.Undo != "":
		if err := w.s.Forget(h.Undo); err != nil {
			return err
		}
	default:
		if err := w.apply(h); err != nil {
			return err
		}
	}
	return w.s.TakeSnapshot()
}

func (w *walker) apply(h *happening) error {
	for _, change := range h.Apply {
		var err error
		switch {
		case change.Upsert != nil:
			err = w.upsert(change.Upsert, change.Created)
		case change.Remove != nil:
			r := change.Remove
			err = w.s.Remove(r.Kind, r.Namespace, r.Name, r.UID)
		default:
			err = w.s.Nominate(change.Nominate, change.Node, change.Status)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) upsert(raw json.RawMessage, created bool) error {
	read := upstream.ReadObject
	if created {
		read = upstream.ReadCreated
	}
	object, err := read(raw)
	if err != nil {
		return err
	}
	return w.s.Upsert(object)
}

func (w *walker) pending(uid types.UID) (*v1.Pod, error) {
	for _, pod := range w.s.Pending {
		if pod.UID == uid {
			return pod, nil
		}
	}
	return nil, fmt.Errorf("pod %s is placed, and not pending", uid)
}

func (w *walker) ask(ctx context.Context, h *happening) error {
	pod, err := w.pending(h.Ask)
	if err != nil {
		return err
	}
	c, err := newCycle(ctx, w.s, pod)
	if err != nil {
		return err
	}
	c.keep(h.Among)
	record := c.explain()
	c.askNominated()
	return w.out.Encode(record)
}

// use writes sums over nodes, in the units in which NodeResourcesFit counts.
func (w *walker) use(nodes []string) error {
	record := struct {
		Requested   map[v1.ResourceName]int64 `json:"requested"`
		Allocatable map[v1.ResourceName]int64 `json:"allocatable"`
	}{map[v1.ResourceName]int64{}, map[v1.ResourceName]int64{}}
	add := func(to map[v1.ResourceName]int64, r fwk.Resource, pods int) {
		to[v1.ResourceCPU] += r.GetMilliCPU()
		to[v1.ResourceMemory] += r.GetMemory()
		to[v1.ResourceEphemeralStorage] += r.GetEphemeralStorage()
		to[v1.ResourcePods] += int64(pods)
		for name, amount := range r.GetScalarResources() {
			to[name] += amount
		}
	}
	for _, name := range nodes {
		node, err := w.s.Snapshot.NodeInfos().Get(name)
		if err != nil {
			return err
		}
		add(record.Requested, node.GetRequested(), len(node.GetPods()))
		add(record.Allocatable, node.GetAllocatable(), node.GetAllocatable().GetAllowedPodNumber())
	}
	return w.out.Encode(record)
}

// dryRun writes an empty record of a pod that does not preempt: some node takes it, or its cycle ends with an error.
func (w *walker) dryRun(ctx context.Context, uid types.UID) error {
	pod, err := w.pending(uid)
	if err != nil {
		return err
	}
	c, err := newCycle(ctx, w.s, pod)
	if err != nil {
		return err
	}
	if len(c.nodes) == 0 || c.filter() || c.record.Error != "" {
		return w.out.Encode(struct{}{})
	}
	record, err := c.preempt(w.s)
	if err != nil {
		return err
	}
	return w.out.Encode(record)
}

func (w *walker) place(ctx context.Context, h *happening) error {
	pod, err := w.pending(h.Place)
	if err != nil {
		return err
	}
	record := walkRecord{Score: h.Score}
	if h.Batch != nil {
		taken, err := w.batcher.place(ctx, w.s, pod, h)
		if err != nil {
			return err
		}
		record.runRecord = *taken
		return w.out.Encode(record)
	}
	if w.explain != nil {
		c, err := newCycle(ctx, w.s, pod)
		if err != nil {
			return err
		}
		c.keep(h.Among)
		record.Alone, record.Ours = c.explain(), w.explain
		c.askNominated()
		w.explain = nil
	}
	followed := step{pod: pod, node: h.Node, reason: h.Reason, message: h.Message, among: h.Among, keeps: h.Keeps}
	unlike := ""
	if h.Preempt != nil {
		if unlike, followed.message, err = w.preempt(ctx, pod, h); err != nil {
			return err
		}
	}
	taken, err := takeStep(ctx, w.s, followed)
	if err != nil {
		return err
	}
	record.runRecord = *taken
	if record.Difference == "" {
		record.Difference = unlike
	}
	return w.out.Encode(record)
}

// preempt compares what was done for a pod without a node with what upstream's PostFilter plugins would do.
// It returns the difference, and the message of the attempt without what PostFilter adds to it.
func (w *walker) preempt(ctx context.Context, pod *v1.Pod, h *happening) (string, string, error) {
	c, err := newCycle(ctx, w.s, pod)
	if err != nil {
		return "", "", err
	}
	c.serial = true
	if len(c.nodes) == 0 || c.filter() || c.record.Error != "" {
		return "", h.Message, nil // takeStep says what is wrong, if anything
	}
	before := pod.Status.NominatedNodeName
	r, err := c.preempt(w.s)
	if err != nil {
		return "", "", err
	}
	return r.difference(h, before), c.record.Message, nil
}

func (r *preemptRecord) difference(h *happening, nominated string) string {
	done := h.Preempt
	if h.Message != r.Message {
		return fmt.Sprintf("preemption has another message: %q", r.Message)
	}
	if len(r.Candidates) == 0 {
		if r.Nominated != nil {
			nominated = *r.Nominated
		}
		if len(done.Victims) > 0 || done.Node != nominated {
			return fmt.Sprintf("preemption finds nobody to evict: nominated for %q", nominated)
		}
		return ""
	}
	for _, candidate := range r.Candidates {
		if candidate.Node == done.Node && slices.Contains(r.Chosen, done.Node) {
			if !slices.Equal(slices.Sorted(slices.Values(candidate.living)), slices.Sorted(slices.Values(done.Victims))) {
				return fmt.Sprintf("preemption has other victims: %v", candidate.living)
			}
			return ""
		}
	}
	return fmt.Sprintf("preemption chooses another node: %v", r.Chosen)
}
