// SPDX-License-Identifier: Apache-2.0

package autoscaler

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	berth "berth.dev/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestMain(m *testing.M) {
	status := m.Run()
	if open := berth.OpenHandles(); len(open) > 0 && status == 0 {
		fmt.Fprintln(os.Stderr, "handles left open:", open)
		status = 1
	}
	os.Exit(status)
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newSnapshot(t testing.TB) *Snapshot {
	t.Helper()
	engine, err := berth.NewEngine(&berth.EngineOptions{Threads: 1})
	ok(t, err)
	defer engine.Close()
	s, err := NewSnapshot(engine)
	ok(t, err)
	t.Cleanup(s.Close)
	return s
}

func node(name string, cpu int64) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"cpu": *resource.NewQuantity(cpu, resource.DecimalSI),
			"memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}}}
}

func pod(name, on string, cpu int64) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{NodeName: on, Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": *resource.NewQuantity(cpu, resource.DecimalSI)}}}}}}
}

func TestForksAreRevertedAndCommitted(t *testing.T) {
	s := newSnapshot(t)
	ok(t, s.SetClusterState([]*corev1.Node{node("a", 4)}, []*corev1.Pod{pod("old", "a", 2), pod("lost", "gone", 1)}))
	if err := s.SchedulePod(pod("large", "", 3), "a"); err == nil || err.Type() != FailingPredicateError ||
		err.FailingPredicateName() != "NodeResourcesFit" || !slices.Equal(err.Reasons(), []string{"Insufficient cpu"}) ||
		!strings.Contains(err.Error(), `can't schedule pod default/large: predicate "NodeResourcesFit" didn't pass`) {
		t.Error(err)
	}
	s.Fork()
	ok(t, s.AddNodeInfo(NewNodeInfo(node("b", 8), pod("daemon", "", 1))))
	if err := s.AddNodeInfo(NewNodeInfo(node("b", 8))); err == nil || err.Error() != "node b already in snapshot" {
		t.Error(err)
	}
	if name, err := s.SchedulePodOnAnyNodeMatching(pod("large", "", 3), SchedulingOptions{}); err != nil || name != "b" {
		t.Error(name, err)
	}
	s.Fork()
	ok(t, s.RemoveNodeInfo("a"))
	ok(t, s.UnschedulePod("default", "large", "b"))
	s.Revert()
	info, err := s.GetNodeInfo("b")
	ok(t, err)
	if len(info.Pods()) != 2 || info.Pods()[1].Name != "large" {
		t.Errorf("%d pods", len(info.Pods()))
	}
	ok(t, s.Commit())
	if listed, err := s.ListNodeInfos(); err != nil || len(listed) != 2 || listed[0].Node().Name != "a" {
		t.Error(listed, err)
	}
	if err := s.CheckPredicates(pod("huge", "", 5), "b"); err == nil {
		t.Error("committed pods do not count")
	}
	if err := s.CheckPredicates(pod("fits", "", 4), "b"); err != nil {
		t.Error(err)
	}
	ok(t, s.ForceRemovePod("default", "old", "a"))
	if err := s.ForceRemovePod("default", "old", "a"); err == nil {
		t.Error("removed twice")
	}
	ok(t, s.ForceAddPod(pod("forced", "", 9), "a"))
	if err := s.ForceAddPod(pod("forced", "", 9), "nowhere"); !errors.Is(err, ErrNodeNotFound) {
		t.Error(err)
	}
	if _, err := s.GetNodeInfo("nowhere"); !errors.Is(err, ErrNodeNotFound) {
		t.Error(err)
	}
	if err := s.CheckPredicates(pod("p", "", 1), "nowhere"); err.Type() != SchedulingInternalError {
		t.Error(err)
	}
	s.Clear()
	if listed, err := s.ListNodeInfos(); err != nil || len(listed) != 0 {
		t.Error(listed, err)
	}
}

func TestErrorsHaveTheirTypes(t *testing.T) {
	s := newSnapshot(t)
	tainted := node("t", 4)
	tainted.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	cordoned := node("c", 4)
	cordoned.Spec.Unschedulable = true
	ok(t, s.SetClusterState([]*corev1.Node{tainted, cordoned}, nil))
	if err := s.CheckPredicates(pod("p", "", 1), "t"); err.FailingPredicateName() != "TaintToleration" || !strings.Contains(err.Error(), "nodeTaints") {
		t.Error(err)
	}
	tolerant := pod("tolerant", "", 9)
	tolerant.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	if name, err := s.SchedulePodOnAnyNodeMatching(tolerant, SchedulingOptions{}); name != "" || err.Type() != NoNodesPassingPredicatesFoundError {
		t.Error(name, err)
	}
	claims := pod("claims", "", 1)
	claim := "claim"
	claims.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim}}
	if err := s.CheckPredicates(claims, "t"); err.Type() != SchedulingInternalError || !strings.Contains(err.Error(), "resourceClaims") {
		t.Error(err)
	}
	volume := pod("volume", "", 1)
	volume.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "missing"}}}}
	if _, err := s.SchedulePodOnAnyNodeMatching(volume, SchedulingOptions{}); err.Type() != FailingPredicateError || !strings.Contains(err.Error(), "PreFilter failed") {
		t.Error(err)
	}
	named := pod("named", "", 1)
	named.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"other"}}}}}}}}
	if _, err := s.SchedulePodOnAnyNodeMatching(named, SchedulingOptions{}); err.Type() != NoNodesPassingPredicatesFoundError {
		t.Error(err)
	}
	if err := s.CheckPredicates(named, "t"); !strings.Contains(err.Error(), "PreFilter filtered the Node out") {
		t.Error(err)
	}
	if !errors.Is(s.CheckPredicates(named, "t"), s.CheckPredicates(pod("p", "", 1), "t")) {
		t.Error("errors of one type are not equal")
	}
}

