// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestErrorsHaveEveryFieldAndAreAskedByStatus(t *testing.T) {
	cluster := world(t)
	err := cluster.Upsert([]byte(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"x"},"status":{"allocatable":{"cpu":"?"}}}`))
	var e *Error
	if !errors.As(err, &e) || e.Status != Input || e.Call != "Cluster.Upsert" || e.Object == "" || e.Text == "" {
		t.Fatalf("%#v", err)
	}
	if !errors.Is(err, Input) || errors.Is(err, NotFound) || !strings.Contains(err.Error(), "BERTH_E_INPUT") {
		t.Error(err)
	}
	if _, err := cluster.FindNode("nobody"); !errors.Is(err, NotFound) {
		t.Error(err)
	}
	if _, err := cluster.FindNode("a\x00b"); !errors.Is(err, Argument) {
		t.Error(err)
	}
	if _, err := NewEngine(&EngineOptions{Release: "1.20"}); err == nil {
		t.Error("a release that is not there was taken")
	}
}

func TestObjectsComeAndGo(t *testing.T) {
	cluster := world(t)
	first := must(cluster.Version())(t)
	bulk := &Bulk{}
	bulk.Append(podText("p", 1, "a"))
	bulk.Append([]byte(`{"kind":"Nonsense"`))
	bulk.Append([]byte(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"}}`))
	statuses, err := cluster.UpsertEach(bulk)
	if !errors.Is(err, Partial) || !slices.Equal(statuses, []Status{OK, Input, Ignored}) {
		t.Errorf("%v %v", statuses, err)
	}
	if must(cluster.Version())(t) <= first {
		t.Error("the version did not move")
	}
	ok(t, cluster.Delete(Object{Kind: "Pod", UID: "uid-p"}))
	if err := cluster.Delete(Object{Kind: "Pod", Namespace: "default", Name: "p"}); !errors.Is(err, NotFound) {
		t.Error(err)
	}
	ok(t, cluster.Replace("Node", nodeText("only", "1", "")))
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	nodes := must(snapshot.Nodes())(t)
	if len(nodes) != 1 || must(cluster.NodeName(nodes[0]))(t) != "only" || must(cluster.Backend())(t) != "cpu" {
		t.Error(nodes)
	}
	pod := newTestPod(t, cluster, "q", 1)
	ok(t, cluster.Assume(pod, nodes[0]))
	if err := cluster.Assume(pod, nodes[0]); !errors.Is(err, Exists) {
		t.Error(err)
	}
	ok(t, cluster.Forget(pod))
	again := closing(t, must(pod.Retain())(t))
	if must(again.Priority())(t) != 0 || must(again.UID())(t) != "uid-q" || must(again.Class())(t) != must(pod.Class())(t) ||
		!must(again.NodeLocal())(t) {
		t.Error("another pod")
	}
	bulk.Reset()
	bulk.Append(podText("m", 1, ""))
	bulk.Append(podText("n", 1, ""))
	for _, pod := range must(cluster.NewPods(bulk, &PodOptions{IgnoreVolumes: true}))(t) {
		ok(t, pod.Close())
	}
}

