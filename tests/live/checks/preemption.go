// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// evicted waits until the pod is being deleted or gone.
func (t *T) evicted(name string) {
	t.eventually(bindLimit, func() string {
		pod, err := t.Client.CoreV1().Pods(t.Namespace).Get(t.Context, name, meta.GetOptions{})
		if errors.IsNotFound(err) || (err == nil && pod.DeletionTimestamp != nil) {
			return ""
		}
		return fmt.Sprintf("pod %s is not evicted (%v)", name, err)
	})
}

// filler is a pod that runs on a node, with a grace period of a second.
func (t *T) filler(name, node, class, cpu string, labels ...string) *core.Pod {
	if class != "" {
		class = "priorityClassName: " + class + ", "
	}
	pod := t.pod(name, "terminationGracePeriodSeconds: 1, nodeSelector: {kubernetes.io/hostname: "+node+"}, "+class+requests("cpu: "+cpu), labels...)
	t.boundTo(name, node)
	t.eventually(bindLimit, func() string {
		return orWait(t.get(name).Status.Phase == core.PodRunning, "pod "+name+" does not run")
	})
	return pod
}

func (t *T) stays(names ...string) {
	for _, name := range names {
		if t.get(name).DeletionTimestamp != nil {
			t.fail("pod %s was evicted", name)
		}
	}
}

func (t *T) nominated(name, node string) {
	t.eventually(bindLimit, func() string {
		at := t.get(name).Status.NominatedNodeName
		return orWait(at == node, fmt.Sprintf("pod %s is nominated to %q, not %q", name, at, node))
	})
}

