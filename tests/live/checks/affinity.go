// SPDX-License-Identifier: Apache-2.0

package checks

func nodeAffinity(term string) string {
	return `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [` + term + `]}}}`
}

func podAffinity(kind, app, key string) string {
	return `affinity: {` + kind + `: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: ` +
		app + `}}, topologyKey: ` + key + `}]}}`
}

var affinityChecks = []Check{
	{"L-030", "Required node affinity: In, NotIn, Exists, Gt (e2e: NodeAffinity is respected)", func(t *T) {
		t.shared()
		t.node("a", "metadata: {labels: {disk: ssd, size: '8'}}")
		t.node("b", "metadata: {labels: {disk: hdd, size: '4'}}")
		t.pod("in", nodeAffinity("{matchExpressions: [{key: disk, operator: In, values: [hdd]}]}"))
		t.pod("not-in", nodeAffinity("{matchExpressions: [{key: disk, operator: NotIn, values: [hdd]}]}"))
		t.pod("more", nodeAffinity("{matchExpressions: [{key: size, operator: Gt, values: ['5']}]}"))
		t.pod("field", nodeAffinity("{matchFields: [{key: metadata.name, operator: In, values: [b]}]}"))
		t.pod("never", nodeAffinity("{matchExpressions: [{key: disk, operator: DoesNotExist}]}"))
		t.boundTo("in", "b")
		t.boundTo("not-in", "a")
		t.boundTo("more", "a")
		t.boundTo("field", "b")
		t.refused("never", "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."+noVictims("2 nodes are available: 2 Preemption is not helpful for scheduling."))
	}},
	{"L-031", "Preferred node affinity decides between nodes that fit", func(t *T) {
		t.shared()
		t.node("a", "metadata: {labels: {disk: ssd}}")
		t.nodes("b", "c")
		t.pod("p", `affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: disk, operator: Exists}]}}]}}`)
		t.boundTo("p", "a")
	}},
	{"L-032", "Inter-pod affinity brings a pod to its partner, and waits for one", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		t.pod("p", podAffinity("podAffinity", "db", "kubernetes.io/hostname"))
		t.refused("p", "0/2 nodes are available: 2 node(s) didn't match pod affinity rules."+noVictims("2 nodes are available: 2 Preemption is not helpful for scheduling."))
		t.pod("db", "nodeSelector: {kubernetes.io/hostname: b}", "app=db")
		t.boundTo("db", "b")
		t.boundTo("p", "b")
	}},
	{"L-033", "The first pod of a group that wants its own kind is bound", func(t *T) {
		t.shared()
		t.node("a", "metadata: {labels: {zone: x}}")
		t.node("b", "metadata: {labels: {zone: x}}")
		t.pod("p", podAffinity("podAffinity", "web", "zone"), "app=web")
		t.bound("p")
		t.pod("q", podAffinity("podAffinity", "web", "zone"), "app=web")
		t.bound("q")
	}},
	{"L-034", "Inter-pod anti-affinity keeps pods apart, one on each node", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		apart := podAffinity("podAntiAffinity", "web", "kubernetes.io/hostname")
		t.pod("p", apart, "app=web")
		t.pod("q", apart, "app=web")
		if t.bound("p") == t.bound("q") {
			t.fail("both are on one node")
		}
		t.pod("r", apart, "app=web")
		t.refused("r", "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."+noVictims("2 nodes are available: 2 No preemption victims found for incoming pod."))
		t.deletePod("p")
		t.bound("r")
	}},
	{"L-035", "The anti-affinity of a pod that is there holds against a newcomer", func(t *T) {
		t.shared()
		t.nodes("a")
		t.pod("p", podAffinity("podAntiAffinity", "web", "kubernetes.io/hostname"))
		t.boundTo("p", "a")
		t.pod("q", "", "app=web")
		t.refused("q", "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
	}},
	{"L-036", "Preferred inter-pod affinity decides between nodes that fit", func(t *T) {
		t.shared()
		t.nodes("a", "b", "c")
		t.pod("db", "nodeSelector: {kubernetes.io/hostname: c}", "app=db")
		t.boundTo("db", "c")
		t.pod("p", `affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {labelSelector: {matchLabels: {app: db}}, topologyKey: kubernetes.io/hostname}}]}}`)
		t.boundTo("p", "c")
	}},
	{"L-037", "A namespace selector of an affinity term reaches the pods of other namespaces", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		other := t.second("team: live")
		other.pod("db", "nodeSelector: {kubernetes.io/hostname: b}", "app=db")
		other.boundTo("db", "b")
		t.pod("p", `affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: db}}, namespaceSelector: {matchLabels: {team: live}}, topologyKey: kubernetes.io/hostname}]}}`)
		t.boundTo("p", "b")
	}},
	{"L-038", "addedAffinity of a profile is added to every pod's", func(t *T) {
		t.node("a", "metadata: {labels: {pool: x}}")
		t.nodes("b")
		t.own(affinityProfile)
		t.pod("p", "nodeSelector: {kubernetes.io/hostname: b}")
		t.refused("p", "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match scheduler-enforced node affinity."+
			noVictims("2 nodes are available: 2 Preemption is not helpful for scheduling."))
		t.pod("q", "")
		t.boundTo("q", "a")
	}},
}
