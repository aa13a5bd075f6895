// SPDX-License-Identifier: Apache-2.0

// Package observer is a third party: it reads pods, nodes and events of the API server alone and says what a scheduler may
// never do. It trusts no answer of a scheduler.
package observer

import (
	"context"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"

	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	pods "k8s.io/component-helpers/resource"
)

// Observer collects what it sees until its context ends.
type Observer struct {
	mutex     sync.Mutex
	nodeOf    map[types.UID]string
	live      map[types.UID]*core.Pod
	nodes     map[string]core.ResourceList // the most that a node of this name offered since Forget
	scheduled map[types.UID]int            // Scheduled events of a pod, series counted whole
	own       map[types.UID]bool           // pods that were created with a node: no scheduler placed them
	problems  []string
	seen      map[types.UID]string // event: its note and count, to count changes alone
	prefix    string               // of the namespaces that are looked at
}

// Scheduler words: a message of kube-scheduler for a pod that found no node, and for one that is not tried at all.
var words = regexp.MustCompile(`^(0/\d+ nodes are available: .+\.( preemption: .+\.?)?|no nodes available to schedule pods` +
	`|Scheduling is blocked due to non-empty scheduling gates|.*persistentvolumeclaim ".*" not found.*` +
	`|skip schedule deleting pod: .*|running .* plugin .*|binding rejected: .*|Operation cannot be fulfilled .*` +
	`|pod has unbound immediate PersistentVolumeClaims.*|.*the server.*|.*Timeout.*|.*timed out.*|Post .*|.*[Tt]oo many requests.*` +
	`|.*connection.*|.*pods? ".*" .*|.*assigned to node.*|.*etcdserver.*|.*storageclass.* not found.*` +
	`|plugin "DynamicResources" is not supported yet: .*)`)

// Start starts the observer and gives it once it has the initial lists.
func Start(ctx context.Context, client *kubernetes.Clientset) *Observer {
	o := &Observer{}
	o.Forget("no namespace")
	factory := informers.NewSharedInformerFactory(client, 0)
	handle(factory.Core().V1().Pods().Informer(), o.pod, o.podGone)
	handle(factory.Core().V1().Nodes().Informer(), o.node, func(*core.Node) {})
	handle(factory.Events().V1().Events().Informer(), o.event, func(*events.Event) {})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return o
}

func handle[T any](informer cache.SharedIndexInformer, seen, gone func(T)) {
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(x any) { seen(x.(T)) },
		UpdateFunc: func(_, x any) { seen(x.(T)) },
		DeleteFunc: func(x any) {
			if unknown, is := x.(cache.DeletedFinalStateUnknown); is {
				x = unknown.Obj
			}
			gone(x.(T))
		},
	})
}

// Forget starts anew, for a check whose namespaces begin like this; what comes late from others is not looked at.
func (o *Observer) Forget(prefix string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.prefix = prefix
	o.nodeOf, o.live = map[types.UID]string{}, map[types.UID]*core.Pod{}
	o.nodes, o.scheduled = map[string]core.ResourceList{}, map[types.UID]int{}
	o.own, o.seen, o.problems = map[types.UID]bool{}, map[types.UID]string{}, nil
}

func (o *Observer) node(node *core.Node) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	most := o.nodes[node.Name]
	if most == nil {
		most = core.ResourceList{}
		o.nodes[node.Name] = most
	}
	for name, quantity := range node.Status.Allocatable {
		if old, is := most[name]; !is || quantity.Cmp(old) > 0 {
			most[name] = quantity
		}
	}
}

func (o *Observer) pod(pod *core.Pod) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if !strings.HasPrefix(pod.Namespace, o.prefix) {
		return
	}
	old, known := o.nodeOf[pod.UID]
	switch {
	case !known && pod.Spec.NodeName != "":
		o.own[pod.UID] = true // until a Scheduled event says otherwise
	case known && old != "" && pod.Spec.NodeName != old:
		o.problems = append(o.problems, fmt.Sprintf("pod %s/%s was on node %s and is on %q", pod.Namespace, pod.Name, old, pod.Spec.NodeName))
	}
	o.nodeOf[pod.UID] = pod.Spec.NodeName
	o.live[pod.UID] = pod
	if pod.Status.Phase == core.PodSucceeded || pod.Status.Phase == core.PodFailed {
		delete(o.live, pod.UID)
	}
	if pod.Spec.NodeName != "" && old == "" && known {
		o.checkNode(pod.Spec.NodeName)
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == core.PodScheduled && condition.Status == core.ConditionFalse && !words.MatchString(condition.Message) {
			o.problems = append(o.problems, fmt.Sprintf("pod %s/%s: condition in other words: %q", pod.Namespace, pod.Name, condition.Message))
		}
	}
}

