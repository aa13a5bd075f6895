// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"math/rand/v2"
	"testing"

	berth "berth.dev/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// bare is the plugin without informers, over nodes a and b of four cores each.
func bare(t *testing.T) (*Plugin, []fwk.NodeInfo) {
	t.Helper()
	engine, err := berth.NewEngine(nil)
	ok(t, err)
	defer engine.Close()
	cluster, err := engine.NewCluster()
	ok(t, err)
	p := &Plugin{cluster: cluster, numbers: map[string]berth.NodeID{}, pods: map[types.UID]*knownPod{}}
	p.told.nodes = map[string]*told{}
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
	if _, status := p.SignPod(t.Context(), asked); status.Code() != fwk.Unschedulable {
		t.Errorf("a pod was signed: %v", status)
	}
}
