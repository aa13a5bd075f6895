// SPDX-License-Identifier: Apache-2.0

// Package fieldnames checks that Berth knows every field of the API types that it reads: a field that is missing from
// host/objects/field_names.inc would be reported as unknown.
package fieldnames

import (
	"os"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const tablePath = "../../../host/objects/field_names.inc"

var types = []any{
	metav1.ObjectMeta{}, metav1.OwnerReference{}, metav1.LabelSelector{}, metav1.LabelSelectorRequirement{},
	corev1.Pod{}, corev1.PodSpec{}, corev1.PodStatus{}, corev1.PodTemplateSpec{}, corev1.Container{}, corev1.ContainerPort{},
	corev1.ResourceRequirements{}, corev1.ResourceClaim{}, corev1.ContainerRestartRule{}, corev1.Affinity{}, corev1.NodeAffinity{},
	corev1.NodeSelector{}, corev1.NodeSelectorTerm{}, corev1.NodeSelectorRequirement{}, corev1.PreferredSchedulingTerm{},
	corev1.PodAffinity{}, corev1.PodAntiAffinity{}, corev1.PodAffinityTerm{}, corev1.WeightedPodAffinityTerm{}, corev1.Toleration{},
	corev1.TopologySpreadConstraint{}, corev1.PodSchedulingGate{}, corev1.PodResourceClaim{}, corev1.Volume{},
	corev1.PersistentVolumeClaimVolumeSource{}, corev1.CSIVolumeSource{}, corev1.GCEPersistentDiskVolumeSource{},
	corev1.AWSElasticBlockStoreVolumeSource{}, corev1.AzureDiskVolumeSource{}, corev1.CinderVolumeSource{},
	corev1.CinderPersistentVolumeSource{}, corev1.PortworxVolumeSource{}, corev1.ISCSIVolumeSource{},
	corev1.ISCSIPersistentVolumeSource{}, corev1.RBDVolumeSource{}, corev1.RBDPersistentVolumeSource{},
	corev1.EphemeralVolumeSource{}, corev1.PersistentVolumeClaimTemplate{}, corev1.PersistentVolume{}, corev1.PersistentVolumeSpec{},
	corev1.PersistentVolumeStatus{}, corev1.ObjectReference{}, corev1.VolumeNodeAffinity{}, corev1.CSIPersistentVolumeSource{},
	corev1.PersistentVolumeClaim{}, corev1.PersistentVolumeClaimSpec{}, corev1.VolumeResourceRequirements{},
	corev1.PersistentVolumeClaimStatus{}, storagev1.StorageClass{}, corev1.TopologySelectorTerm{},
	corev1.TopologySelectorLabelRequirement{}, storagev1.CSINode{}, storagev1.CSINodeSpec{}, storagev1.CSINodeDriver{},
	storagev1.VolumeNodeResources{}, storagev1.CSIDriver{}, storagev1.CSIDriverSpec{}, storagev1.CSIStorageCapacity{},
	storagev1.VolumeAttachment{}, storagev1.VolumeAttachmentSpec{}, storagev1.VolumeAttachmentSource{}, corev1.Node{}, corev1.NodeSpec{}, corev1.NodeStatus{}, corev1.Taint{},
	corev1.ContainerImage{}, corev1.Namespace{}, corev1.Service{}, corev1.ServiceSpec{}, corev1.ReplicationControllerSpec{},
	schedulingv1.PriorityClass{}, nodev1.RuntimeClass{}, nodev1.Overhead{}, nodev1.Scheduling{}, policyv1.PodDisruptionBudget{},
	policyv1.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetStatus{}, appsv1.Deployment{}, appsv1.DeploymentSpec{},
	appsv1.ReplicaSetSpec{}, appsv1.DaemonSetSpec{}, appsv1.StatefulSetSpec{}, appsv1.StatefulSetOrdinals{}, batchv1.JobSpec{},
}

func fields(of reflect.Type) []string {
	var names []string
	for i := 0; i < of.NumField(); i++ {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		} else if field.Anonymous {
			names = append(names, fields(field.Type)...)
		}
	}
	sort.Strings(names)
	return names
}

func TestEveryFieldOfTheAPITypesIsKnown(t *testing.T) {
	text, err := os.ReadFile(tablePath)
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]string{}
	for _, entry := range regexp.MustCompile(`(?s)BERTH_API_TYPE\((\w+),(.*?)\)`).FindAllStringSubmatch(string(text), -1) {
		lists[entry[1]] = entry[2]
	}
	for _, value := range types {
		kind := reflect.TypeOf(value)
		for _, name := range fields(kind) {
			if !strings.Contains(lists[kind.Name()], `"`+name+`"`) {
				t.Errorf("%s: %s lacks %q", tablePath, kind.Name(), name)
			}
		}
		if os.Getenv("PRINT") != "" {
			println("TYPE", kind.Name(), strings.Join(fields(kind), " "))
		}
	}
}
