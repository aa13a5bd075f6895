// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (t *T) class(name, provisioner, mode string) {
	class := storage.StorageClass{}
	t.read(`{metadata: {name: `+name+`}, provisioner: `+provisioner+`, volumeBindingMode: `+mode+`}`, &class)
	_, err := t.Client.StorageV1().StorageClasses().Create(t.Context, &class, meta.CreateOptions{})
	t.must(err)
}

// volume creates a CSI volume of 1 GiB in a storage class; the YAML is of more fields of its spec.
func (t *T) volume(name, class, more string, labels ...string) {
	volume := core.PersistentVolume{}
	t.read(`{spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: `+class+
		`, csi: {driver: live.berth.dev, volumeHandle: `+name+`}}}`, &volume)
	t.read(`{spec: {`+more+`}}`, &volume)
	volume.Name = name
	for i := 0; i+1 < len(labels); i += 2 {
		volume.Labels = map[string]string{labels[i]: labels[i+1]}
	}
	_, err := t.Client.CoreV1().PersistentVolumes().Create(t.Context, &volume, meta.CreateOptions{})
	t.must(err)
}

func (t *T) claim(name, class, more string) {
	claim := core.PersistentVolumeClaim{}
	t.read(`{spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: `+class+`}}`, &claim)
	t.read(`{spec: {`+more+`}}`, &claim)
	claim.Name = name
	_, err := t.Client.CoreV1().PersistentVolumeClaims(t.Namespace).Create(t.Context, &claim, meta.CreateOptions{})
	t.must(err)
	t.changed = true
}

func (t *T) claimBound(name string) string {
	volume := ""
	t.eventually(bindLimit, func() string {
		claim, err := t.Client.CoreV1().PersistentVolumeClaims(t.Namespace).Get(t.Context, name, meta.GetOptions{})
		t.must(err)
		volume = claim.Spec.VolumeName
		return orWait(claim.Status.Phase == core.ClaimBound, fmt.Sprintf("claim %s is %s", name, claim.Status.Phase))
	})
	t.changed = true
	return volume
}

func uses(claim string) string {
	return "volumes: [{name: v, persistentVolumeClaim: {claimName: " + claim + "}}]"
}

func onHost(node string) string {
	return "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [" + node + "]}]}]}}"
}

