// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	berth "berth.dev/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

func TestMain(m *testing.M) {
	status := m.Run()
	if open := berth.OpenHandles(); len(open) > 0 && status == 0 {
		fmt.Fprintln(os.Stderr, "handles left open:", open)
		status = 1
	}
	os.Exit(status)
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newCluster(t testing.TB) *berth.Cluster {
	t.Helper()
	engine, err := berth.NewEngine(&berth.EngineOptions{Threads: 1})
	ok(t, err)
	defer engine.Close()
	cluster, err := engine.NewCluster()
	ok(t, err)
	t.Cleanup(func() { ok(t, cluster.Close()) })
	return cluster
}

func node(name string, cpu int64) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			"cpu": *resource.NewQuantity(cpu, resource.DecimalSI), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}}}
}

func pod(name, uid, node string, cpu int64) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + uid), ResourceVersion: "1"},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": *resource.NewQuantity(cpu, resource.DecimalSI)}}}}}}
}

// free is how many pods of one core a node still takes, by berth_*_max_replicas().
func free(t testing.TB, cluster *berth.Cluster) int64 {
	t.Helper()
	snapshot, err := cluster.NewSnapshot()
	ok(t, err)
	defer snapshot.Close()
	text, err := Text(pod("probe", "probe", "", 1))
	ok(t, err)
	probe, err := cluster.NewPod(text, nil)
	ok(t, err)
	defer probe.Close()
	counts, err := snapshot.MaxReplicas(t.Context(), []*berth.Pod{probe}, nil)
	ok(t, err)
	defer counts.Close()
	return counts.Counts[0]
}

func expect(t testing.TB, cluster *berth.Cluster, want int64, when string) {
	t.Helper()
	if got := free(t, cluster); got != want {
		t.Errorf("%s: %d cores are free, not %d", when, got, want)
	}
}

func TestAPodMayComeBeforeItsNode(t *testing.T) {
	cluster := newCluster(t)
	feeder := NewFeeder(cluster, func(err error) { t.Error(err) })
	feeder.Handler("Pod").OnAdd(pod("p", "1", "a", 3), true)
	feeder.Handler("Node").OnAdd(node("a", 4), true)
	expect(t, cluster, 1, "with its node")
	feeder.Handler("Node").OnDelete(node("a", 4))
	expect(t, cluster, 0, "without its node")
	feeder.Handler("Node").OnAdd(node("a", 8), false)
	expect(t, cluster, 5, "with the node again")
}

func TestABoundPodConfirmsWhatWasAssumed(t *testing.T) {
	cluster := newCluster(t)
	feeder := NewFeeder(cluster, func(err error) { t.Error(err) })
	pods, nodes := feeder.Handler("Pod"), feeder.Handler("Node")
	nodes.OnAdd(node("a", 4), true)
	pending := pod("p", "1", "", 3)
	pods.OnAdd(pending, true)
	text, err := Text(pending)
	ok(t, err)
	handle, err := cluster.NewPod(text, nil)
	ok(t, err)
	defer handle.Close()
	a, err := cluster.FindNode("a")
	ok(t, err)
	ok(t, cluster.Assume(handle, a))
	expect(t, cluster, 1, "assumed")
	again := pending.DeepCopy()
	again.ResourceVersion = "2"
	pods.OnUpdate(pending, again)
	expect(t, cluster, 1, "assumed, and told to be pending")
	bound := again.DeepCopy()
	bound.ResourceVersion, bound.Spec.NodeName = "3", "a"
	pods.OnUpdate(again, bound)
	expect(t, cluster, 1, "confirmed")
	if err := cluster.Forget(handle); !errors.Is(err, berth.NotFound) {
		t.Errorf("a confirmed pod was forgotten: %v", err)
	}
	pods.OnDelete(bound)
	expect(t, cluster, 4, "deleted")
}

