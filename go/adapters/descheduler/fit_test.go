// SPDX-License-Identifier: Apache-2.0

package descheduler

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"berth.dev/go/adapters/descheduler/fit"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
)

var (
	clusters = flag.Int("clusters", 100, "random clusters; 1,000 are the full count")
	seed     = flag.Uint64("seed", 1, "of the first cluster")
)

type world struct {
	nodes []*corev1.Node
	pods  []*corev1.Pod
}

func (w *world) on(node string) ([]*corev1.Pod, error) {
	var found []*corev1.Pod
	for _, pod := range w.pods {
		if pod.Spec.NodeName == node {
			found = append(found, pod)
		}
	}
	return found, nil
}

// assigned is the descheduler's way to ask for the pods of a node.
func (w *world) assigned(node string, filter podutil.FilterFunc) ([]*corev1.Pod, error) {
	pods, _ := w.on(node)
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return filter != nil && !filter(pod) }), nil
}

func testNode(name string, cpu int64) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{"cpu": *resource.NewQuantity(cpu, resource.DecimalSI),
				"memory": resource.MustParse("64Gi"), "pods": resource.MustParse("4")}}}
}

func testPod(name, node string, cpu int64) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name),
		Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": *resource.NewQuantity(cpu, resource.DecimalSI)}}}}}}
}

func drawn(draw *rand.Rand) *world {
	w := &world{}
	for i := range 2 + draw.IntN(4) {
		n := testNode(fmt.Sprintf("n%d", i), int64(2+draw.IntN(6)))
		n.Labels["zone"] = fmt.Sprintf("z%d", draw.IntN(2))
		n.Spec.Unschedulable = draw.IntN(6) == 0
		if draw.IntN(5) == 0 {
			n.Spec.Taints = []corev1.Taint{{Key: "t", Effect: []corev1.TaintEffect{corev1.TaintEffectNoSchedule,
				corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}[draw.IntN(3)]}}
		}
		w.nodes = append(w.nodes, n)
	}
	for i := range 4 + draw.IntN(8) {
		p := testPod(fmt.Sprintf("p%d", i), w.nodes[draw.IntN(len(w.nodes))].Name, int64(draw.IntN(3)))
		p.Labels = map[string]string{"app": []string{"x", "y"}[draw.IntN(2)]}
		if draw.IntN(4) == 0 {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}
		if draw.IntN(5) == 0 {
			p.Spec.NodeSelector = map[string]string{"zone": "z0"}
		}
		if draw.IntN(5) == 0 {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
		}
		terms := []corev1.PodAffinityTerm{{TopologyKey: []string{"zone", "kubernetes.io/hostname"}[draw.IntN(2)],
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}}
		switch draw.IntN(6) {
		case 0:
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: terms}}
		case 1:
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: terms}}
		case 2:
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
				WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}}
		}
		w.pods = append(w.pods, p)
	}
	return w
}

// Every pod is asked about on every node. What the descheduler refuses, Berth refuses, with one exception: a pod that
// requests no cpu fits a node whose pods request more than it has, in kube-scheduler and not in the descheduler. What
// Berth refuses beside that are the rules that the descheduler does not have, or does not ask on the pod's own node.
func TestWhatBerthRefusesAndTheDeschedulerAccepts(t *testing.T) {
	table := map[string]int{}
	pairs, agreed, overcommitted := 0, 0, 0
	for i := range *clusters {
		w := drawn(rand.New(rand.NewPCG(*seed+uint64(i), 18)))
		state, err := fit.Load(w.nodes, w.on)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range w.pods {
			for _, node := range w.nodes {
				pairs++
				theirs := nodeutil.NodeFit(t.Context(), w.assigned, pod, node)
				ours := state.NodeFit(pod, node.Name, fit.Options{IgnoreVolumes: true})
				var refusal *fit.Refusal
				if ours != nil && !errors.As(ours, &refusal) {
					t.Fatal(ours)
				}
				switch {
				case (theirs == nil) == (ours == nil):
					agreed++
				case theirs == nil:
					own := ""
					if pod.Spec.NodeName == node.Name {
						own = ", the pod's own node"
					}
					table[refusal.Plugin+own]++
				case pod.Spec.Containers[0].Resources.Requests.Cpu().IsZero() && theirs.Error() == "insufficient cpu":
					overcommitted++
				default:
					t.Errorf("cluster %d, %s on %s: the descheduler refuses (%v) and Berth does not",
						*seed+uint64(i), pod.Name, node.Name, theirs)
				}
			}
		}
		state.Close()
	}
	t.Logf("%d clusters, %d pairs of pod and node, %d with one answer; %d pods without a request accepted by Berth alone",
		*clusters, pairs, agreed, overcommitted)
	for _, plugin := range slices.Sorted(maps.Keys(table)) {
		t.Logf("Berth refuses and the descheduler accepts: %-45s %d", plugin, table[plugin])
	}
	for _, plugin := range []string{"NodePorts", "PodTopologySpread", "InterPodAffinity"} {
		if table[plugin] == 0 {
			t.Errorf("no pair was drawn that %s alone refuses", plugin)
		}
	}
}