var volumeChecks = []Check{
	{"L-070", "A pod follows the node affinity of the volume that its claim is bound to", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		t.class("static", "kubernetes.io/no-provisioner", "Immediate")
		t.volume("v1", "static", onHost("b"))
		t.claim("data", "static", "")
		t.claimBound("data")
		t.pod("p", uses("data"))
		t.boundTo("p", "b")
		t.pod("q", "nodeSelector: {kubernetes.io/hostname: a}, "+uses("data"))
		t.refused("q", "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) didn't match Pod's node affinity/selector."+
			noVictims("2 nodes are available: 2 Preemption is not helpful for scheduling."))
	}},
	{"L-071", "A claim that waits for its first consumer is bound to a volume of the pod's node", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		t.class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
		t.volume("v1", "local", onHost("b"))
		t.claim("data", "local", "")
		t.pod("p", uses("data"))
		t.boundTo("p", "b")
		if volume := t.claimBound("data"); volume != "v1" {
			t.fail("the claim is bound to %s", volume)
		}
	}},
	{"L-072", "A claim with a selected node is provisioned there, and then the pod is bound", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		t.class("dynamic", "live.berth.dev/standin", "WaitForFirstConsumer")
		t.claim("data", "dynamic", "")
		t.pod("p", "nodeSelector: {kubernetes.io/hostname: b}, "+uses("data"))
		t.boundTo("p", "b")
		claim, err := t.Client.CoreV1().PersistentVolumeClaims(t.Namespace).Get(t.Context, "data", meta.GetOptions{})
		t.must(err)
		if claim.Annotations["volume.kubernetes.io/selected-node"] != "b" {
			t.fail("annotations %v", claim.Annotations)
		}
	}},
	{"L-073", "A missing claim is named, and the pod is bound when it comes", func(t *T) {
		t.shared()
		t.nodes("a")
		t.class("static", "kubernetes.io/no-provisioner", "Immediate")
		t.pod("p", uses("data"))
		t.refused("p", `0/1 nodes are available: persistentvolumeclaim "data" not found. not found`)
		t.volume("v1", "static", "")
		t.claim("data", "static", "")
		t.boundTo("p", "a")
	}},
	{"L-074", "An unbound claim that does not wait for consumers makes the pod wait", func(t *T) {
		t.shared()
		t.nodes("a")
		t.class("static", "kubernetes.io/no-provisioner", "Immediate")
		t.claim("data", "static", "")
		t.pod("p", uses("data"))
		t.refused("p", "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found")
		t.volume("v1", "static", "")
		t.boundTo("p", "a")
	}},
	{"L-075", "A volume's zone label keeps its pod in that zone", func(t *T) {
		t.shared()
		t.node("a", "metadata: {labels: {topology.kubernetes.io/zone: x}}")
		t.node("b", "metadata: {labels: {topology.kubernetes.io/zone: \"y\"}}")
		t.class("static", "kubernetes.io/no-provisioner", "Immediate")
		t.volume("v1", "static", "", "topology.kubernetes.io/zone", "y")
		t.claim("data", "static", "")
		t.claimBound("data")
		t.pod("p", uses("data"))
		t.boundTo("p", "b")
		t.pod("q", "nodeSelector: {kubernetes.io/hostname: a}, "+uses("data"))
		t.refused("q", "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had no available volume zone."+
			noVictims("2 nodes are available: 2 Preemption is not helpful for scheduling."))
	}},
	{"L-076", "ReadWriteOncePod lets one pod at a time use the claim", func(t *T) {
		t.shared()
		t.nodes("a")
		t.class("static", "kubernetes.io/no-provisioner", "Immediate")
		t.volume("v1", "static", "accessModes: [ReadWriteOncePod]")
		t.claim("data", "static", "accessModes: [ReadWriteOncePod]")
		t.claimBound("data")
		t.pod("p", uses("data"))
		t.boundTo("p", "a")
		t.pod("q", uses("data"))
		t.refused("q", "0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod."+
			noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		t.deletePod("p")
		t.boundTo("q", "a")
	}},
	{"L-077", "The number of volumes that a node's CSI driver takes is a limit", func(t *T) {
		t.shared()
		t.nodes("a")
		node := storage.CSINode{}
		t.read(`{metadata: {name: a}, spec: {drivers: [{name: live.berth.dev, nodeID: a, allocatable: {count: 1}}]}}`, &node)
		_, err := t.Client.StorageV1().CSINodes().Create(t.Context, &node, meta.CreateOptions{})
		t.must(err)
		t.class("static", "kubernetes.io/no-provisioner", "Immediate")
		for _, name := range []string{"1", "2"} {
			t.volume("v"+name, "static", "")
			t.claim("data"+name, "static", "")
			t.claimBound("data" + name)
		}
		t.pod("p", uses("data1"))
		t.boundTo("p", "a")
		t.pod("q", uses("data2"))
		t.refused("q", "0/1 nodes are available: 1 node(s) exceed max volume count."+noVictims("1 nodes are available: 1 No preemption victims found for incoming pod."))
		t.deletePod("p")
		t.boundTo("q", "a")
	}},
	{"L-078", "A waiting claim without a volume that fits is refused in kube-scheduler's words until one comes", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		t.class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
		t.claim("data", "local", "")
		t.pod("p", uses("data"))
		t.refused("p", "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."+noVictims("2 nodes are available: 2 Preemption is not helpful for scheduling."))
		t.volume("v1", "local", onHost("a"))
		t.boundTo("p", "a")
	}},
	{"L-079", "A StatefulSet's pods get a provisioned volume each", func(t *T) {
		t.shared()
		t.nodes("a", "b", "c")
		t.class("dynamic", "live.berth.dev/standin", "WaitForFirstConsumer")
		set := apps.StatefulSet{}
		t.read(`{metadata: {name: db}, spec: {replicas: 3, podManagementPolicy: Parallel, serviceName: db, selector: {matchLabels: {app: db}},
			template: {metadata: {labels: {app: db}}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: pause}]}},
			volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: dynamic, resources: {requests: {storage: 1Gi}}}}]}}`, &set)
		_, err := t.Client.AppsV1().StatefulSets(t.Namespace).Create(t.Context, &set, meta.CreateOptions{})
		t.must(err)
		t.boundPods("app=db", 3)
		for i := range 3 {
			t.claimBound(fmt.Sprint("data-db-", i))
		}
	}},
}
