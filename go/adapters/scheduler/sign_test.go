// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics/testutil"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// signature is that of the pod in a cycle of its own; 0: it is not signed.
func signature(t *testing.T, p *Plugin, pod *v1.Pod, nodes []fwk.NodeInfo) uint64 {
	t.Helper()
	preFiltered(t, p, pod, nodes)
	fragments, status := p.SignPod(t.Context(), pod)
	if status.Code() == fwk.Unschedulable && len(fragments) == 0 {
		return 0
	}
	if !status.IsSuccess() || len(fragments) != 1 || fragments[0].Key != Name {
		t.Fatal(fragments, status)
	}
	return fragments[0].Value.(uint64)
}

func TestASignatureIsThatOfAClassWhileOnlyItsPodsAreReserved(t *testing.T) {
	p, nodes := bare(t)
	first := signature(t, p, cores("first", "", "3"), nodes)
	if first == 0 {
		t.Fatal("a plain pod is not signed")
	}
	if _, status := p.SignPod(t.Context(), cores("second", "", "3")); status.Code() != fwk.Unschedulable {
		t.Error("signed outside of its cycle")
	}
	reserve := func(name string, on int) {
		t.Helper()
		pod := cores(name, "", "3")
		if status := p.Reserve(t.Context(), nil, pod, nodes[on].Node().Name); !status.IsSuccess() {
			t.Fatal(status)
		}
		nodes[on].AddPodInfo(infoOf(t, cores(name, nodes[on].Node().Name, "3")))
	}
	reserve("first", 0)
	if got := signature(t, p, cores("second", "", "3"), nodes); got != first {
		t.Errorf("%d, and %d before a reservation", got, first)
	}
	if got := signature(t, p, cores("other", "", "1"), nodes); got == first {
		t.Error("another class has the same")
	}
	again := signature(t, p, cores("third", "", "3"), nodes)
	if again == first {
		t.Error("a number was given again")
	}
	ok(t, p.cluster.Upsert([]byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"default"},"spec":{"selector":{"app":"none"}}}`)))
	if got := signature(t, p, cores("fourth", "", "3"), nodes); got == again {
		t.Error("the signature outlived a change")
	}
	apart := cores("apart", "", "1")
	apart.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: "topology.kubernetes.io/zone", LabelSelector: &metav1.LabelSelector{MatchLabels: apart.Labels}}}}}
	if got := signature(t, p, apart, nodes); got != 0 {
		t.Error("a pod that changes other nodes is signed")
	}
}

func TestARankingThatIsCutOffIsOfNoUseToTheNextPod(t *testing.T) {
	p, nodes := bare(t)
	for _, behind := range []int64{100, 101} {
		before := signature(t, p, cores("before", "", "3"), nodes)
		scores := fwk.NodeScoreList{{Name: "a", Score: 700}, {Name: "b", Score: 700 - behind}}
		if status := p.NormalizeScore(t.Context(), nil, nil, scores); !status.IsSuccess() || scores[1].Score != 0 {
			t.Fatal(status, scores)
		}
		if after := signature(t, p, cores("after", "", "3"), nodes); (after == before) != (behind == 100) {
			t.Errorf("%d behind: %d and %d", behind, before, after)
		}
	}
}

// hinted is what becomes of runs of equal pods that fill nodes, and how many of them took the next node of a ranking.
func hinted(t *testing.T, seed uint64, withBerth bool) ([]string, int) {
	draw := rand.New(rand.NewPCG(seed, 10))
	var objects []runtime.Object
	nodes := 5 + draw.IntN(4)
	for i := range nodes {
		n := node(i, draw)
		n.Spec.Taints = nil
		n.Status.Allocatable["cpu"] = *resource.NewQuantity(int64(3+draw.IntN(2)), resource.DecimalSI)
		objects = append(objects, n)
		if draw.IntN(2) == 0 {
			p := pod(i, n.Name, draw)
			p.Spec.Containers[0].Resources.Requests["memory"] = resource.MustParse(fmt.Sprintf("%dMi", 200+draw.IntN(3000)))
			objects = append(objects, p)
		}
	}
	used := func() int {
		count, err := testutil.GetCounterMetricValue(metrics.BatchAttemptStats.WithLabelValues("default-scheduler", metrics.BatchAttemptHintUsed))
		ok(t, err)
		return int(count)
	}
	r, stop := start(t, withBerth, objects)
	defer stop()
	before := used()
	var lines []string
	for i := 0; i < 9; {
		cpu, labels := fmt.Sprint(1+draw.IntN(3)), draw.IntN(3)
		for range 1 + draw.IntN(4) {
			p := cores(fmt.Sprintf("q%02d", i), "", cpu)
			p.Labels["app"] = []string{"x", "y", "z"}[labels]
			text, _ := r.schedule(p)
			lines = append(lines, p.Name+": "+text)
			i++
		}
	}
	return lines, used() - before
}

// Upstream signs no pod by its default configuration, so that each of its pods is judged on all nodes.
func TestHintsByBerthsSignaturesGiveUpstreamsPlacements(t *testing.T) {
	taken := 0
	for i := range *clusters {
		seed := *seed + uint64(i)
		want, none := hinted(t, seed, false)
		got, hints := hinted(t, seed, true)
		taken += hints
		if !slices.Equal(got, want) {
			t.Errorf("cluster %d: %q, upstream %q", seed, got, want)
		}
		if none != 0 {
			t.Errorf("cluster %d: upstream took %d hints", seed, none)
		}
	}
	t.Logf("%d clusters, %d hints", *clusters, taken)
	if (taken == 0) != (release == "1.36") {
		t.Errorf("%d hints", taken)
	}
}