func TestChecksTellReasonsByColumn(t *testing.T) {
	cluster := world(t)
	ok(t, cluster.Upsert(podText("old", 3, "a")))
	small, large := newTestPod(t, cluster, "small", 1), newTestPod(t, cluster, "large", 3)
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	a := node(t, cluster, "a")
	if !must(snapshot.Check(small, a, nil))(t) || must(snapshot.Check(large, a, nil))(t) {
		t.Error("wrong verdict")
	}
	r := closing(t, must(snapshot.CheckBulk(t.Context(), []*Pod{small, large}, nil))(t))
	if !slices.Equal(r.Fits, []bool{true, false, true, false, false, false}) || len(r.Nodes) != 3 ||
		!slices.Equal(r.Judged, []Judged{JudgedFully, JudgedFully}) || r.Phases[3] != PhaseFilter ||
		r.Codes[3] != CodeUnschedulable || r.Codes[4] != CodeUnschedulableAndUnresolvable {
		t.Errorf("%+v", r.CheckColumns)
	}
	if must(r.Plugins.At(3))(t) != "NodeResourcesFit" || must(r.Reasons.At(3))(t) != "Insufficient cpu" {
		t.Error("wrong reasons")
	}
	origin := must(r.Origin())(t)
	if origin.Version != must(snapshot.Version())(t) || origin.Release != "1.35" || origin.Backend != "cpu" {
		t.Errorf("%+v", origin)
	}
	set := closing(t, must(cluster.NewNodeSet([]NodeID{node(t, cluster, "c")}))(t))
	limited := closing(t, must(snapshot.CheckBulk(t.Context(), []*Pod{small}, &CheckOptions{Nodes: set, NoReasons: true}))(t))
	if len(limited.Fits) != 1 || !limited.Fits[0] {
		t.Errorf("%+v", limited.CheckColumns)
	}
	if limited.Scores != nil || limited.Messages.Len() != 0 {
		t.Error("scores that nobody asked for")
	}
	if !strings.Contains(string(must(snapshot.Explain(t.Context(), large, ExplainOptions{}))(t)), "Insufficient cpu") {
		t.Error("no explanation")
	}
	preempt := closing(t, must(snapshot.Preempt(t.Context(), large, false))(t))
	if len(preempt.Nodes) != 0 || preempt.Message == "" {
		t.Errorf("%+v", preempt)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := snapshot.Explain(over, large, ExplainOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("explain: %v", err)
	}
	if _, err := snapshot.Preempt(over, large, false); !errors.Is(err, context.Canceled) {
		t.Errorf("preempt: %v", err)
	}
}

func TestScoresAreThoseOfTheExplanation(t *testing.T) {
	cluster := world(t)
	pods := []*Pod{newTestPod(t, cluster, "small", 1), newTestPod(t, cluster, "large", 9)}
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	scored := closing(t, must(snapshot.CheckBulk(t.Context(), pods, &CheckOptions{Scores: true}))(t))
	nodes := len(scored.Nodes)
	if len(scored.Scores) != 2*nodes || must(scored.Messages.At(1))(t) != "" {
		t.Fatalf("%+v", scored.CheckColumns)
	}
	for i, pod := range pods {
		var record struct {
			Nodes []struct {
				Node     string
				Feasible bool
				Total    int64
			}
		}
		ok(t, json.Unmarshal(must(snapshot.Explain(t.Context(), pod, ExplainOptions{}))(t), &record))
		if len(record.Nodes) != nodes {
			t.Fatalf("%+v", record)
		}
		for _, said := range record.Nodes {
			want := said.Total
			if !said.Feasible {
				want = NoScore
			}
			at := slices.Index(scored.Nodes, node(t, cluster, said.Node))
			if scored.Scores[i*nodes+at] != want {
				t.Errorf("pod %d on %s: %d, want %d", i, said.Node, scored.Scores[i*nodes+at], want)
			}
		}
	}
}

func TestMemoryOfHandlesIsTold(t *testing.T) {
	engine := closing(t, must(NewEngine(&EngineOptions{MaxMemoryBytes: 1 << 30}))(t))
	cluster := closing(t, must(engine.NewCluster())(t))
	before := must(engine.Memory())(t)
	ok(t, cluster.Upsert(podText("q", 1, "")))
	pod := newTestPod(t, cluster, "p", 1)
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	fork := closing(t, must(snapshot.Fork())(t))
	set := closing(t, must(cluster.NewNodeSet(nil))(t))
	queue := closing(t, must(cluster.NewQueue(nil))(t))
	result := closing(t, must(snapshot.CheckBulk(t.Context(), []*Pod{pod}, nil))(t))
	for name, memory := range map[string]func() (uint64, error){
		"cluster": cluster.Memory, "pod": pod.Memory, "snapshot": snapshot.Memory, "fork": fork.Memory, "set": set.Memory,
		"queue": queue.Memory, "result": result.Memory,
	} {
		if must(memory())(t) == 0 {
			t.Errorf("%s: 0 bytes", name)
		}
	}
	if after := must(engine.Memory())(t); after <= before {
		t.Errorf("%d bytes, and %d before", after, before)
	}
	uncapped := closing(t, must(NewEngine(nil))(t))
	if _, err := uncapped.Memory(); !errors.Is(err, State) {
		t.Errorf("without a cap: %v", err)
	}
	small := closing(t, must(NewEngine(&EngineOptions{MaxMemoryBytes: 1}))(t))
	one := closing(t, must(small.NewCluster())(t))
	ok(t, one.Upsert(podText("q", 1, "a"))) // one call may pass the cap
	if _, err := one.NewSnapshot(); !errors.Is(err, Memory) {
		t.Errorf("above the cap: %v", err)
	}
}

func TestForksPlaceRevertAndCommit(t *testing.T) {
	cluster := world(t)
	pods := []*Pod{newTestPod(t, cluster, "p0", 3), newTestPod(t, cluster, "p1", 2), newTestPod(t, cluster, "p2", 3)}
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	fork, late := closing(t, must(snapshot.Fork())(t)), closing(t, must(snapshot.Fork())(t))
	a, c := node(t, cluster, "a"), node(t, cluster, "c")
	r := closing(t, must(fork.Schedule(t.Context(), pods, nil))(t))
	if !slices.Equal(r.Nodes, []NodeID{a, c, NoNode}) || !strings.HasPrefix(must(r.Messages.At(2))(t), "0/3 nodes are available") {
		t.Errorf("%+v", r.ScheduleColumns)
	}
	child := closing(t, must(fork.Fork())(t))
	ok(t, child.Unschedule(pods[0]))
	ok(t, child.RemovePod("uid-p1"))
	ok(t, child.Revert())
	if must(child.NodeOfPod("uid-p1"))(t) != c {
		t.Error("not reverted")
	}
	d := must(child.AddNode(nodeText("d", "8", "")))(t)
	ok(t, child.UpdateNode(nodeText("d", "16", "")))
	ok(t, child.RemoveNode(d))
	ok(t, child.AddPod(pods[1], a))
	ok(t, child.Unschedule(pods[1]))
	must(child.Commit())(t)
	if must(fork.NodeOfPod("uid-p1"))(t) != NoNode {
		t.Error("not committed")
	}
	if version := must(fork.Commit())(t); version != must(cluster.Version())(t) {
		t.Error(version)
	}
	ordered := &ScheduleOptions{Choice: InOrder, Order: []NodeID{c, a}}
	closing(t, must(late.Schedule(t.Context(), pods[:1], ordered))(t))
	if _, err := late.Commit(); !errors.Is(err, Stale) {
		t.Error(err)
	}
}

func TestAllNodesOfAForkAnswerIntoSlices(t *testing.T) {
	counted(t)
	cluster := world(t)
	pod := newTestPod(t, cluster, "p", 3)
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	fork := closing(t, must(snapshot.Fork())(t))
	fits := must(fork.Mask(pod, nil, nil))(t)
	r := closing(t, must(fork.CheckBulk(t.Context(), []*Pod{pod}, nil))(t))
	if !slices.Equal(fits, r.Fits) || !slices.Contains(fits, true) || !slices.Contains(fits, false) {
		t.Errorf("%v, and in bulk %v", fits, r.Fits)
	}
	ok(t, fork.AddPod(pod, node(t, cluster, "a")))
	at := slices.Index(r.Nodes, node(t, cluster, "a"))
	again := must(fork.Mask(pod, nil, fits))(t)
	if &again[0] != &fits[0] || again[at] {
		t.Errorf("%v in other memory, or the pod fits beside itself", again)
	}
	if moved := must(fork.Mask(pod, &CheckOptions{AsMoved: true}, nil))(t); !moved[at] {
		t.Errorf("%v", moved)
	}
	use := must(fork.Use([]string{"cpu", "pods"}, nil))(t)
	if use.Requested[at] != 3000 || use.Requested[len(r.Nodes)+at] != 1 || use.Allocatable[at] != 4000 {
		t.Errorf("%v", use)
	}
	if must(fork.Use([]string{"cpu"}, use))(t); len(use.Requested) != len(r.Nodes) {
		t.Errorf("%v", use)
	}
}

func TestContextsEndCalls(t *testing.T) {
	cluster := world(t)
	pod := newTestPod(t, cluster, "p", 1)
	many := slices.Repeat([]*Pod{pod}, 200_000)
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := snapshot.CheckBulk(gone, many, nil); r != nil || !errors.Is(err, context.Canceled) || !errors.Is(err, Cancelled) {
		t.Errorf("%v %v", r, err)
	}
	short, cancelShort := context.WithTimeout(t.Context(), 50*time.Microsecond)
	defer cancelShort()
	if r, err := snapshot.CheckBulk(short, many, nil); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, Deadline) {
		t.Errorf("%v %v", r, err)
	} else if r != nil && (len(r.Judged) == 0 || len(r.Judged) == len(many)) {
		t.Errorf("%d pods were answered", len(r.Judged))
	} else {
		ok(t, r.Close())
	}
	// A call that is running: the cancellation comes at different parts of the time that a whole call takes.
	options := &CheckOptions{NoReasons: true}
	begin := time.Now()
	ok(t, must(snapshot.CheckBulk(t.Context(), many, options))(t).Close())
	whole := time.Since(begin)
	for i := range 64 {
		running, cancel := context.WithCancel(t.Context())
		time.AfterFunc(whole*time.Duration(i%8+1)/10, cancel)
		r, err := snapshot.CheckBulk(running, many, options)
		cancelled := errors.Is(err, context.Canceled) && r != nil && len(r.Judged) < len(many)
		ok(t, r.Close())
		if cancelled {
			return
		}
	}
	t.Error("no running call was cancelled")
}