var preemptionChecks = []Check{
	{"L-060", "A pod of high priority evicts: event Preempted, condition DisruptionTarget, nomination, then the binding (e2e: basic preemption)", func(t *T) {
		t.shared()
		t.priority("high", 1000, true)
		t.nodes("a")
		t.StandIn.Hold(true)
		victim := t.filler("victim", "a", "", "4")
		pod := t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.evicted("victim")
		t.nominated("p", "a")
		t.refusedFor("p", "Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")
		found := false
		for _, c := range t.get("victim").Status.Conditions {
			if c.Type == core.DisruptionTarget {
				found = c.Status == "True" && c.Reason == "PreemptionByScheduler" && c.Message == "default-scheduler: preempting to accommodate a higher priority pod"
			}
		}
		if !found {
			t.fail("conditions of the victim %v", t.get("victim").Status.Conditions)
		}
		t.event(victim, "Preempted", fmt.Sprintf("Preempted by pod %s on node a", pod.UID))
		t.must(t.StandIn.Release(t.Context))
		t.boundTo("p", "a")
	}},
	{"L-061", "preemptionPolicy Never evicts nobody and says so (e2e: non-preempting priority)", func(t *T) {
		t.shared()
		t.priority("polite", 1000, false)
		t.nodes("a")
		t.filler("filler", "a", "", "4")
		t.pod("p", "priorityClassName: polite, "+requests("cpu: 4"))
		t.refused("p", "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.")
		t.stays("filler")
	}},
	{"L-062", "Pods of the same priority are not evicted", func(t *T) {
		t.shared()
		t.priority("high", 1000, true)
		t.nodes("a")
		t.filler("filler", "a", "high", "4")
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.refused("p", "0/1 nodes are available: 1 Insufficient cpu."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		t.stays("filler")
	}},
	{"L-063", "Of two nodes the one without a violated budget is chosen", func(t *T) {
		t.shared()
		t.priority("high", 1000, true)
		t.nodes("a", "b")
		t.filler("guarded", "a", "", "4", "app=guarded")
		t.filler("free", "b", "", "4", "app=free")
		t.budget("budget", "guarded", 1, 0)
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.boundTo("p", "b")
		t.stays("guarded")
	}},
	{"L-064", "Without another way a budget is violated", func(t *T) {
		t.shared()
		t.priority("high", 1000, true)
		t.nodes("a")
		t.filler("guarded", "a", "", "4", "app=guarded")
		t.budget("budget", "guarded", 1, 0)
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.evicted("guarded")
		t.boundTo("p", "a")
	}},
	{"L-065", "The node whose highest victim is lowest is chosen", func(t *T) {
		t.shared()
		t.priority("low", 10, true)
		t.priority("middle", 100, true)
		t.priority("high", 1000, true)
		t.nodes("a", "b")
		t.filler("mid", "a", "middle", "4")
		t.filler("low", "b", "low", "4")
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.boundTo("p", "b")
		t.stays("mid")
	}},
	{"L-066", "Only as many pods are evicted as are needed, the more important are spared", func(t *T) {
		t.shared()
		t.priority("low", 10, true)
		t.priority("middle", 100, true)
		t.priority("high", 1000, true)
		t.nodes("a")
		t.filler("mid", "a", "middle", "2")
		t.filler("low", "a", "low", "2")
		t.pod("p", "priorityClassName: high, "+requests("cpu: 2"))
		t.evicted("low")
		t.boundTo("p", "a")
		t.stays("mid")
	}},
	{"L-067", "The room of a nominated pod is not given to a pod of lower priority while victims end", func(t *T) {
		t.shared()
		t.priority("middle", 100, true)
		t.priority("high", 1000, true)
		t.nodes("a")
		t.StandIn.Hold(true)
		t.filler("victim", "a", "", "4")
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.nominated("p", "a")
		t.pod("later", "priorityClassName: middle, "+requests("cpu: 4"))
		t.unbound("later", time.Second)
		t.must(t.StandIn.Release(t.Context))
		t.boundTo("p", "a")
		t.unbound("later", 300*time.Millisecond)
		t.refused("later", "0/1 nodes are available: 1 Insufficient cpu."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
	}},
	{"L-068", "Preemption removes a pod whose anti-affinity is in the way", func(t *T) {
		t.shared()
		t.priority("high", 1000, true)
		t.nodes("a")
		t.pod("victim", podAffinity("podAntiAffinity", "web", "kubernetes.io/hostname"))
		t.boundTo("victim", "a")
		t.pod("p", "priorityClassName: high", "app=web")
		t.nominated("p", "a")
		t.evicted("victim")
	}},
	{"L-069", "A victim with a finalizer is waited for", func(t *T) {
		t.shared()
		t.priority("high", 1000, true)
		t.nodes("a")
		t.podAs("victim", "finalizers: [live.berth.dev/stay]", requests("cpu: 4"))
		t.boundTo("victim", "a")
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.evicted("victim")
		t.unbound("p", time.Second)
		t.patchPod("victim", `metadata: {finalizers: null}`)
		t.boundTo("p", "a")
	}},
	{"L-06A", "Victims on several nodes: each of five pods evicts one and is bound (e2e: lower priority pods)", func(t *T) {
		t.shared()
		t.priority("high", 1000, true)
		for i := range 5 {
			t.nodes(fmt.Sprint("n", i))
		}
		for i := range 5 {
			t.filler(fmt.Sprint("v", i), fmt.Sprint("n", i), "", "4")
		}
		for i := range 5 {
			t.pod(fmt.Sprint("p", i), "priorityClassName: high, "+requests("cpu: 3"))
		}
		nodes := map[string]bool{}
		for i := range 5 {
			nodes[t.boundWithin(fmt.Sprint("p", i), 30*time.Second)] = true
		}
		if len(nodes) != 5 {
			t.fail("on nodes %v", nodes)
		}
	}},
	{"L-06B", "A hard spread that cannot be kept evicts a pod of the crowded zone (e2e: PodTopologySpread preemption)", func(t *T) {
		t.shared()
		t.priority("high", 1000, true)
		t.node("a", "metadata: {labels: {zone: x}}")
		t.node("b", "{metadata: {labels: {zone: y}}}")
		t.filler("low-a", "a", "", "4", "app=web")
		t.filler("low-b", "b", "", "4", "app=web")
		t.pod("p", "priorityClassName: high, "+spread("DoNotSchedule", "zone", "")+", "+requests("cpu: 4"), "app=web")
		t.bound("p")
	}},
	{"L-06C", "A pod that waits for its victims and is deleted gives its nomination back", func(t *T) {
		t.shared()
		t.priority("high", 1000, true)
		t.nodes("a")
		t.StandIn.Hold(true)
		t.filler("victim", "a", "", "4")
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.nominated("p", "a")
		t.deletePod("p")
		t.gone("p")
		t.must(t.StandIn.Release(t.Context))
		t.pod("q", requests("cpu: 4"))
		t.boundTo("q", "a")
	}},
}
