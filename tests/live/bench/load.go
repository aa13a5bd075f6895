// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const namespace = "default"

// each calls make for 0 to count-1, several at once, and gives the first error.
func each(count int, make func(int) error) error {
	next, failed := newCounter(count), error(nil)
	var mutex sync.Mutex
	var group sync.WaitGroup
	for range 32 {
		group.Add(1)
		go func() {
			defer group.Done()
			for i, more := next(); more; i, more = next() {
				if err := make(i); err != nil {
					mutex.Lock()
					failed = err
					mutex.Unlock()
					return
				}
			}
		}()
	}
	group.Wait()
	return failed
}

func newCounter(count int) func() (int, bool) {
	var mutex sync.Mutex
	next := -1
	return func() (int, bool) {
		mutex.Lock()
		defer mutex.Unlock()
		next++
		return next, next < count
	}
}

func createNodes(ctx context.Context, client *kubernetes.Clientset, count int) error {
	offer := core.ResourceList{core.ResourceCPU: resource.MustParse("32"), core.ResourceMemory: resource.MustParse("128Gi"),
		core.ResourcePods: resource.MustParse("110")}
	return each(count, func(i int) error {
		name := fmt.Sprintf("node-%05d", i)
		_, err := client.CoreV1().Nodes().Create(ctx, &core.Node{
			ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name,
				"topology.kubernetes.io/zone": fmt.Sprint("zone-", i%10)}},
			Status: core.NodeStatus{Capacity: offer, Allocatable: offer, Conditions: []core.NodeCondition{
				{Type: core.NodeReady, Status: core.ConditionTrue, LastHeartbeatTime: meta.Now(), LastTransitionTime: meta.Now()}}}},
			meta.CreateOptions{})
		return err
	})
}

// pod is the i-th pod of a workload. mix: of five pods one spreads over zones, one likes its own kind's zone, one keeps
// away from its own kind's nodes, two are plain.
func pod(workload string, i int) *core.Pod {
	labels := map[string]string{"app": fmt.Sprint("app-", i%50)}
	selector := &meta.LabelSelector{MatchLabels: labels}
	made := &core.Pod{ObjectMeta: meta.ObjectMeta{Name: fmt.Sprintf("pod-%06d", i), Namespace: namespace, Labels: labels},
		Spec: core.PodSpec{Containers: []core.Container{{Name: "c", Image: "pause", Resources: core.ResourceRequirements{
			Requests: core.ResourceList{core.ResourceCPU: resource.MustParse("100m"), core.ResourceMemory: resource.MustParse("200Mi")}}}}}}
	if workload != "mix" {
		return made
	}
	switch i % 5 {
	case 0:
		made.Spec.TopologySpreadConstraints = []core.TopologySpreadConstraint{{MaxSkew: 5, LabelSelector: selector,
			TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: core.DoNotSchedule}}
	case 1:
		made.Spec.Affinity = &core.Affinity{PodAffinity: &core.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []core.WeightedPodAffinityTerm{{Weight: 10,
				PodAffinityTerm: core.PodAffinityTerm{LabelSelector: selector, TopologyKey: "topology.kubernetes.io/zone"}}}}}
	case 2:
		made.Spec.Affinity = &core.Affinity{PodAntiAffinity: &core.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []core.PodAffinityTerm{
				{LabelSelector: selector, TopologyKey: "kubernetes.io/hostname"}}}}
	}
	return made
}

// watcher notes when it saw each pod bound, as a client that is neither the scheduler nor the load.
type watcher struct {
	mutex sync.Mutex
	bound map[string]time.Time
}

func watch(ctx context.Context, client *kubernetes.Clientset) (*watcher, error) {
	w := &watcher{bound: map[string]time.Time{}}
	note := func(object any) {
		if pod := object.(*core.Pod); pod.Spec.NodeName != "" {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			if _, known := w.bound[pod.Name]; !known {
				w.bound[pod.Name] = time.Now()
			}
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(_, object any) { note(object) }})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return w, err
}

func (w *watcher) count() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.bound)
}

// wait waits until `count` pods are bound.
func (w *watcher) wait(ctx context.Context, count int, limit time.Duration) error {
	for end := time.Now().Add(limit); w.count() < count; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("%d of %d pods are bound after %v", w.count(), count, limit)
		}
	}
	return nil
}

// times of pods first to last-1.
func (w *watcher) times(first, last int) []time.Time {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var times []time.Time
	for i := first; i < last; i++ {
		times = append(times, w.bound[fmt.Sprintf("pod-%06d", i)])
	}
	return times
}
