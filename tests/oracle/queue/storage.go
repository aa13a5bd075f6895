// SPDX-License-Identifier: Apache-2.0

//go:build berth_queue

package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

// storageKind is one kind of storage object: whose names are drawn from a few, and whose updates draw every part again.
type storageKind struct {
	kind, api string
	resource  fwk.EventResource
	name      func(h *history) string
	draw      func(h *history, name string) runtime.Object
}

const storageAPI = "storage.k8s.io/v1"

var storageKinds = []storageKind{
	{"PersistentVolume", "v1", fwk.PersistentVolume, oneOf("v0", "v1"), drawVolume},
	{"PersistentVolumeClaim", "v1", fwk.PersistentVolumeClaim, drawClaimName, drawClaim},
	{"PersistentVolumeClaim", "v1", fwk.PersistentVolumeClaim, drawClaimName, drawClaim},
	{"StorageClass", storageAPI, fwk.StorageClass, oneOf("s0", "s1"), drawClass},
	{"CSINode", storageAPI, fwk.CSINode, oneOf("n0", "n1"), drawCSINode},
	{"CSIDriver", storageAPI, fwk.CSIDriver, oneOf("a.csi", "b.csi"), drawCSIDriver},
	{"CSIDriver", storageAPI, fwk.CSIDriver, oneOf("a.csi", "b.csi"), drawCSIDriver},
	{"CSIStorageCapacity", storageAPI, fwk.CSIStorageCapacity, oneOf("k0", "k1"), drawCapacity},
	{"VolumeAttachment", storageAPI, fwk.VolumeAttachment, oneOf("t0", "t1", "t2"), drawAttachment},
}

func oneOf(names ...string) func(*history) string {
	return func(h *history) string { return h.pick(names...) }
}

// drawClaimName gives claims that pods name, and those of their ephemeral volumes.
func drawClaimName(h *history) string {
	if name, any := some(h, h.pods); any && h.oneIn(3) {
		return name + "-e"
	}
	return h.pick("c0", "c1")
}

// changeStorage creates, changes or deletes a storage object, as the informers' handlers tell the queue.
func (h *history) changeStorage() error {
	kind := storageKinds[h.random.Intn(len(storageKinds))]
	name := kind.name(h)
	key := kind.kind + "/" + name
	before, known := h.storage[key]
	s := step{Op: "storage", Kind: kind.kind, API: kind.api}
	event := fwk.ClusterEvent{Resource: kind.resource, ActionType: fwk.Add}
	var old, new interface{}
	if known {
		s.OldStorage, old = before, before
		event.ActionType = fwk.Update
	}
	if known && h.oneIn(3) {
		event.ActionType = fwk.Delete
		delete(h.storage, key)
	} else {
		after := kind.draw(h, name)
		if known && h.oneIn(3) {
			after = before.DeepCopyObject() // something that nobody reads
		}
		s.NewStorage, new = after, after
		h.storage[key] = after
	}
	h.queue.MoveAllToActiveOrBackoffQueue(h.logger, event, old, new, nil)
	return h.write(s)
}

func (h *history) quantity() *resource.Quantity {
	if h.oneIn(3) {
		return nil
	}
	return ptr.To(resource.MustParse(h.pick("1", "1500m", "2", "3")))
}

func drawVolume(h *history, name string) runtime.Object {
	volume := &v1.PersistentVolume{}
	volume.Name, volume.Labels = name, map[string]string{}
	for _, key := range []string{v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone, v1.LabelTopologyRegion, "other"} {
		if h.oneIn(2) {
			volume.Labels[key] = h.pick("a", "b", "a__b", "b__a", "a__", "", " a ")
		}
	}
	volume.Spec.HostPath = &v1.HostPathVolumeSource{Path: "/"}
	return volume
}

func drawClaim(h *history, name string) runtime.Object {
	claim := &v1.PersistentVolumeClaim{}
	claim.Name, claim.Namespace = name, "default"
	claim.Spec.VolumeName = h.pick("", "v0")
	return claim
}

