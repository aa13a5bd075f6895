// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// runRecord is one step of the serial schedule. Difference says why the step that is followed is not one the genuine
// scheduler could have taken.
type runRecord struct {
	podRecord
	Chosen     string `json:"chosen,omitempty"`
	Difference string `json:"difference,omitempty"`
}

type step struct{ pod, node string }

// runAll walks the placements of another scheduler, in its order: at each step the genuine scheduler must find the
// node among its best, or no node where none was taken; then the placement is assumed.
func (s *oracleScheduler) runAll(ctx context.Context, follow string, out *json.Encoder) error {
	steps, err := readSteps(follow)
	if err != nil {
		return err
	}
	pods := map[string]int{}
	for i, pod := range s.pending {
		pods[pod.Namespace+"/"+pod.Name] = i
	}
	for _, step := range steps {
		i, ok := pods[step.pod]
		if !ok {
			return fmt.Errorf("%s names %s, which is not pending", follow, step.pod)
		}
		if err := s.oneStep(ctx, i, step.node, out); err != nil {
			return err
		}
	}
	return nil
}

func (s *oracleScheduler) oneStep(ctx context.Context, i int, node string, out *json.Encoder) error {
	if err := s.cache.UpdateSnapshot(s.logger, s.snapshot); err != nil {
		return err
	}
	pod := s.pending[i]
	record, err := s.explain(ctx, pod)
	if err != nil {
		return err
	}
	r := runRecord{podRecord: *record, Chosen: node}
	switch {
	case node == "" && len(record.Best) > 0:
		r.Difference = "left unplaced, but nodes are feasible"
	case node != "" && !slices.Contains(record.Best, node):
		r.Difference = "placed on a node that is not among the best"
	}
	if node != "" {
		assumed := pod.DeepCopy()
		assumed.Spec.NodeName = node
		if err := s.cache.AssumePod(s.logger, assumed); err != nil {
			return err
		}
		s.queue.DeleteNominatedPodIfExists(pod)
	}
	return out.Encode(r)
}

func readSteps(path string) ([]step, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var steps []step
	for lines := bufio.NewScanner(f); lines.Scan(); {
		pod, node, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if pod != "" {
			steps = append(steps, step{pod, node})
		}
	}
	return steps, nil
}
