// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Upsert tells the scheduler that an object was added or changed, as its event handlers would. A pod that is said to
// stand on another node than before is taken off that one first: upstream's cache ends the process instead.
func (s *Scheduler) Upsert(object runtime.Object) error {
	switch o := object.(type) {
	case *v1.Node:
		if old := s.nodes[o.Name]; old != nil {
			s.cache.UpdateNode(s.logger, old, o)
		} else {
			s.cache.AddNode(s.logger, o)
		}
		s.nodes[o.Name] = o
		return nil
	case *v1.Pod:
		return s.upsertPod(o)
	default:
		store, err := s.storeOf(object.GetObjectKind().GroupVersionKind().Kind)
		if err != nil {
			return err
		}
		return store.Update(object)
	}
}

// Remove tells that an object was deleted; what is not there is ignored. Pods are known by their UID.
func (s *Scheduler) Remove(kind, namespace, name string, uid types.UID) error {
	switch kind {
	case "Node":
		node := s.nodes[name]
		if node == nil {
			return nil
		}
		delete(s.nodes, name)
		return s.cache.RemoveNode(s.logger, node)
	case "Pod":
		return s.removePod(uid)
	default:
		store, err := s.storeOf(kind)
		if err != nil {
			return err
		}
		key := name
		if namespace != "" {
			key = namespace + "/" + name
		}
		object, exists, err := store.GetByKey(key)
		if err != nil || !exists {
			return err
		}
		return store.Delete(object)
	}
}

// Nominate reserves room for a pod of the cluster as loaded that is on no node; an empty node ends the reservation. The
// status of the pod names that node too, or the one that is given. It has
// no effect for a pod that is gated, which load explains, or is another scheduler's.
func (s *Scheduler) Nominate(uid types.UID, node string, status *string) error {
	pod := s.unbound[uid]
	if pod == nil {
		return fmt.Errorf("pod %s is nominated, and is none without a node", uid)
	}
	pod.Status.NominatedNodeName = node
	if status != nil {
		pod.Status.NominatedNodeName = *status
	}
	// DefaultPreemption reads the newest version of the preemptor there.
	if err := s.factory.Core().V1().Pods().Informer().GetStore().Update(pod.DeepCopy()); err != nil {
		return err
	}
	s.queue.DeleteNominatedPodIfExists(pod)
	if node == "" || len(pod.Spec.SchedulingGates) > 0 || s.Profiles[pod.Spec.SchedulerName] == nil {
		return nil
	}
	info, _ := framework.NewPodInfo(pod) // terms that cannot be read are left out, as NodeInfo does
	s.queue.AddNominatedPod(s.logger, info, &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: node})
	return nil
}

// Forget undoes a placement that was assumed.
func (s *Scheduler) Forget(uid types.UID) error {
	pod, err := s.cache.GetPod(podOf(uid))
	if err != nil {
		return err
	}
	return s.cache.ForgetPod(s.logger, pod)
}

// TakeSnapshot is what the next cycle begins with, except that image counts are those of now. Upstream's are from the last
// change of each node; Berth does not follow that (docs/fidelity.md).
func (s *Scheduler) TakeSnapshot() error {
	if err := s.cache.UpdateSnapshot(s.logger, s.Snapshot); err != nil {
		return err
	}
	nodes, err := s.Snapshot.NodeInfos().List()
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, node := range nodes {
		for image := range node.GetImageStates() {
			counts[image]++
		}
	}
	for _, node := range nodes {
		for image, state := range node.GetImageStates() {
			state.NumNodes = counts[image]
		}
	}
	return nil
}

func podOf(uid types.UID) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
}

func (s *Scheduler) upsertPod(pod *v1.Pod) error {
	if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return s.removePod(pod.UID)
	}
	if pod.Spec.NodeName == "" {
		return s.wait(pod)
	}
	s.queue.DeleteNominatedPodIfExists(pod)
	known, err := s.cache.GetPod(pod)
	if err != nil {
		return s.cache.AddPod(s.logger, pod)
	}
	assumed, err := s.cache.IsAssumedPod(pod)
	if err != nil {
		return err
	}
	if known.Spec.NodeName == pod.Spec.NodeName && !assumed {
		return s.cache.UpdatePod(s.logger, known, pod)
	}
	if known.Spec.NodeName != pod.Spec.NodeName {
		if err := s.cache.RemovePod(s.logger, known); err != nil {
			return err
		}
	}
	return s.cache.AddPod(s.logger, pod)
}

// wait takes a pod that is on no node, and may be placed from now on.
func (s *Scheduler) wait(pod *v1.Pod) error {
	if s.Profiles[pod.Spec.SchedulerName] == nil {
		return fmt.Errorf("pod %s/%s waits for a scheduler %q", pod.Namespace, pod.Name, pod.Spec.SchedulerName)
	}
	if _, err := s.cache.GetPod(pod); err == nil {
		return fmt.Errorf("pod %s/%s is on a node, and waits", pod.Namespace, pod.Name)
	}
	s.Pending = append(slices.DeleteFunc(s.Pending, func(known *v1.Pod) bool { return known.UID == pod.UID }), pod)
	s.unbound[pod.UID] = pod
	return nil
}

func (s *Scheduler) removePod(uid types.UID) error {
	s.queue.DeleteNominatedPodIfExists(podOf(uid))
	pod, err := s.cache.GetPod(podOf(uid))
	if err != nil {
		return nil // on no node
	}
	return s.cache.RemovePod(s.logger, pod)
}

// storeOf is the store behind the plugins' lister of a kind.
func (s *Scheduler) storeOf(kind string) (cache.Store, error) {
	switch kind {
	case "Namespace":
		return s.factory.Core().V1().Namespaces().Informer().GetStore(), nil
	case "Service":
		return s.factory.Core().V1().Services().Informer().GetStore(), nil
	case "ReplicationController":
		return s.factory.Core().V1().ReplicationControllers().Informer().GetStore(), nil
	case "ReplicaSet":
		return s.factory.Apps().V1().ReplicaSets().Informer().GetStore(), nil
	case "StatefulSet":
		return s.factory.Apps().V1().StatefulSets().Informer().GetStore(), nil
	default:
		return nil, &meta.NoKindMatchError{SearchedVersions: []string{kind}}
	}
}