func drawClass(h *history, name string) runtime.Object {
	class := &storagev1.StorageClass{Provisioner: "a.csi"}
	class.Name = name
	if !h.oneIn(3) {
		class.VolumeBindingMode = ptr.To(storagev1.VolumeBindingMode(h.pick("Immediate", "WaitForFirstConsumer")))
	}
	for count := h.random.Intn(3); count > 0; count-- {
		class.AllowedTopologies = append(class.AllowedTopologies, v1.TopologySelectorTerm{
			MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{h.pick("a", "b")}}}})
	}
	return class
}

func drawCSINode(h *history, name string) runtime.Object {
	node := &storagev1.CSINode{}
	node.Name = name
	if !h.oneIn(3) {
		node.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: h.pick("", "kubernetes.io/portworx-volume",
			"kubernetes.io/portworx-volume,x", "x,kubernetes.io/portworx-volume")}
	}
	for _, driver := range []string{"a.csi", "b.csi"} {
		if h.oneIn(2) {
			continue
		}
		entry := storagev1.CSINodeDriver{Name: driver, NodeID: name}
		switch h.random.Intn(4) {
		case 0:
			entry.Allocatable = &storagev1.VolumeNodeResources{}
		case 1, 2:
			entry.Allocatable = &storagev1.VolumeNodeResources{Count: ptr.To(int32(h.random.Intn(4)))}
		}
		node.Spec.Drivers = append(node.Spec.Drivers, entry)
	}
	return node
}

func drawCSIDriver(h *history, name string) runtime.Object {
	driver := &storagev1.CSIDriver{}
	driver.Name = name
	if !h.oneIn(3) {
		driver.Spec.StorageCapacity = ptr.To(!h.oneIn(3))
	}
	return driver
}

func drawCapacity(h *history, name string) runtime.Object {
	capacity := &storagev1.CSIStorageCapacity{StorageClassName: "s0", Capacity: h.quantity(), MaximumVolumeSize: h.quantity()}
	capacity.Name, capacity.Namespace = name, "default"
	capacity.NodeTopology = &metav1.LabelSelector{}
	return capacity
}

func drawAttachment(h *history, name string) runtime.Object {
	attachment := &storagev1.VolumeAttachment{}
	attachment.Name = name
	attachment.Spec.Attacher = h.pick("a.csi", "ebs.csi.aws.com", "pd.csi.storage.gke.io")
	attachment.Spec.NodeName = "n0"
	attachment.Spec.Source.PersistentVolumeName = ptr.To("v0")
	return attachment
}

// volume gives the pod a volume that some plugin looks at.
func (h *history) volume(pod *v1.Pod) {
	volume := v1.Volume{Name: fmt.Sprintf("d%d", len(pod.Spec.Volumes))}
	readOnly := h.oneIn(2)
	switch h.random.Intn(12) {
	case 0, 1:
		volume.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: h.pick("c0", "c1"), ReadOnly: readOnly}
	case 2, 3:
		volume.Name = "e"
		volume.Ephemeral = &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}
	case 4:
		volume.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: h.pick("x", "y"), ReadOnly: readOnly}
	case 5:
		volume.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{VolumeID: h.pick("vol-1", "vol-2", "aws://no/such"), ReadOnly: readOnly}
	case 6:
		volume.ISCSI = &v1.ISCSIVolumeSource{IQN: h.pick("iqn.a", "iqn.b"), ReadOnly: readOnly}
	case 7:
		volume.RBD = &v1.RBDVolumeSource{RBDPool: h.pick("q", "r"), RBDImage: "i", CephMonitors: []string{h.pick("m", "n"), "o"}, ReadOnly: readOnly}
	default:
		volume.CSI = &v1.CSIVolumeSource{Driver: h.pick("a.csi", "b.csi")}
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
}