func TestAnInterruptedWatchMayTellNoMoreThanAKey(t *testing.T) {
	cluster := newCluster(t)
	feeder := NewFeeder(cluster, func(err error) { t.Error(err) })
	pods := feeder.Handler("Pod")
	feeder.Handler("Node").OnAdd(node("a", 4), true)
	pods.OnAdd(pod("p", "1", "a", 3), true)
	// Deleted and made again under its name, which a new list tells as an update.
	again := pod("p", "2", "a", 1)
	again.ResourceVersion = "9"
	pods.OnUpdate(pod("p", "1", "a", 3), again)
	expect(t, cluster, 3, "made again")
	pods.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/p", Obj: pod("p", "1", "a", 3)})
	expect(t, cluster, 4, "gone")
	pods.OnAdd(pod("q", "3", "a", 2), false)
	pods.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/q"})
	expect(t, cluster, 4, "gone by its key")
	feeder.Handler("Node").OnDelete(cache.DeletedFinalStateUnknown{Key: "a"})
	expect(t, cluster, 0, "without nodes")
}

func TestWhatIsDeliveredAgainMovesNoVersion(t *testing.T) {
	cluster := newCluster(t)
	feeder := NewFeeder(cluster, func(err error) { t.Error(err) })
	pods, nodes := feeder.Handler("Pod"), feeder.Handler("Node")
	nodes.OnAdd(node("a", 4), true)
	pods.OnAdd(pod("p", "1", "a", 3), true)
	before, err := cluster.Version()
	ok(t, err)
	pods.OnUpdate(pod("p", "1", "a", 3), pod("p", "1", "a", 3))
	after, err := cluster.Version()
	ok(t, err)
	if before != after {
		t.Errorf("version %d, then %d", before, after)
	}
	ok(t, feeder.Replace("Pod", []runtime.Object{pod("q", "2", "a", 1)}))
	expect(t, cluster, 3, "replaced")
	ok(t, feeder.Replace("Pod", nil))
	expect(t, cluster, 4, "replaced by nothing")
}

func TestWhatIsRefusedIsReported(t *testing.T) {
	cluster := newCluster(t)
	var reported []error
	feeder := NewFeeder(cluster, func(err error) { reported = append(reported, err) })
	wrong := node("a", 4)
	wrong.Status.Allocatable["cpu"] = resource.MustParse("-4")
	feeder.Handler("Node").OnAdd(wrong, true)
	feeder.Handler("Node").OnAdd("no object", true)
	feeder.Handler("Pod").OnDelete(7)
	if len(reported) != 3 || !errors.Is(reported[0], berth.Input) || !strings.Contains(reported[0].Error(), "Node a") {
		t.Errorf("%v", reported)
	}
	feeder.Handler("Node").OnDelete(wrong)
	if len(reported) != 3 {
		t.Errorf("%v", reported[3:])
	}
}

func TestEveryKindIsOneThatTheClusterKnows(t *testing.T) {
	cluster := newCluster(t)
	for _, kind := range Kinds {
		err := cluster.Delete(berth.Object{Kind: kind, Namespace: "n", Name: "nobody"})
		if errors.Is(err, berth.Argument) { // a kind without namespace
			err = cluster.Delete(berth.Object{Kind: kind, Name: "nobody"})
		}
		if !errors.Is(err, berth.NotFound) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestSharedInformersFeedACluster(t *testing.T) {
	cluster := newCluster(t)
	feeder := NewFeeder(cluster, func(err error) { t.Error(err) })
	client := fake.NewClientset(node("a", 4), pod("p", "1", "a", 3))
	factory := informers.NewSharedInformerFactory(client, 0)
	for kind, informer := range map[string]cache.SharedIndexInformer{
		"Node": factory.Core().V1().Nodes().Informer(), "Pod": factory.Core().V1().Pods().Informer()} {
		_, err := informer.AddEventHandler(feeder.Handler(kind))
		ok(t, err)
	}
	stop, cancel := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer cancel()
	factory.Start(stop.Done())
	factory.WaitForCacheSync(stop.Done())
	ok(t, client.CoreV1().Pods("default").Delete(t.Context(), "p", metav1.DeleteOptions{}))
	_, err := client.CoreV1().Nodes().Create(t.Context(), node("b", 2), metav1.CreateOptions{})
	ok(t, err)
	for end := time.Now().Add(10 * time.Second); free(t, cluster) != 6; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d cores are free", free(t, cluster))
		}
	}
}
