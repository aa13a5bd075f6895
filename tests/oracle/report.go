// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"

	"berth.dev/tests/oracle/upstream"
)

// step is what another scheduler did with one pod. Without a node a report has the reason; plain lines do not.
type step struct {
	pod     *v1.Pod
	node    string
	reason  string
	message string
	silent  bool
	among   []string // nil: all nodes may be taken
	keeps   bool     // without a node it stays nominated
	// Of a placement in a report, sorted; nil where the follower does not say.
	volumes []upstream.VolumeWrite
}

// report has the fields that are read from `berth schedule -o json`.
type report struct {
	Placements []placement
	Unplaced   []struct{ Pod, Reason, Message string }
}

type placement struct {
	Pod, Node string
	Volumes   []struct{ Claim, Volume, SelectedNode string }
}

func (p *placement) writes() []upstream.VolumeWrite {
	writes := []upstream.VolumeWrite{}
	for _, v := range p.Volumes {
		writes = append(writes, upstream.VolumeWrite{Claim: v.Claim, Volume: v.Volume, Node: v.SelectedNode})
	}
	slices.SortFunc(writes, upstream.CompareWrites)
	return writes
}

// readSteps reads a report, or lines "namespace/pod node" in queue order, without the node for an unplaced pod.
func readSteps(path string, pending []*v1.Pod) ([]step, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read := readLines
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		read = readReport
	}
	steps, err := read(data, pending)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return steps, nil
}

func readLines(data []byte, pending []*v1.Pod) ([]step, error) {
	pods := map[string]*v1.Pod{}
	for _, pod := range pending {
		pods[fullName(pod)] = pod
	}
	var steps []step
	for line := range strings.Lines(string(data)) {
		name, node, _ := strings.Cut(strings.TrimSpace(line), " ")
		pod := pods[name]
		if pod == nil {
			return nil, fmt.Errorf("%q is not pending, or named twice", name)
		}
		delete(pods, name)
		steps = append(steps, step{pod: pod, node: node, silent: true})
	}
	return steps, nil
}

// readReport returns the step of each pending pod in queue order: priority, creation time, file order. The report lists
// placed and unplaced pods separately, each in the order of the run. It is refused when that is not the queue order, or
// when a pod is missing, repeated or unknown.
func readReport(data []byte, pending []*v1.Pod) ([]step, error) {
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	answers := map[string]step{}
	var order [2][]string
	for _, p := range r.Placements {
		answers[p.Pod] = step{node: p.Node, volumes: p.writes()}
		order[0] = append(order[0], p.Pod)
	}
	for _, p := range r.Unplaced {
		answers[p.Pod] = step{reason: p.Reason, message: p.Message}
		order[1] = append(order[1], p.Pod)
	}
	if len(answers) != len(r.Placements)+len(r.Unplaced) {
		return nil, errors.New("a pod has two answers")
	}
	return inQueueOrder(pending, answers, order)
}

func inQueueOrder(pending []*v1.Pod, answers map[string]step, order [2][]string) ([]step, error) {
	queue := slices.Clone(pending)
	slices.SortStableFunc(queue, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(corev1.PodPriority(b), corev1.PodPriority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	var steps []step
	var seen [2][]string
	for _, pod := range queue {
		answer, ok := answers[fullName(pod)]
		if !ok {
			return nil, fmt.Errorf("no answer for %s", fullName(pod))
		}
		answer.pod = pod
		steps = append(steps, answer)
		list := 0
		if answer.node == "" {
			list = 1
		}
		seen[list] = append(seen[list], fullName(pod))
	}
	for list, name := range []string{"placements", "unplaced"} {
		if !slices.Equal(seen[list], order[list]) {
			return nil, fmt.Errorf("%s do not follow the queue: %v, want %v", name, order[list], seen[list])
		}
	}
	return steps, nil
}