func TestCountingGroupsAndReservations(t *testing.T) {
	cluster := world(t)
	pod := newTestPod(t, cluster, "p", 1)
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	r := closing(t, must(snapshot.MaxReplicas(t.Context(), []*Pod{pod}, &MaxReplicasOptions{PerNode: true, Keys: []string{"zone"}}))(t))
	if r.Counts[0] != 6 || !slices.Equal(r.CountOnNode, []int32{4, 0, 2}) || r.Values.Len() != 3 ||
		!slices.Equal(r.CountOfValue, []int64{4, 0, 2}) || !slices.Equal(r.ValueBegin, []uint32{0, 3}) {
		t.Errorf("%+v", r.MaxReplicasColumns)
	}
	fork := closing(t, must(snapshot.Fork())(t))
	group := []*Pod{newTestPod(t, cluster, "g0", 2), newTestPod(t, cluster, "g1", 2)}
	g := closing(t, must(fork.ScheduleGroup(t.Context(), group, &GroupOptions{Keys: []string{"zone"}, Domain: DomainRequired}))(t))
	a := node(t, cluster, "a")
	if !slices.Equal(g.Nodes, []NodeID{a, a}) || !g.TryTaken[0] || must(g.TryValues.At(0))(t) != "z-a" || g.TryPods[0] != NoPod {
		t.Errorf("%+v %+v", g.ScheduleColumns, g.GroupColumns)
	}
	reserved := closing(t, must(cluster.Reserve("team", pod, 2, &ReserveOptions{Key: "zone", Value: "z-c"}))(t))
	if !slices.Equal(reserved.Fits, []bool{true, true}) || must(reserved.UIDs.At(1))(t) != "reservation/team/1" {
		t.Errorf("%+v", reserved.ReserveColumns)
	}
	all := closing(t, must(cluster.Reservations(""))(t))
	if len(all.Nodes) != 2 || must(all.Owners.At(0))(t) != "team" {
		t.Errorf("%+v", all.ReservationColumns)
	}
	if n := must(cluster.Unreserve("team", &UnreserveOptions{Count: 1, Pod: pod}))(t); n != 1 {
		t.Error(n)
	}
	must(cluster.Unreserve("team", nil))(t)
	if _, err := cluster.Unreserve("team", nil); !errors.Is(err, NotFound) {
		t.Error(err)
	}
}

