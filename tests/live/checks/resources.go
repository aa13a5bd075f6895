// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
)

var resourceChecks = []Check{
	{"L-020", "Pods fill a node's cores to the last, and the next one waits (e2e: resource limits of pods)", func(t *T) {
		t.shared()
		t.nodes("a")
		for i := range 4 {
			t.pod(fmt.Sprint("p", i), requests("cpu: 1"))
			t.boundTo(fmt.Sprint("p", i), "a")
		}
		t.pod("next", requests("cpu: 1m"))
		t.refused("next", "0/1 nodes are available: 1 Insufficient cpu."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		t.deletePod("p2")
		t.boundTo("next", "a")
	}},
	{"L-021", "A node's number of pods is a limit", func(t *T) {
		t.shared()
		t.node("a", `status: {allocatable: {pods: "2"}}`)
		t.pod("p", "")
		t.pod("q", "")
		t.boundTo("p", "a")
		t.boundTo("q", "a")
		t.pod("r", "")
		t.refused("r", "0/1 nodes are available: 1 Too many pods."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		t.deletePod("p")
		t.boundTo("r", "a")
	}},
	{"L-022", "Ephemeral storage and extended resources are counted (e2e: local ephemeral storage)", func(t *T) {
		t.shared()
		t.node("a", `status: {allocatable: {ephemeral-storage: 10Gi, "example.com/gpu": "2"}}`)
		t.pod("p", requests(`ephemeral-storage: 8Gi`))
		t.boundTo("p", "a")
		t.pod("q", requests(`ephemeral-storage: 3Gi`))
		t.refused("q", "0/1 nodes are available: 1 Insufficient ephemeral-storage."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		gpu := `containers: [{name: c, image: pause, resources: {limits: {"example.com/gpu": 2}}}]`
		t.pod("g", gpu)
		t.boundTo("g", "a")
		t.pod("h", gpu)
		t.refused("h", "0/1 nodes are available: 1 Insufficient example.com/gpu."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
	}},
	{"L-023", "Init containers, side cars and overhead count as kube-scheduler counts them", func(t *T) {
		t.shared()
		t.nodes("a")
		t.pod("init", `initContainers: [{name: i, image: pause, resources: {requests: {cpu: 3}}}], `+requests("cpu: 1"))
		t.boundTo("init", "a")
		t.pod("sidecar", `initContainers: [{name: i, image: pause, restartPolicy: Always, resources: {requests: {cpu: 500m}}}], `+requests("cpu: 1"))
		t.refused("sidecar", "0/1 nodes are available: 1 Insufficient cpu."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		t.pod("rest", requests("cpu: 1"))
		t.boundTo("rest", "a")
	}},
	{"L-024", "Pods without requests go to the node with the most left", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		t.pod("full", "nodeSelector: {kubernetes.io/hostname: a}, "+requests("cpu: 3, memory: 6Gi"))
		t.boundTo("full", "a")
		for i := range 3 {
			t.pod(fmt.Sprint("p", i), requests("cpu: 100m, memory: 100Mi"))
			t.boundTo(fmt.Sprint("p", i), "b")
		}
	}},
	{"L-025", "Host ports: the same port, protocol and address conflict on one node (e2e: hostPort conflict)", func(t *T) {
		t.shared()
		t.nodes("a")
		port := func(ip, protocol string) string {
			return `containers: [{name: c, image: pause, ports: [{containerPort: 80, hostPort: 54321, hostIP: "` + ip + `", protocol: ` + protocol + `}]}]`
		}
		t.pod("first", port("127.0.0.1", "TCP"))
		t.boundTo("first", "a")
		t.pod("address", port("127.0.0.2", "TCP"))
		t.boundTo("address", "a")
		t.pod("protocol", port("127.0.0.1", "UDP"))
		t.boundTo("protocol", "a")
		t.pod("wildcard", port("0.0.0.0", "TCP"))
		t.refused("wildcard", "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		t.deletePod("first")
		t.deletePod("address")
		t.boundTo("wildcard", "a")
	}},
	{"L-026", "A finished pod gives its room back", func(t *T) {
		t.shared()
		t.nodes("a")
		t.pod("p", "restartPolicy: Never, "+requests("cpu: 4"))
		t.boundTo("p", "a")
		t.pod("q", requests("cpu: 4"))
		t.refused("q", "0/1 nodes are available: 1 Insufficient cpu."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		t.patchStatus("p", `{"status":{"phase":"Succeeded"}}`)
		t.boundTo("q", "a")
	}},
	{"L-027", "Pod-level resources count instead of the containers'", func(t *T) {
		t.shared()
		t.nodes("a")
		t.pod("p", "resources: {requests: {cpu: 3}}, "+requests("cpu: 1"))
		t.boundTo("p", "a")
		t.pod("q", requests("cpu: 2"))
		t.refused("q", "0/1 nodes are available: 1 Insufficient cpu."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
	}},
	{"L-028", "Forty pods fill ten nodes exactly, none twice and none over", func(t *T) {
		t.shared()
		for i := range 10 {
			t.nodes(fmt.Sprint("n", i))
		}
		for i := range 40 {
			t.pod(fmt.Sprint("p", i), requests("cpu: 1, memory: 2Gi"))
		}
		count := map[string]int{}
		for i := range 40 {
			count[t.bound(fmt.Sprint("p", i))]++
		}
		for node, pods := range count {
			if pods != 4 {
				t.fail("node %s has %d pods", node, pods)
			}
		}
	}},
}
