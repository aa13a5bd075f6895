// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	berth "berth.dev/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
)

// bare is the plugin without informers, over nodes a and b of four cores each.
func bare(t *testing.T) (*Plugin, []fwk.NodeInfo) {
	t.Helper()
	engine, err := berth.NewEngine(nil)
	ok(t, err)
	defer engine.Close()
	cluster, err := engine.NewCluster()
	ok(t, err)
	p := newPlugin(cluster)
	t.Cleanup(func() { ok(t, p.Close()) })
	var nodes []fwk.NodeInfo
	for _, name := range []string{"a", "b"} {
		n := node(0, rand.New(rand.NewPCG(1, 1)))
		n.Name, n.Spec.Taints = name, nil
		n.Status.Allocatable["cpu"] = resource.MustParse("4")
		info := framework.NewNodeInfo()
		info.SetNode(n)
		nodes = append(nodes, info)
	}
	return p, nodes
}

func cores(name, on, cpu string) *v1.Pod {
	p := plainPod(name, on)
	p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(cpu)
	return p
}

func infoOf(t *testing.T, pod *v1.Pod) fwk.PodInfo {
	t.Helper()
	info, err := framework.NewPodInfo(pod)
	ok(t, err)
	return info
}

func TestACloneChangesItselfAlone(t *testing.T) {
	p, nodes := bare(t)
	victim, asked := cores("victim", "a", "3"), cores("asked", "", "2")
	nodes[0].AddPodInfo(infoOf(t, victim))
	state := framework.NewCycleState()
	if _, status := p.PreFilter(t.Context(), state, asked, nodes); !status.IsSuccess() {
		t.Fatal(status)
	}
	fits := func(state fwk.CycleState, at int, want bool, when string) {
		t.Helper()
		status := p.Filter(t.Context(), state, asked, nodes[at])
		if status.IsSuccess() != want {
			t.Errorf("%s: %v", when, status)
		}
		if !want && (status.Code() != fwk.Unschedulable || status.Message() != "Insufficient cpu") {
			t.Errorf("%s: %v", when, status)
		}
	}
	fits(state, 0, false, "full")
	fits(state, 1, true, "empty")
	first := state.Clone()
	if status := p.RemovePod(t.Context(), first, asked, infoOf(t, victim), nodes[0]); !status.IsSuccess() {
		t.Fatal(status)
	}
	fits(first, 0, true, "without the victim")
	fits(state, 0, false, "the state that was cloned")
	second, late := first.Clone(), first.Clone()
	fits(second, 0, true, "a clone of the clone")
	if status := p.AddPod(t.Context(), second, asked, infoOf(t, victim), nodes[0]); !status.IsSuccess() {
		t.Fatal(status)
	}
	fits(second, 0, false, "with the victim again")
	fits(first, 0, true, "the clone that was cloned")
	if status := p.AddPod(t.Context(), first, asked, infoOf(t, victim), nodes[0]); !status.IsSuccess() {
		t.Fatal(status)
	}
	if status := p.RemovePod(t.Context(), late, asked, infoOf(t, victim), nodes[0]); status.Code() != fwk.Error {
		t.Errorf("a clone of what has changed since was changed: %v", status)
	}
}

func TestWhatIsReservedCountsUntilItIsNot(t *testing.T) {
	p, nodes := bare(t)
	pod, asked := cores("pod", "", "3"), cores("asked", "", "2")
	ask := func(want int64, when string) {
		t.Helper()
		state := framework.NewCycleState()
		if _, status := p.PreFilter(t.Context(), state, asked, nodes); !status.IsSuccess() {
			t.Fatal(status)
		}
		fit := int64(0)
		for _, on := range nodes {
			if p.Filter(t.Context(), state, asked, on).IsSuccess() {
				fit++
			}
		}
		if fit != want {
			t.Errorf("%s: %d nodes fit", when, fit)
		}
	}
	ask(2, "empty")
	state := framework.NewCycleState()
	if status := p.Reserve(t.Context(), state, pod, "a"); !status.IsSuccess() {
		t.Fatal(status)
	}
	// The scheduler's cache assumes it too.
	assumed := cores("pod", "a", "3")
	nodes[0].AddPodInfo(infoOf(t, assumed))
	ask(1, "reserved")
	bound := cores("pod", "a", "3")
	bound.ResourceVersion = "2"
	ok(t, nodes[0].(*framework.NodeInfo).RemovePod(klog.Background(), assumed))
	nodes[0].AddPodInfo(infoOf(t, bound))
	ask(1, "confirmed")
	p.Unreserve(t.Context(), state, pod, "a")
	ok(t, nodes[0].(*framework.NodeInfo).RemovePod(klog.Background(), bound))
	ask(2, "given back")
	nodes = nodes[:1]
	ask(1, "without b")
	gone := framework.NewNodeInfo()
	other := node(1, rand.New(rand.NewPCG(1, 1)))
	gone.SetNode(other)
	first := framework.NewCycleState()
	if _, status := p.PreFilter(t.Context(), first, asked, nodes); !status.IsSuccess() {
		t.Fatal(status)
	}
	if status := p.Filter(t.Context(), first, asked, gone); status.Code() != fwk.Unschedulable {
		t.Errorf("a node that Berth does not know: %v", status)
	}
}

