// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"berth.dev/tests/oracle/upstream"
)

const hugeMessage = "0/2 nodes are available: 2 Insufficient cpu."

func started(t *testing.T, cluster string) *upstream.Scheduler {
	t.Helper()
	objects, err := upstream.ReadCluster(filepath.Join("testdata", cluster))
	if err != nil {
		t.Fatal(err)
	}
	config, err := upstream.ReadConfig("")
	if err != nil {
		t.Fatal(err)
	}
	s, err := upstream.NewScheduler(t.Context(), config, objects)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func records[R any](t *testing.T, write func(context.Context, *json.Encoder) error) []R {
	t.Helper()
	var out bytes.Buffer
	if err := write(t.Context(), json.NewEncoder(&out)); err != nil {
		t.Fatal(err)
	}
	var all []R
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var r R
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// differences returns the differences of the run over `follow`, by pod, or the error that refuses it.
func differences(t *testing.T, cluster, follow string) (map[string]string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "follow")
	if err := os.WriteFile(path, []byte(follow), 0o600); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	var refused error
	for _, r := range records[runRecord](t, func(ctx context.Context, out *json.Encoder) error {
		refused = runAll(ctx, started(t, cluster), path, false, out)
		return nil
	}) {
		found[r.Pod] = r.Difference
	}
	return found, refused
}

func reportOf(placements, huge string) string {
	return `{"placements": [` + placements + `], "unplaced": [{"pod": "d/huge", "reason": "Unschedulable", "message": "` + huge + `"},
	{"pod": "d/gated", "reason": "SchedulingGated", "message": "waiting for scheduling gates: [wait]"}]}`
}

const upstreamPlacements = `{"pod": "d/small", "node": "empty"}, {"pod": "d/large", "node": "empty"}`

func TestAReportOfWhatUpstreamDoesHasNoDifference(t *testing.T) {
	found, err := differences(t, "two_nodes.yaml", reportOf(upstreamPlacements, hugeMessage))
	want := map[string]string{"d/small": "", "d/large": "", "d/huge": "", "d/gated": ""}
	if err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("got %v, %v", found, err)
	}
}

func TestAPlacementThatIsNotTheBestIsADifferenceAndIsStillAssumed(t *testing.T) {
	found, err := differences(t, "two_nodes.yaml", "d/small busy\nd/large busy\n")
	if err != nil || !strings.Contains(found["d/small"], "would not have taken") {
		t.Errorf("got %v, %v", found, err)
	}
	if !strings.Contains(found["d/large"], "would not have taken") {
		t.Errorf("large cannot run beside small on busy: %v", found)
	}
}

func TestAPodLeftUnplacedThatHasAFeasibleNodeIsADifference(t *testing.T) {
	found, err := differences(t, "two_nodes.yaml", "d/small\n")
	if err != nil || !strings.Contains(found["d/small"], "nodes are feasible") {
		t.Errorf("got %v, %v", found, err)
	}
}

func TestAnotherFitErrorTextIsADifference(t *testing.T) {
	found, err := differences(t, "two_nodes.yaml", reportOf(upstreamPlacements, "0/2 nodes are available."))
	if err != nil || found["d/huge"] != "unplaced with another message" {
		t.Errorf("got %v, %v", found, err)
	}
}

func TestAPlacedPodThatIsGatedIsADifference(t *testing.T) {
	found, err := differences(t, "two_nodes.yaml", "d/gated empty\n")
	if err != nil || !strings.Contains(found["d/gated"], "waiting for scheduling gates") {
		t.Errorf("got %v, %v", found, err)
	}
}

func TestOnlyTheNodeThatAPodIsNominatedToMayTakeIt(t *testing.T) {
	for follow, want := range map[string]string{
		"d/claims busy":  "",
		"d/claims empty": "placed on a node that upstream would not have taken",
	} {
		found, err := differences(t, "nominated.yaml", follow)
		if err != nil || found["d/claims"] != want {
			t.Errorf("%s: got %v, %v", follow, found, err)
		}
	}
}

func TestAReportThatDoesNotFitTheClusterIsRefused(t *testing.T) {
	swapped := `{"pod": "d/large", "node": "empty"}, {"pod": "d/small", "node": "empty"}`
	for text, follow := range map[string]string{
		"do not follow the queue": reportOf(swapped, hugeMessage),
		"no answer for d/large":   reportOf(`{"pod": "d/small", "node": "empty"}`, hugeMessage),
		"a pod has two answers":   reportOf(upstreamPlacements+`, {"pod": "d/small", "node": "busy"}`, hugeMessage),
		`"d/none" is not pending`: "d/none empty\n",
		`"d/small" is not`:        "d/small empty\nd/small empty\n",
	} {
		if _, err := differences(t, "two_nodes.yaml", follow); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}

func TestExplainSaysWhatPluginsSayBeforeNodesAreLookedAt(t *testing.T) {
	s := started(t, "two_nodes.yaml")
	all := records[podRecord](t, func(ctx context.Context, out *json.Encoder) error { return explainAll(ctx, s, out) })
	if len(all) != 4 || all[0].Pod != "d/small" || !reflect.DeepEqual(all[0].Best, []string{"empty"}) {
		t.Fatalf("got %v", all)
	}
	codes := map[string]string{}
	for _, p := range all[0].PreFilter {
		codes[p.Plugin] = p.Code
	}
	if codes["NodeResourcesFit"] != "Success" || codes["NodePorts"] != "Skip" {
		t.Errorf("got %v", codes)
	}
	if all[2].Message != hugeMessage {
		t.Errorf("got %q", all[2].Message)
	}
	if !reflect.DeepEqual(all[2].Rejectors, []string{"NodeResourcesFit"}) || all[0].Rejectors != nil {
		t.Errorf("got %v and %v", all[2].Rejectors, all[0].Rejectors)
	}
}

func TestPreemptNamesEveryNodeThatChanceMayPick(t *testing.T) {
	s := started(t, "crowded.yaml")
	all := records[preemptRecord](t, func(ctx context.Context, out *json.Encoder) error { return preemptAll(ctx, s, out) })
	var want []candidateRecord
	for node, violations := range []int64{1, 0, 0} {
		name := string(rune('a' + node))
		want = append(want, candidateRecord{name, []string{"d/on-" + name}, violations, nil} /* living is not written */)
	}
	if len(all) != 2 || !reflect.DeepEqual(all[0].Candidates, want) {
		t.Fatalf("got %+v", all)
	}
	if !reflect.DeepEqual(all[0].Chosen, []string{"b", "c"}) {
		t.Errorf("got %v", all[0].Chosen)
	}
	if len(all[1].Candidates) != 0 || !strings.Contains(all[1].Message, "preemptionPolicy=Never") {
		t.Errorf("got %+v", all[1])
	}
}

func TestFilesBesideTheClusterAreUsedWhereNoFlagSaysOtherwise(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x.config.json", "x.gates"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("A=true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := options{follow: dir}.besides(filepath.Join(dir, "x.json.gz"))
	want := options{config: filepath.Join(dir, "x.config.json"), featureGates: "A=true", follow: filepath.Join(dir, "x.report.json")}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	flags := options{config: "own", featureGates: "B=true", follow: "file"}
	if got := flags.besides(filepath.Join(dir, "x.json")); got != flags {
		t.Errorf("got %+v, want %+v", got, flags)
	}
}