func TestAutoscalersQuestions(t *testing.T) {
	cluster := world(t)
	ok(t, cluster.Upsert(podText("running", 2, "a")))
	pods := []*Pod{newTestPod(t, cluster, "p0", 3), newTestPod(t, cluster, "p1", 3)}
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	shapes := []Shape{{Node: nodeText("template", "4", "")}, {CopyOf: node(t, cluster, "a"), MaxNodes: 1, Price: 3},
		{Node: nodeText("t", "8", ""), Caps: []Amount{{"cpu", 8000}}, Pods: []*Pod{pods[0]}, StartupTaints: []string{"start"}}}
	up := closing(t, must(snapshot.ScaleUp(t.Context(), pods, shapes, nil))(t))
	if !slices.Equal(up.NodeCounts, []uint32{2, 1, 1}) || up.Caps[1] != CapNodes || must(up.Resources.At(0))(t) != "cpu" ||
		!slices.Equal(up.PodClasses, []uint32{0, 0}) || !slices.Equal(up.PlacedOfClass, []uint32{2, 1, 1}) {
		t.Errorf("%+v", up.ScaleUpColumns)
	}
	running := []*Pod{newTestPod(t, cluster, "running", 2)}
	if _, err := snapshot.ScaleUp(t.Context(), running, shapes[:1], nil); !errors.Is(err, Exists) {
		t.Error(err)
	}
	moved := closing(t, must(snapshot.ScaleUp(t.Context(), running, shapes[:1], &ScaleUpOptions{AsMoved: true}))(t))
	if !slices.Equal(moved.NodeCounts, []uint32{1}) {
		t.Errorf("%+v", moved.ScaleUpColumns)
	}
	a, c := node(t, cluster, "a"), node(t, cluster, "c")
	drain := closing(t, must(snapshot.Drain(t.Context(), []NodeID{a}, &DrainOptions{Preset: Karpenter, RulesOff: []Rule{RuleBudget}}))(t))
	if !drain.Removable[0] || drain.Targets[0] != c || drain.Outcomes[0] != PodMoves || must(drain.Pods.At(0))(t) != "uid-running" {
		t.Errorf("%+v", drain.DrainColumns)
	}
	ok(t, cluster.Upsert(podText("more", 2, "c")))
	full := closing(t, must(cluster.NewSnapshot())(t))
	replace := closing(t, must(full.Replace(t.Context(), []NodeID{a}, shapes[1:2], 2, nil))(t))
	if replace.Shapes[0] != 0 || replace.Prices[0] != 3 || replace.NewNodes[0] != 0 {
		t.Errorf("%+v %+v", replace.DrainColumns, replace.ReplaceColumns)
	}
	fork := closing(t, must(full.Fork())(t))
	kept := closing(t, must(fork.Drain(t.Context(), []NodeID{c}, &DrainOptions{Together: true, Keep: true}))(t))
	if !kept.Removable[0] || must(fork.NodeOfPod("uid-more"))(t) != a {
		t.Errorf("%+v", kept.DrainColumns)
	}
}

