// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
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
		`{"place": "d/none", "node": "busy"}`, `{"undo": "d/small"}`, `{"apply": [{"nominate": "d/none", "node": "busy"}]}`,
		`{"apply": [{"remove": {"kind": "Lease", "name": "a"}}]}`, `{"apply": `,
	} {
		if _, err := walked(t, line); err == nil || !strings.Contains(err.Error(), "value 1") {
			t.Errorf("%s: got %v", line, err)
		}
	}
}