func TestACycleOfAClosedPluginEndsWithAnError(t *testing.T) {
	p, nodes := bare(t)
	asked := cores("asked", "", "2")
	state := preFiltered(t, p, asked, nodes)
	ok(t, p.Close())
	_, status := p.PreFilter(t.Context(), framework.NewCycleState(), asked, nodes)
	_, scored := p.Score(t.Context(), state, asked, nodes[0])
	for what, got := range map[string]*fwk.Status{
		"PreFilter": status, "Filter": p.Filter(t.Context(), state, asked, nodes[0]), "Score": scored,
		"PreScore":  p.PreScore(t.Context(), state, asked, nodes),
		"AddPod":    p.AddPod(t.Context(), state, asked, infoOf(t, asked), nodes[0]),
		"RemovePod": p.RemovePod(t.Context(), state, asked, infoOf(t, asked), nodes[0]),
		"Reserve":   p.Reserve(t.Context(), state, asked, "a"),
	} {
		if got.Code() != fwk.Error {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func preFiltered(t *testing.T, p *Plugin, pod *v1.Pod, nodes []fwk.NodeInfo) fwk.CycleState {
	t.Helper()
	state := framework.NewCycleState()
	if result, status := p.PreFilter(t.Context(), state, pod, nodes); !status.IsSuccess() || !result.AllNodes() {
		t.Fatal(result, status)
	}
	return state
}

func TestTheNominatedNodeIsFilteredAlthoughPreFilterNamesOthers(t *testing.T) {
	p, nodes := bare(t)
	asked := cores("asked", "", "2")
	asked.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name",
			Operator: v1.NodeSelectorOpIn, Values: []string{"b"}}}}}}}}
	for _, c := range []struct{ nominated, message string }{
		{"", "node(s) didn't satisfy plugin(s) [NodeAffinity]"}, {"b", "node(s) didn't satisfy plugin(s) [NodeAffinity]"},
		{"a", nodeaffinity.ErrReasonPod},
	} {
		asked.Status.NominatedNodeName, asked.ResourceVersion = c.nominated, "of "+c.nominated
		state := preFiltered(t, p, asked, nodes)
		if status := p.Filter(t.Context(), state, asked, nodes[0]); status.Message() != c.message ||
			status.Code() != fwk.UnschedulableAndUnresolvable {
			t.Errorf("nominated to %q: %v", c.nominated, status)
		}
		if status := p.Filter(t.Context(), state, asked, nodes[1]); !status.IsSuccess() {
			t.Errorf("nominated to %q: %v", c.nominated, status)
		}
	}
}

// scores are those of the plugin for nodes that passed Filter.
func scores(t *testing.T, p *Plugin, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) []int64 {
	t.Helper()
	if status := p.PreScore(t.Context(), state, pod, nodes); !status.IsSuccess() {
		t.Fatal(status)
	}
	var list fwk.NodeScoreList
	for _, on := range nodes {
		score, status := p.Score(t.Context(), state, pod, on)
		if !status.IsSuccess() {
			t.Fatal(status)
		}
		list = append(list, fwk.NodeScore{Name: on.Node().Name, Score: score})
	}
	if status := p.NormalizeScore(t.Context(), state, pod, list); !status.IsSuccess() {
		t.Fatal(status)
	}
	var found []int64
	for _, score := range list {
		found = append(found, score.Score)
	}
	return found
}

