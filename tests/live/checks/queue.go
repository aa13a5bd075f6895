// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"time"
)

const gated = "Scheduling is blocked due to non-empty scheduling gates"

var queueChecks = []Check{
	{"L-050", "A gated pod is not tried: its condition says SchedulingGated, no event is written; without gates it is bound", func(t *T) {
		t.shared()
		t.nodes("a")
		t.pod("p", "schedulingGates: [{name: live.berth.dev/wait}]")
		t.unbound("p", time.Second)
		if c := condition(t.get("p")); c.Reason != "SchedulingGated" || c.Message != gated {
			t.fail("condition %v", c)
		}
		if events := t.events("p"); len(events) != 0 {
			t.fail("events %v", events)
		}
		t.patchPod("p", `spec: {schedulingGates: [{name: live.berth.dev/wait, $patch: delete}]}`)
		t.boundTo("p", "a")
	}},
	{"L-051", "Of two gates the last one to go opens the pod", func(t *T) {
		t.shared()
		t.nodes("a")
		t.pod("p", "schedulingGates: [{name: live.berth.dev/one}, {name: live.berth.dev/two}]")
		t.patchPod("p", `spec: {schedulingGates: [{name: live.berth.dev/one, $patch: delete}]}`)
		t.unbound("p", 500*time.Millisecond)
		t.patchPod("p", `spec: {schedulingGates: [{name: live.berth.dev/two, $patch: delete}]}`)
		t.boundTo("p", "a")
	}},
	{"L-052", "A gated pod whose selector was narrowed follows the new selector", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		t.pod("p", "schedulingGates: [{name: live.berth.dev/wait}]")
		t.patchPod("p", `spec: {nodeSelector: {kubernetes.io/hostname: b}}`)
		t.patchPod("p", `spec: {schedulingGates: [{name: live.berth.dev/wait, $patch: delete}]}`)
		t.boundTo("p", "b")
	}},
	{"L-053", "Of waiting pods the one with the highest priority gets the room", func(t *T) {
		t.shared()
		t.priority("high", 1000, false)
		t.priority("middle", 500, false)
		t.nodes("a")
		t.pod("blocker", requests("cpu: 4"))
		t.boundTo("blocker", "a")
		t.pod("low", requests("cpu: 4"))
		t.pod("mid", "priorityClassName: middle, "+requests("cpu: 4"))
		t.pod("top", "priorityClassName: high, "+requests("cpu: 4"))
		for _, name := range []string{"low", "mid", "top"} {
			t.eventually(bindLimit, func() string {
				return orWait(condition(t.get(name)).Reason == "Unschedulable", name+" was not refused")
			})
		}
		t.deletePod("blocker")
		t.boundTo("top", "a")
		t.deletePod("top")
		t.boundTo("mid", "a")
		t.unbound("low", 300*time.Millisecond)
	}},
	{"L-054", "A toleration that is added to a pending pod makes it schedulable", func(t *T) {
		t.shared()
		t.node("a", "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}")
		t.pod("p", "")
		t.refused("p", "0/1 nodes are available: 1 node(s) had untolerated taint(s)."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
		t.patchPod("p", `spec: {tolerations: [{key: k, operator: Exists}]}`)
		t.boundTo("p", "a")
	}},
	{"L-055", "A label that is added to a running pod makes the affinity of a waiting one hold", func(t *T) {
		t.shared()
		t.nodes("a")
		t.pod("db", "")
		t.boundTo("db", "a")
		t.pod("p", podAffinity("podAffinity", "db", "kubernetes.io/hostname"))
		t.refused("p", "0/1 nodes are available: 1 node(s) didn't match pod affinity rules."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
		t.patchPod("db", `metadata: {labels: {app: db}}`)
		t.boundTo("p", "a")
	}},
	{"L-056", "A pending pod that is deleted is gone at once, and its name can be used again", func(t *T) {
		t.shared()
		t.nodes("a")
		t.pod("p", "nodeSelector: {no: where}")
		t.refused("p", "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
		t.deletePod("p")
		t.gone("p")
		t.pod("p", "")
		t.boundTo("p", "a")
	}},
	{"L-057", "The second profile binds its pods, and events name it", func(t *T) {
		t.shared()
		t.nodes("a")
		pod := t.pod("p", "schedulerName: second-scheduler")
		t.boundTo("p", "a")
		t.event(pod, "Scheduled", "Successfully assigned "+t.Namespace+"/p to a")
		t.pod("q", "schedulerName: second-scheduler, nodeSelector: {no: where}")
		t.refused("q", "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
	}},
	{"L-058", "A pod of another scheduler's name is left alone", func(t *T) {
		t.shared()
		t.nodes("a")
		t.pod("p", "schedulerName: somebody-else")
		t.pod("q", "")
		t.boundTo("q", "a")
		t.unbound("p", 500*time.Millisecond)
		if c := condition(t.get("p")); c.Status != "" {
			t.fail("condition %v", c)
		}
	}},
	{"L-059", "A terminating pod holds its room until it is gone", func(t *T) {
		t.shared()
		t.StandIn.Hold(true)
		t.nodes("a")
		t.pod("p", "terminationGracePeriodSeconds: 1, "+requests("cpu: 4"))
		t.boundTo("p", "a")
		t.deletePod("p")
		t.pod("q", requests("cpu: 4"))
		t.refused("q", "0/1 nodes are available: 1 Insufficient cpu."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		t.must(t.StandIn.Release(t.Context))
		t.boundTo("q", "a")
	}},
	{"L-05A", "A pod that is refused again for another reason gets the new text in condition and event", func(t *T) {
		t.shared()
		t.nodes("a")
		t.pod("p", "nodeSelector: {disk: ssd}, "+requests("cpu: 4"))
		t.refused("p", "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
		t.pod("blocker", requests("cpu: 1"))
		t.boundTo("blocker", "a")
		t.patchNode("a", "metadata: {labels: {disk: ssd}}")
		t.refused("p", "0/1 nodes are available: 1 Insufficient cpu."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		t.deletePod("blocker")
		t.boundTo("p", "a")
	}},
	{"L-05B", "Sixty pods of three priorities on one node are bound in the order of priority", func(t *T) {
		t.shared()
		t.priority("p1", 1, false)
		t.priority("p2", 2, false)
		for i := range 60 {
			class := []string{"", "priorityClassName: p1, ", "priorityClassName: p2, "}[i%3]
			t.pod(fmt.Sprint("p", i), "schedulingGates: [{name: live.berth.dev/wait}], "+class+requests("cpu: 200m"))
		}
		t.nodes("a") // room for twenty
		for i := range 60 {
			t.patchPod(fmt.Sprint("p", i), `spec: {schedulingGates: [{name: live.berth.dev/wait, $patch: delete}]}`)
		}
		t.eventually(bindLimit, func() string {
			bound := 0
			for i := range 60 {
				if t.get(fmt.Sprint("p", i)).Spec.NodeName != "" {
					bound++
				}
			}
			return orWait(bound == 20, fmt.Sprint(bound, " pods are bound"))
		})
	}},
	{"L-05C", "A pod with a resource claim is not bound; Berth says once that it has no DynamicResources, and counts it until it is gone", func(t *T) {
		scheduler := t.shared()
		t.nodes("a")
		t.pod("p", "resourceClaims: [{name: gpu, resourceClaimName: absent}]")
		if t.Kind == "kube" {
			t.unbound("p", time.Second)
			return
		}
		t.refusedFor("p", "SchedulerError", `plugin "DynamicResources" is not supported yet: the pod uses the resource claim "gpu"`)
		t.nodes("b")
		t.pod("q", "")
		t.bound("q")
		t.unbound("p", 4*time.Second) // longer than two backoffs
		if events := t.events("p"); len(events) != 1 || events[0].Series != nil {
			t.fail("events %v", events)
		}
		if held := t.metric(scheduler, "berth_unsupported_pods"); held != 1 {
			t.fail("berth_unsupported_pods is %v", held)
		}
		t.deletePod("p")
		t.eventually(bindLimit, func() string {
			return orWait(t.metric(scheduler, "berth_unsupported_pods") == 0, "the pod is still counted")
		})
	}},
}

// orWait is empty when it holds, for eventually.
func orWait(holds bool, otherwise string) string {
	if holds {
		return ""
	}
	return otherwise
}
