// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// noVictims is what the plugins after the filters add when preemption helps on none of the nodes.
func noVictims(text string) string {
	return " no new claims to deallocate, preemption: 0/" + text
}

var nodeChecks = []Check{
	{"L-001", "A pod is bound to the one node, with condition, event and node in kube-scheduler's words", func(t *T) {
		t.shared()
		t.nodes("a")
		pod := t.pod("p", "")
		t.boundTo("p", "a")
		t.event(pod, "Scheduled", "Successfully assigned "+t.Namespace+"/p to a")
		if c := condition(t.get("p")); c.Status != "True" || c.Reason != "" || c.Message != "" {
			t.fail("condition %v", c)
		}
	}},
	{"L-002", "Without nodes a pod waits with the text of no nodes, and a new node makes it schedulable", func(t *T) {
		t.shared()
		t.pod("p", "")
		t.refused("p", "no nodes available to schedule pods")
		t.nodes("a")
		t.boundTo("p", "a")
	}},
	{"L-003", "An unschedulable node refuses pods; uncordoned, it takes them", func(t *T) {
		t.shared()
		t.node("a", "spec: {unschedulable: true}")
		t.pod("p", "")
		t.refused("p", "0/1 nodes are available: 1 node(s) were unschedulable."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
		t.patchNode("a", "spec: {unschedulable: null}")
		t.boundTo("p", "a")
	}},
	{"L-004", "A pod that tolerates the unschedulable taint is bound to a cordoned node", func(t *T) {
		t.shared()
		t.node("a", "spec: {unschedulable: true}")
		t.pod("p", "tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists, effect: NoSchedule}]")
		t.boundTo("p", "a")
	}},
	{"L-005", "A NoSchedule taint keeps pods away until it is removed", func(t *T) {
		t.shared()
		t.node("a", "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}")
		t.pod("p", "")
		t.refused("p", "0/1 nodes are available: 1 node(s) had untolerated taint(s)."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
		t.patchNode("a", "spec: {taints: null}")
		t.boundTo("p", "a")
	}},
	{"L-006", "Tolerations by equality and by existence open tainted nodes", func(t *T) {
		t.shared()
		t.node("a", "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}")
		t.pod("equal", "tolerations: [{key: k, operator: Equal, value: v, effect: NoSchedule}]")
		t.pod("exists", "tolerations: [{key: k, operator: Exists}]")
		t.pod("other", "tolerations: [{key: k, operator: Equal, value: w, effect: NoSchedule}]")
		t.boundTo("equal", "a")
		t.boundTo("exists", "a")
		t.refused("other", "0/1 nodes are available: 1 node(s) had untolerated taint(s)."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
	}},
	{"L-007", "A PreferNoSchedule taint only makes the other node better", func(t *T) {
		t.shared()
		t.node("a", "spec: {taints: [{key: k, value: v, effect: PreferNoSchedule}]}")
		t.nodes("b")
		t.pod("p", "")
		t.boundTo("p", "b")
		t.pod("only-a", "nodeSelector: {kubernetes.io/hostname: a}")
		t.boundTo("only-a", "a")
	}},
	{"L-008", "A node that becomes tainted takes no more pods and keeps those it has", func(t *T) {
		t.shared()
		t.nodes("a")
		t.pod("first", "")
		t.boundTo("first", "a")
		t.patchNode("a", "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}")
		t.pod("second", "")
		t.refused("second", "0/1 nodes are available: 1 node(s) had untolerated taint(s)."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
		t.boundTo("first", "a")
	}},
	{"L-009", "A node selector that no node meets, and the node that is labelled afterwards", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		t.pod("p", "nodeSelector: {disk: ssd}")
		t.refused("p", "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."+noVictims("2 nodes are available: 2 Preemption is not helpful for scheduling."))
		t.patchNode("b", "metadata: {labels: {disk: ssd}}")
		t.boundTo("p", "b")
	}},
	{"L-010", "Texts of several reasons are counted and sorted", func(t *T) {
		t.shared()
		t.node("a", "spec: {unschedulable: true}")
		t.node("b", "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}")
		t.node("c", `status: {allocatable: {cpu: 100m, memory: 1Mi}}`)
		t.node("d", `status: {allocatable: {pods: "0"}}`)
		t.pod("p", requests("cpu: 1, memory: 1Gi"))
		t.refused("p", "0/4 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable."+
			noVictims("4 nodes are available: 1 No preemption victims found for incoming pod, 3 Preemption is not helpful for scheduling."))
	}},
	{"L-011", "A deleted node takes no pods, and a pod waits for it to come back", func(t *T) {
		t.shared()
		t.nodes("a")
		t.must(t.Client.CoreV1().Nodes().Delete(t.Context, "a", meta.DeleteOptions{}))
		time.Sleep(200 * time.Millisecond)
		t.pod("p", "")
		t.refused("p", "no nodes available to schedule pods")
		t.nodes("a")
		t.boundTo("p", "a")
	}},
	{"L-012", "A node that reports NotReady is tainted by its controller and takes no pods until it is Ready", func(t *T) {
		t.shared()
		t.nodes("a")
		t.must(t.StandIn.Condition(t.Context, "a", "False"))
		t.eventually(20*time.Second, func() string {
			node, err := t.Client.CoreV1().Nodes().Get(t.Context, "a", meta.GetOptions{})
			t.must(err)
			if len(node.Spec.Taints) == 0 {
				return "node a has no taint"
			}
			return ""
		})
		t.changed = true
		t.pod("p", "")
		t.refused("p", "0/1 nodes are available: 1 node(s) had untolerated taint(s)."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
		t.must(t.StandIn.Condition(t.Context, "a", "True"))
		t.boundTo("p", "a")
	}},
	{"L-013", "A node's image makes it the better one", func(t *T) {
		t.shared()
		t.node("a", `status: {images: [{names: ["big:1"], sizeBytes: 900000000}]}`)
		t.nodes("b", "c")
		for _, name := range []string{"p", "q"} {
			t.pod(name, "containers: [{name: c, image: 'big:1'}]")
			t.boundTo(name, "a")
		}
	}},
	{"L-014", "A pod that names its node is not touched by the scheduler", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		t.pod("p", "nodeName: b")
		t.eventually(bindLimit, func() string {
			if phase := t.get("p").Status.Phase; phase != "Running" {
				return "phase " + string(phase)
			}
			return ""
		})
		if events := t.events("p"); len(events) != 0 {
			t.fail("events %v", events)
		}
	}},
	{"L-015", "A node with more allocatable makes a waiting pod schedulable", func(t *T) {
		t.shared()
		t.node("a", `status: {allocatable: {cpu: "1"}}`)
		t.pod("p", requests("cpu: 2"))
		t.refused("p", "0/1 nodes are available: 1 Insufficient cpu."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
		_, err := t.Client.CoreV1().Nodes().Patch(t.Context, "a", types.StrategicMergePatchType,
			[]byte(`{"status":{"allocatable":{"cpu":"3"},"capacity":{"cpu":"3"}}}`), meta.PatchOptions{}, "status")
		t.must(err)
		t.boundTo("p", "a")
	}},
}
