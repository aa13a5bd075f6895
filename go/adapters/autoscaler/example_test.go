// SPDX-License-Identifier: Apache-2.0

package autoscaler_test

import (
	"fmt"
	"log"

	berth "berth.dev/go"
	"berth.dev/go/adapters/autoscaler"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node(name, cpu string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("10")}}}
}

func Example() {
	engine, err := berth.NewEngine(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	snapshot, err := autoscaler.NewSnapshot(engine)
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	if err := snapshot.SetClusterState([]*corev1.Node{node("a", "2")}, nil); err != nil {
		log.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "web"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("4")}}}}}}
	fmt.Println(snapshot.CheckPredicates(pod, "a").Reasons())
	snapshot.Fork()
	if err := snapshot.AddNodeInfo(autoscaler.NewNodeInfo(node("new", "8"))); err != nil {
		log.Fatal(err)
	}
	name, refusal := snapshot.SchedulePodOnAnyNodeMatching(pod, autoscaler.SchedulingOptions{})
	fmt.Println(name, refusal)
	snapshot.Revert()
	listed, err := snapshot.ListNodeInfos()
	fmt.Println(len(listed), err)
	// Output:
	// [Insufficient cpu]
	// new <nil>
	// 1 <nil>
}
