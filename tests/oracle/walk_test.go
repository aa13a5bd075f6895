// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// walked returns the differences of a history of two_nodes.yaml, in the order of its placements.
func walked(t *testing.T, history ...string) ([]string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(path, []byte(strings.Join(history, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	var found []string
	var refused error
	for _, r := range records[walkRecord](t, func(ctx context.Context, out *json.Encoder) error {
		refused = walkAll(ctx, started(t, "two_nodes.yaml"), path, out)
		return nil
	}) {
		found = append(found, r.Difference)
	}
	return found, refused
}

const (
	cordonEmpty = `{"apply": [{"upsert": {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "empty"}, "spec": {"unschedulable": true},
		"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}}}]}`
	removeRunning = `{"apply": [{"remove": {"kind": "Pod", "uid": "d/runs"}}]}`
	smallOnBusy   = `{"place": "d/small", "node": "busy", "score": 0}`
	largeOnBusy   = `{"place": "d/large", "node": "busy", "score": 0}`
	largeOnEmpty  = `{"place": "d/large", "node": "empty", "score": 0}`
	noDifference  = ""
	otherNode     = "placed on a node that upstream would not have taken"
)

func TestEventsDecideWhatUpstreamWouldTake(t *testing.T) {
	for name, c := range map[string]struct{ history, want []string }{
		"a cordon":                {[]string{cordonEmpty, smallOnBusy}, []string{noDifference}},
		"without it":              {[]string{smallOnBusy}, []string{otherNode}},
		"a node that went":        {[]string{`{"apply": [{"remove": {"kind": "Node", "name": "empty"}}]}`, smallOnBusy}, []string{noDifference}},
		"a pod that went":         {[]string{cordonEmpty, removeRunning, largeOnBusy}, []string{noDifference}},
		"a placement":             {[]string{cordonEmpty, removeRunning, smallOnBusy, largeOnBusy}, []string{noDifference, noDifference}},
		"a placement that stays":  {[]string{smallOnBusy, largeOnEmpty}, []string{otherNode, noDifference}},
		"a placement taken back":  {[]string{cordonEmpty, smallOnBusy, `{"undo": "d/small"}`, removeRunning, largeOnBusy}, []string{noDifference, noDifference}},
		"a question, no step":     {[]string{`{"ask": "d/small"}`, cordonEmpty, `{"ask": "d/small"}`, smallOnBusy}, []string{noDifference, noDifference, noDifference}},
		"a nomination":            {[]string{`{"apply": [{"nominate": "d/small", "node": "busy"}]}`, smallOnBusy}, []string{noDifference}},
		"a nomination that ended": {[]string{`{"apply": [{"nominate": "d/small", "node": "busy"}, {"nominate": "d/small"}]}`, smallOnBusy}, []string{otherNode}},
	} {
		if found, err := walked(t, c.history...); err != nil || strings.Join(found, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s: got %q, %v; want %q", name, found, err, c.want)
		}
	}
}

func TestAHistoryThatDoesNotFitTheClusterIsRefused(t *testing.T) {
	for _, line := range []string{
		`{"place": "d/none", "node": "busy"}`, `{"ask": "d/none"}`, `{"undo": "d/small"}`, `{"apply": [{"nominate": "d/none", "node": "busy"}]}`,
		`{"apply": [{"remove": {"kind": "Lease", "name": "a"}}]}`, `{"apply": `,
	} {
		if _, err := walked(t, line); err == nil || !strings.Contains(err.Error(), "value 1") {
			t.Errorf("%s: got %v", line, err)
		}
	}
}

// A pod that its owner has just made keeps away from pods with its own value of a label key; one that was made before has
// that in its selectors.
func TestLabelKeysOfCreatedPodsAreMerged(t *testing.T) {
	const apart = `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "apart", "namespace": "d", "labels": {"v": "1"}},
		"spec": {"nodeName": "empty", "containers": [{"name": "c"}], "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
			{"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, "matchLabelKeys": ["v"]}]}}}}`
	for created, terms := range map[string]int{"true": 1, "false": 0} {
		s := started(t, "two_nodes.yaml")
		path := filepath.Join(t.TempDir(), "history")
		line := `{"apply": [{"upsert": ` + apart + `, "created": ` + created + `}]}`
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := walkAll(t.Context(), s, path, json.NewEncoder(io.Discard)); err != nil {
			t.Fatal(err)
		}
		node, err := s.Snapshot.NodeInfos().Get("empty")
		if err != nil {
			t.Fatal(err)
		}
		term := node.GetPods()[0].GetPod().Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		if found := len(term.LabelSelector.MatchExpressions); found != terms {
			t.Errorf("created %s: %d merged keys, want %d", created, found, terms)
		}
	}
}
