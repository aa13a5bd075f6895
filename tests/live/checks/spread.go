// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"

	"berth.dev/tests/live/cluster"
)

var affinityProfile = cluster.SchedulerOptions{Plugins: `  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [x]}]}]`}

func spread(when, key, rest string) string {
	return `topologySpreadConstraints: [{maxSkew: 1, topologyKey: ` + key + `, whenUnsatisfiable: ` + when +
		`, labelSelector: {matchLabels: {app: web}}` + rest + `}]`
}

var spreadChecks = []Check{
	{"L-040", "Hard spread over zones keeps the skew at 1 (e2e: PodTopologySpread filtering)", func(t *T) {
		t.shared()
		t.node("a", "metadata: {labels: {zone: x}}")
		t.node("b", "metadata: {labels: {zone: y}}")
		count := map[string]int{}
		for i := range 4 {
			t.pod(fmt.Sprint("p", i), spread("DoNotSchedule", "zone", ""), "app=web")
			count[t.bound(fmt.Sprint("p", i))]++
		}
		if count["a"] != 2 || count["b"] != 2 {
			t.fail("spread is %v", count)
		}
	}},
	{"L-041", "A hard spread that cannot be kept leaves the pod waiting with its reason", func(t *T) {
		t.shared()
		t.node("a", "metadata: {labels: {zone: x}}")
		t.node("b", "{metadata: {labels: {zone: y}}, status: {allocatable: {cpu: 100m}}}")
		t.nodes("c")
		web := spread("DoNotSchedule", "zone", "") + ", " + requests("cpu: 200m")
		t.pod("p", web, "app=web")
		t.boundTo("p", "a")
		t.pod("q", web, "app=web")
		t.refused("q", "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints, 1 node(s) didn't match pod topology spread constraints (missing required label)."+
			noVictims("3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."))
		t.deletePod("p")
		t.boundTo("q", "a")
	}},
	{"L-042", "Soft spread prefers the emptier zone (e2e: PodTopologySpread scoring)", func(t *T) {
		t.shared()
		t.node("a", "metadata: {labels: {zone: x}}")
		t.node("b", "metadata: {labels: {zone: y}}")
		for i := range 3 {
			t.pod(fmt.Sprint("p", i), "nodeSelector: {zone: x}", "app=web")
			t.boundTo(fmt.Sprint("p", i), "a")
		}
		t.pod("q", spread("ScheduleAnyway", "zone", ""), "app=web")
		t.boundTo("q", "b")
	}},
	{"L-043", "minDomains counts a missing zone as empty", func(t *T) {
		t.shared()
		t.node("a", "metadata: {labels: {zone: x}}")
		t.pod("p", spread("DoNotSchedule", "zone", ", minDomains: 2"), "app=web")
		t.boundTo("p", "a")
		t.pod("q", spread("DoNotSchedule", "zone", ", minDomains: 2"), "app=web")
		t.refused("q", "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		t.node("b", "metadata: {labels: {zone: y}}")
		t.boundTo("q", "b")
	}},
	{"L-044", "nodeTaintsPolicy Honor leaves tainted nodes out of the count", func(t *T) {
		t.shared()
		t.node("a", "metadata: {labels: {zone: x}}")
		t.node("b", "{metadata: {labels: {zone: y}}, spec: {taints: [{key: k, effect: NoSchedule}]}}")
		for i := range 3 {
			t.pod(fmt.Sprint("p", i), spread("DoNotSchedule", "zone", ", nodeTaintsPolicy: Honor"), "app=web")
			t.boundTo(fmt.Sprint("p", i), "a")
		}
	}},
	{"L-045", "matchLabelKeys counts each revision for itself", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		keys := spread("DoNotSchedule", "kubernetes.io/hostname", ", matchLabelKeys: [revision]")
		for i := range 4 {
			t.pod(fmt.Sprint("p", i), keys, "app=web", fmt.Sprint("revision=", i/2))
		}
		for i := 0; i < 4; i += 2 {
			if t.bound(fmt.Sprint("p", i)) == t.bound(fmt.Sprint("p", i+1)) {
				t.fail("both pods of revision %d are on one node", i/2)
			}
		}
	}},
	{"L-046", "The default constraints spread the pods of a ReplicaSet", func(t *T) {
		t.shared()
		for i := range 3 {
			t.node(fmt.Sprint("n", i), fmt.Sprintf("metadata: {labels: {topology.kubernetes.io/zone: z%d}}", i))
		}
		t.deployment("web", 6, requests("cpu: 100m"))
		count := map[string]int{}
		for _, pod := range t.boundPods("app=web", 6) {
			count[pod.Spec.NodeName]++
		}
		for node, pods := range count {
			if pods != 2 {
				t.fail("node %s has %d of 6 pods", node, pods)
			}
		}
	}},
}