func TestScoresAreOfTheNodesThatPreScoreIsGiven(t *testing.T) {
	p, nodes := bare(t)
	fewer, some := bare(t)
	third := node(0, rand.New(rand.NewPCG(1, 1)))
	third.Name, third.Spec.Taints, third.Labels["disk"] = "c", nil, "best"
	some[0].Node().Labels["disk"], nodes[0].Node().Labels["disk"] = "good", "good"
	info := framework.NewNodeInfo()
	info.SetNode(third)
	nodes = append(nodes, info)
	asked := cores("asked", "", "1")
	asked.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}}
	for value, weight := range map[string]int32{"good": 20, "best": 100} {
		preferred := v1.PreferredSchedulingTerm{Weight: weight, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}
		asked.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(
			asked.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution, preferred)
	}
	state := preFiltered(t, p, asked, nodes)
	all := scores(t, p, state, asked, nodes)
	if c, _ := cycleOf(state); c.scored != c.answer.columns {
		t.Error("asked twice for the scores of all nodes")
	}
	if all[2] != fwk.MaxNodeScore || all[0] == fwk.MaxNodeScore || all[1] == fwk.MaxNodeScore {
		t.Error(all)
	}
	want := scores(t, fewer, preFiltered(t, fewer, asked, some), asked, some)
	for round := range 3 { // PreFilter asks for no scores when those of the last cycle were of no use
		state = preFiltered(t, p, asked, nodes)
		if got := scores(t, p, state, asked, nodes[:2]); !slices.Equal(got, want) || got[0] != fwk.MaxNodeScore {
			t.Errorf("round %d: %v, want %v", round, got, want)
		}
	}
	if got := scores(t, p, preFiltered(t, p, asked, nodes), asked, nodes); !slices.Equal(got, all) {
		t.Errorf("%v, want %v", got, all)
	}
}

func TestPodsOfAClassShareAnAnswerWhileNothingChanges(t *testing.T) {
	p, nodes := bare(t)
	answerTo := func(pod *v1.Pod) *answer {
		t.Helper()
		c, err := cycleOf(preFiltered(t, p, pod, nodes))
		ok(t, err)
		return c.answer
	}
	first := answerTo(cores("first", "", "2"))
	if answerTo(cores("second", "", "2")) != first {
		t.Error("a pod of the same class was asked about")
	}
	if answerTo(cores("other", "", "3")) == first {
		t.Error("a pod of another class got the answer")
	}
	p.forgetHandle(cores("first", "", "2"))
	if answerTo(cores("third", "", "2")) != first {
		t.Error("the answer went with the pod that was asked about")
	}
	for i := range 2 * answersMax {
		answerTo(cores(fmt.Sprint("many-", i), "", fmt.Sprintf("%dm", 100+i)))
	}
	if len(p.latest.of) != answersMax {
		t.Errorf("%d answers are kept", len(p.latest.of))
	}
	before := answerTo(cores("fourth", "", "2"))
	state := framework.NewCycleState()
	if status := p.Reserve(t.Context(), state, cores("first", "", "2"), "a"); !status.IsSuccess() {
		t.Fatal(status)
	}
	nodes[0].AddPodInfo(infoOf(t, cores("first", "a", "2")))
	if answerTo(cores("fifth", "", "2")) == before {
		t.Error("an answer outlived a change")
	}
}

func TestVersionsOfAPodThatRulesCannotTellApartAreNotTold(t *testing.T) {
	before := cores("pod", "a", "2")
	same := func(want bool, what string, change func(*v1.Pod)) {
		t.Helper()
		now := before.DeepCopy()
		now.ResourceVersion = "2"
		change(now)
		if sameForRules(before, now) != want {
			t.Error(what)
		}
	}
	same(true, "its version", func(*v1.Pod) {})
	same(true, "a condition", func(pod *v1.Pod) {
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}}
	})
	same(false, "a resize", func(pod *v1.Pod) {
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue}}
	})
	same(false, "a label", func(pod *v1.Pod) { pod.Labels["app"] = "another" })
	same(false, "a request", func(pod *v1.Pod) { pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("3") })
	same(false, "its phase", func(pod *v1.Pod) { pod.Status.Phase = v1.PodSucceeded })
	same(false, "its deletion", func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{} })
}