func (o *Observer) podGone(pod *core.Pod) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	delete(o.live, pod.UID)
}

// checkNode compares what the pods of a node request with what it offers. Callers hold the mutex.
func (o *Observer) checkNode(name string) {
	offer := o.nodes[name]
	if offer == nil {
		return
	}
	used, ports, count := core.ResourceList{}, map[string]string{}, int64(0)
	for _, pod := range o.live {
		if pod.Spec.NodeName != name {
			continue
		}
		count++
		for resource, quantity := range pods.PodRequests(pod, pods.PodResourcesOptions{}) {
			sum := used[resource]
			sum.Add(quantity)
			used[resource] = sum
		}
		for _, container := range pod.Spec.Containers {
			for _, port := range container.Ports {
				key := fmt.Sprint(port.HostIP, "/", port.HostPort, "/", port.Protocol)
				if other := ports[key]; port.HostPort != 0 && other != "" {
					o.problems = append(o.problems, fmt.Sprintf("node %s: pods %s and %s hold port %s", name, other, pod.Name, key))
				}
				ports[key] = pod.Name
			}
		}
	}
	for resource, quantity := range used {
		if most, is := offer[resource]; is && quantity.Cmp(most) > 0 {
			o.problems = append(o.problems, fmt.Sprintf("node %s: %s of %s requested, %s offered", name, quantity.String(), resource, most.String()))
		}
	}
	if most, is := offer[core.ResourcePods]; is && count > most.Value() {
		o.problems = append(o.problems, fmt.Sprintf("node %s: %d pods, %d offered", name, count, most.Value()))
	}
}

func (o *Observer) event(event *events.Event) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	count := 1
	if event.Series != nil {
		count = int(event.Series.Count)
	}
	mark := fmt.Sprint(count, event.Note)
	if event.Regarding.Kind != "Pod" || !strings.HasPrefix(event.Namespace, o.prefix) || o.seen[event.UID] == mark {
		return
	}
	first := o.seen[event.UID] == ""
	o.seen[event.UID] = mark
	// A kube-scheduler that started while the server was away uses the older recorder, which knows no action.
	older := event.DeprecatedSource.Component != ""
	pod := event.Regarding.Namespace + "/" + event.Regarding.Name
	switch event.Reason {
	case "Scheduled":
		if first {
			o.scheduled[event.Regarding.UID] += count
		} else {
			o.scheduled[event.Regarding.UID]++
		}
		delete(o.own, event.Regarding.UID)
		node := o.nodeOf[event.Regarding.UID]
		if want := "Successfully assigned " + pod + " to " + node; node != "" && event.Note != want {
			o.problems = append(o.problems, fmt.Sprintf("event in other words: %q, not %q", event.Note, want))
		}
		if (event.Action != "Binding" && !older) || event.Type != "Normal" {
			o.problems = append(o.problems, fmt.Sprintf("event Scheduled of %s: action %q, type %q", pod, event.Action, event.Type))
		}
	case "FailedScheduling":
		if !words.MatchString(event.Note) || (event.Action != "Scheduling" && !older) || event.Type != "Warning" {
			o.problems = append(o.problems, fmt.Sprintf("event in other words: %s %s %q", event.Type, event.Action, event.Note))
		}
	}
}

// Problems are what was seen so far, each once.
func (o *Observer) Problems() []string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	once, list := map[string]bool{}, []string{}
	for uid, count := range o.scheduled {
		if count > 1 {
			once[fmt.Sprintf("pod %s has %d Scheduled events", uid, count)] = true
		}
	}
	for _, problem := range o.problems {
		once[problem] = true
	}
	for problem := range once {
		list = append(list, problem)
	}
	sort.Strings(list)
	return list
}

// WithoutEvent are the pods that were bound and have no Scheduled event, out of those that a scheduler bound.
func (o *Observer) WithoutEvent() []string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	var list []string
	for uid, pod := range o.live {
		if pod.Spec.NodeName != "" && !o.own[uid] && o.scheduled[uid] == 0 {
			list = append(list, pod.Namespace+"/"+pod.Name)
		}
	}
	sort.Strings(list)
	return list
}
