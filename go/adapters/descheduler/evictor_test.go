// SPDX-License-Identifier: Apache-2.0

package descheduler

import (
	"encoding/json"
	"maps"
	"testing"

	berth "berth.dev/go"
	"berth.dev/go/adapters/descheduler/fit"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	frameworkfake "sigs.k8s.io/descheduler/pkg/framework/fake"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/types"
)

func upsert(t *testing.T, cluster *berth.Cluster, kind string, object any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	text = append([]byte(`{"apiVersion":"v1","kind":"`+kind+`",`), text[1:]...)
	if err := cluster.Upsert(text); err != nil {
		t.Fatal(err)
	}
}

func TestAPodIsEvictedOnlyWhereAnotherReadyNodeTakesIt(t *testing.T) {
	engine, err := berth.NewEngine(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	cluster, err := engine.NewCluster()
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	before := berth.OpenHandles()
	large, small, unready := testNode("large", 8), testNode("small", 2), testNode("unready", 8)
	unready.Status.Conditions[0].Status = corev1.ConditionFalse
	objects := []runtime.Object{large, small, unready}
	for _, node := range []*corev1.Node{large, small, unready} {
		upsert(t, cluster, "Node", node)
	}
	moves, stays, port := testPod("moves", "large", 2), testPod("stays", "large", 3), testPod("port", "large", 0)
	port.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
	other := port.DeepCopy()
	other.Name, other.UID, other.Spec.NodeName = "other", "other", "small"
	for _, pod := range []*corev1.Pod{moves, stays, port, other} {
		upsert(t, cluster, "Pod", pod)
		objects = append(objects, pod)
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	factory.Core().V1().Nodes().Informer()
	stop := make(chan struct{})
	defer factory.Shutdown()
	defer close(stop)
	factory.Start(stop)
	factory.WaitForCacheSync(stop)

	registry := pluginregistry.NewRegistry()
	Register(registry, cluster, fit.Options{})
	plugin, err := registry[Name].PluginBuilder(t.Context(), registry[Name].PluginArgInstance,
		&frameworkfake.HandleImpl{ClientsetImpl: client, SharedInformerFactoryImpl: factory})
	if err != nil {
		t.Fatal(err)
	}
	evictor := plugin.(types.EvictorPlugin)
	for pod, want := range map[*corev1.Pod]bool{moves: true, stays: false, port: false} {
		if !evictor.Filter(pod) || evictor.PreEvictionFilter(pod) != want {
			t.Errorf("%s: not %v", pod.Name, want)
		}
	}
	if after := berth.OpenHandles(); !maps.Equal(after, before) {
		t.Errorf("open handles: %v before, %v after", before, after)
	}
}