func TestASnapshotIsWrittenAndOpened(t *testing.T) {
	cluster := world(t)
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	path := filepath.Join(t.TempDir(), "snapshot")
	ok(t, snapshot.Write(path))
	engine := closing(t, must(NewEngine(&EngineOptions{EngineConfig: firstOfEqual}))(t))
	opened, again, err := engine.OpenSnapshot(path)
	ok(t, err)
	closing(t, opened)
	closing(t, again)
	bytes := must(again.Bytes())(t)
	second, third, err := engine.OpenSnapshotBytes(bytes)
	ok(t, err)
	closing(t, second)
	closing(t, third)
	if must(third.Version())(t) != must(snapshot.Version())(t) || node(t, second, "c") != node(t, cluster, "c") {
		t.Error("another cluster")
	}
	if _, _, err := engine.OpenSnapshotBytes(bytes[:50]); !errors.Is(err, Input) {
		t.Error(err)
	}
}

func TestMessagesGoToTheLogAndCallbacksMayNotCallBack(t *testing.T) {
	counted(t)
	var messages []string
	var cluster *Cluster
	var back error
	engine := closing(t, must(NewEngine(&EngineOptions{LogLevel: LogInfo, Log: func(_ LogLevel, text string) {
		messages = append(messages, text)
		if cluster != nil {
			_, back = cluster.Version()
		}
	}}))(t))
	cluster = closing(t, must(engine.NewCluster())(t))
	ok(t, cluster.Upsert([]byte(`{"apiVersion":"v1","kind":"List","items":[`+string(nodeText("a", "1", ""))+`,{"apiVersion":"x/v1","kind":"Unknown","metadata":{"name":"u"}}]}`)))
	if len(messages) == 0 || !errors.Is(back, Reentry) {
		t.Errorf("%q %v", messages, back)
	}
	if _, err := NewEngine(&EngineOptions{Release: "0", Log: func(LogLevel, string) {}}); err == nil {
		t.Error("no error")
	}
}
