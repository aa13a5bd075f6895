// SPDX-License-Identifier: Apache-2.0

// Package informer keeps a cluster of Berth as the caches of client-go say: a Feeder gives a
// cache.ResourceEventHandler for each kind that rules read.
//
//	feeder := informer.NewFeeder(cluster, func(err error) { klog.ErrorS(err, "berth") })
//	for kind, informer := range informers { informer.AddEventHandler(feeder.Handler(kind)) }
//
// Informers of different kinds need no order among themselves: a pod may come before its node, and counts there once
// the node has come. A pod that comes bound confirms what Cluster.Assume or the commit of a fork assumed of it; one
// that comes unbound leaves that alone, as kube-scheduler does. A pod that was nominated to a node, assumed and then
// forgotten is nominated again with its next event: kube-scheduler writes a condition when it gives up.
package informer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	berth "berth.dev/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
)

// Kinds are the kinds that rules read.
var Kinds = []string{"Node", "Pod", "Service", "Namespace", "ReplicaSet", "ReplicationController", "StatefulSet",
	"PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity",
	"VolumeAttachment", "PodDisruptionBudget", "PriorityClass", "RuntimeClass", "Deployment", "DaemonSet", "Job"}

// Feeder tells one cluster what informers say. Its handlers may be called by any number of goroutines. It closes
// nothing: the cluster is the caller's, and outlives the informers.
type Feeder struct {
	cluster *berth.Cluster
	report  func(error)

	mutex sync.Mutex
	// uids are those of the pods that the cluster was told of, by namespace and name: a watch that was interrupted may
	// say of a pod that was made again under its name no more than the new object, or the key alone.
	uids map[string]types.UID
}

// NewFeeder feeds a cluster. What cannot be taken, such as an object that the cluster refuses, goes to report, which is
// called by the goroutine of the informer; the object is then as it was before in the cluster.
func NewFeeder(cluster *berth.Cluster, report func(error)) *Feeder {
	return &Feeder{cluster: cluster, report: report, uids: map[string]types.UID{}}
}

// Handler is for an informer of the kind.
func (f *Feeder) Handler(kind string) cache.ResourceEventHandler { return &handler{f, kind} }

type handler struct {
	feeder *Feeder
	kind   string
}

func (h *handler) OnAdd(object any, _ bool) { h.feeder.tell(h.feeder.upsert(h.kind, object)) }

// OnUpdate leaves out what informers deliver again without a change.
func (h *handler) OnUpdate(before, object any) {
	old, oldErr := metaOf(before)
	now, err := metaOf(object)
	if oldErr == nil && err == nil && old.GetUID() == now.GetUID() && now.GetResourceVersion() != "" &&
		old.GetResourceVersion() == now.GetResourceVersion() {
		return
	}
	h.feeder.tell(h.feeder.upsert(h.kind, object))
}

func (h *handler) OnDelete(object any) { h.feeder.tell(h.feeder.remove(h.kind, object)) }

func (f *Feeder) tell(err error) {
	if err != nil {
		f.report(err)
	}
}

func metaOf(object any) (metav1.Object, error) {
	m, ok := object.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("berth: %T is no object of Kubernetes", object)
	}
	return m, nil
}

func keyOf(m metav1.Object) string { return m.GetNamespace() + "/" + m.GetName() }

// Text is the JSON of an object with kind and apiVersion, which objects of typed informers lack.
func Text(object any) ([]byte, error) {
	typed, ok := object.(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("berth: %T is no object of Kubernetes", object)
	}
	if typed.GetObjectKind().GroupVersionKind() != (schema.GroupVersionKind{}) {
		return json.Marshal(typed)
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(typed)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	group, kind := kinds[0].ToAPIVersionAndKind()
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,`, group, kind)
	return append([]byte(head), text[1:]...), nil
}

func (f *Feeder) upsert(kind string, object any) error {
	m, err := metaOf(object)
	if err != nil {
		return err
	}
	text, err := Text(object)
	if err != nil {
		return err
	}
	if kind != "Pod" {
		return f.cluster.Upsert(text)
	}
	// One pod after another, so that the order of the informer is that of the cluster.
	f.mutex.Lock()
	defer f.mutex.Unlock()
	key := keyOf(m)
	if before, known := f.uids[key]; known && before != m.GetUID() {
		if err := f.removePod(before); err != nil {
			return err
		}
		delete(f.uids, key)
	}
	if err := f.cluster.Upsert(text); err != nil {
		return err
	}
	f.uids[key] = m.GetUID()
	return nil
}

// removePod deletes a pod. One that is not there was pending, or has finished.
func (f *Feeder) removePod(uid types.UID) error {
	err := f.cluster.Delete(berth.Object{Kind: "Pod", UID: string(uid)})
	if errors.Is(err, berth.NotFound) {
		return nil
	}
	return err
}

func (f *Feeder) remove(kind string, object any) error {
	key := ""
	var uid types.UID
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		// Its object, where there is one, may be older than what was deleted.
		key, object = unknown.Key, unknown.Obj
		if !strings.Contains(key, "/") {
			key = "/" + key
		}
	}
	if m, err := metaOf(object); err == nil {
		key, uid = keyOf(m), m.GetUID()
	} else if key == "" {
		return err
	}
	namespace, name, _ := strings.Cut(key, "/")
	if kind != "Pod" {
		err := f.cluster.Delete(berth.Object{Kind: kind, Namespace: namespace, Name: name})
		if errors.Is(err, berth.NotFound) {
			return nil // refused when it came, which was reported
		}
		return err
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if told, known := f.uids[key]; known {
		uid = told
	}
	if uid == "" {
		return nil // it was never told of
	}
	if err := f.removePod(uid); err != nil {
		return err
	}
	delete(f.uids, key)
	return nil
}

// Replace makes the cluster what a list says of a kind, where there is no informer: what the list does not name is
// deleted. Pods that are assumed stay.
func (f *Feeder) Replace(kind string, objects []runtime.Object) error {
	text := []byte{}
	uids := map[string]types.UID{}
	for _, object := range objects {
		m, err := metaOf(object)
		if err != nil {
			return err
		}
		one, err := Text(object)
		if err != nil {
			return err
		}
		uids[keyOf(m)] = m.GetUID()
		text = append(append(text, one...), '\n')
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := f.cluster.Replace(kind, text); err != nil {
		return err
	}
	if kind == "Pod" {
		f.uids = uids
	}
	return nil
}