type backwards struct {
	count, matched int
}

func (b *backwards) Reset(nodes []*NodeInfo) { b.count = len(nodes) }
func (b *backwards) At(i int) int            { return b.count - 1 - i }
func (b *backwards) MarkMatch(position int)  { b.matched = position }

func TestNodesAreTriedInOrderAndAskedForOnceACall(t *testing.T) {
	s := newSnapshot(t)
	var nodes []*corev1.Node
	for i := range 5 {
		nodes = append(nodes, node(fmt.Sprintf("n%d", i), 4))
	}
	ok(t, s.SetClusterState(nodes, nil))
	var taken []string
	for i := range 6 {
		name, err := s.SchedulePodOnAnyNodeMatching(pod(fmt.Sprintf("p%d", i), "", 1), SchedulingOptions{})
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, name)
	}
	if !slices.Equal(taken, []string{"n0", "n1", "n2", "n3", "n4", "n0"}) {
		t.Error(taken)
	}
	order := &backwards{}
	asked := map[string]int{}
	options := SchedulingOptions{NodeOrdering: order, IsNodeAcceptable: func(n *NodeInfo) bool {
		asked[n.Node().Name]++
		return n.Node().Name != "n4"
	}}
	if name, err := s.SchedulePodOnAnyNodeMatching(pod("q", "", 1), options); err != nil || name != "n3" || order.matched != 3 {
		t.Error(name, err, order)
	}
	if !maps.Equal(asked, map[string]int{"n0": 1, "n1": 1, "n2": 1, "n3": 1, "n4": 1}) {
		t.Error(asked)
	}
}

func TestAPodIsMarshalledOncePerVersionAndSpec(t *testing.T) {
	s := newSnapshot(t)
	nodes := []*corev1.Node{node("a", 4)}
	running, asked := pod("running", "a", 1), pod("asked", "", 1)
	for range 3 {
		ok(t, s.SetClusterState(nodes, []*corev1.Pod{running}))
		for range 5 {
			if err := s.CheckPredicates(asked, "a"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s.pods.marshalled != 2 {
		t.Errorf("%d pods were marshalled", s.pods.marshalled)
	}
	asked.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("4") // changed in place
	if err := s.CheckPredicates(asked, "a"); err == nil || s.pods.marshalled != 3 {
		t.Errorf("%d pods were marshalled: %v", s.pods.marshalled, err)
	}
	for range 3 {
		ok(t, s.SetClusterState(nodes, nil))
	}
	if len(s.pods.known) != 0 {
		t.Errorf("%d pods are kept", len(s.pods.known))
	}
}

// After any sequence of verbs the snapshot answers as one whose state was set to what it lists.
func TestAfterARandomSequenceTheSnapshotEqualsItsState(t *testing.T) {
	sequences := 300
	for seed := range uint64(sequences) {
		draw := rand.New(rand.NewPCG(seed, 3))
		s, fresh := newSnapshot(t), newSnapshot(t)
		count := 0
		anyNode := func() string { return fmt.Sprintf("n%d", draw.IntN(4)) }
		drawPod := func(on string) *corev1.Pod {
			count++
			p := pod(fmt.Sprintf("p%d", count), on, int64(draw.IntN(3)))
			p.Labels = map[string]string{"app": []string{"x", "y"}[draw.IntN(2)]}
			if draw.IntN(3) == 0 {
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname",
						LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}}}}
			}
			return p
		}
		ok(t, s.SetClusterState([]*corev1.Node{node("n0", 4), node("n1", 3)}, []*corev1.Pod{drawPod("n0"), drawPod("n1")}))
		for range 30 {
			switch draw.IntN(9) {
			case 0:
				s.Fork()
			case 1:
				s.Revert()
			case 2:
				ok(t, s.Commit())
			case 3:
				if _, err := s.GetNodeInfo("n2"); err != nil {
					ok(t, s.AddNodeInfo(NewNodeInfo(node("n2", 5), drawPod(""))))
				}
			case 4:
				if err := s.RemoveNodeInfo(anyNode()); err != nil && !errors.Is(err, ErrNodeNotFound) {
					t.Fatal(err)
				}
			case 5:
				if err := s.ForceAddPod(drawPod(""), anyNode()); err != nil && !errors.Is(err, ErrNodeNotFound) {
					t.Fatal(err)
				}
			case 6:
				if info, err := s.GetNodeInfo(anyNode()); err == nil && len(info.Pods()) > 0 {
					p := info.Pods()[draw.IntN(len(info.Pods()))]
					ok(t, s.UnschedulePod(p.Namespace, p.Name, info.Node().Name))
				}
			case 7:
				s.SchedulePod(drawPod(""), anyNode())
			default:
				s.SchedulePodOnAnyNodeMatching(drawPod(""), SchedulingOptions{})
			}
		}
		var nodes []*corev1.Node
		var pods []*corev1.Pod
		listed, err := s.ListNodeInfos()
		ok(t, err)
		for _, info := range listed {
			nodes = append(nodes, info.Node())
			for _, p := range info.Pods() {
				p = p.DeepCopy()
				p.Spec.NodeName = info.Node().Name
				pods = append(pods, p)
			}
		}
		ok(t, fresh.SetClusterState(nodes, pods))
		for range 4 {
			probe := drawPod("")
			for _, n := range nodes {
				if got, want := fmt.Sprint(s.CheckPredicates(probe, n.Name)), fmt.Sprint(fresh.CheckPredicates(probe, n.Name)); got != want {
					t.Fatalf("seed %d, %s on %s: %s; of a fresh state: %s", seed, probe.Name, n.Name, got, want)
				}
			}
		}
	}
}
