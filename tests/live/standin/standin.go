// SPDX-License-Identifier: Apache-2.0

// Package standin takes the place of the kubelets and of a storage provisioner: it heartbeats nodes and their leases, makes
// bound pods Running and Ready, ends terminating pods after their grace period, and provisions claims whose node is chosen.
package standin

import (
	"context"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Provisioner is the name that storage classes give to be provisioned here.
const Provisioner = "live.berth.dev/standin"

// Driver is the CSI driver of the volumes that are made here.
const Driver = "live.berth.dev"

// selectedNode is the annotation by which the scheduler asks for a volume.
const selectedNode = "volume.kubernetes.io/selected-node"

// StandIn watches the API server until its context ends.
type StandIn struct {
	client *kubernetes.Clientset
	// Heartbeat is how often nodes and leases are renewed.
	heartbeat time.Duration

	mutex   sync.Mutex
	unready map[string]bool // nodes whose condition is False
	holding bool            // terminating pods stay
}

// Start starts the informers and gives the stand-in once they have the initial lists.
func Start(ctx context.Context, client *kubernetes.Clientset, heartbeat time.Duration) *StandIn {
	s := &StandIn{client: client, heartbeat: heartbeat, unready: map[string]bool{}}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	on(pods, func(pod *core.Pod) { s.pod(ctx, pod) })
	claims := factory.Core().V1().PersistentVolumeClaims().Informer()
	on(claims, func(claim *core.PersistentVolumeClaim) { s.claim(ctx, claim) })
	nodes := factory.Core().V1().Nodes().Informer()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go s.beat(ctx, nodes.GetStore())
	return s
}

func on[T any](informer cache.SharedIndexInformer, act func(T)) {
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { act(o.(T)) },
		UpdateFunc: func(_, o any) { act(o.(T)) },
	})
}

// Hold keeps terminating pods until it is called with false; those held are then ended by Release.
func (s *StandIn) Hold(hold bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.holding = hold
}

func (s *StandIn) beat(ctx context.Context, nodes cache.Store) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.heartbeat):
		}
		for _, object := range nodes.List() {
			node := object.(*core.Node)
			s.mutex.Lock()
			unready := s.unready[node.Name]
			s.mutex.Unlock()
			if !unready {
				_ = s.write(ctx, node.Name, "True")
			}
		}
	}
}

// Condition makes the node Ready ("True") or not ("False"), from now on.
func (s *StandIn) Condition(ctx context.Context, node, status string) error {
	s.mutex.Lock()
	s.unready[node] = status != "True"
	s.mutex.Unlock()
	return s.write(ctx, node, status)
}

func (s *StandIn) write(ctx context.Context, node, status string) error {
	now := meta.Now().UTC().Format(time.RFC3339)
	patch := `{"status":{"conditions":[{"type":"Ready","status":"` + status + `","reason":"KubeletReady","message":"stand-in",` +
		`"lastHeartbeatTime":"` + now + `","lastTransitionTime":"` + now + `"}]}}`
	_, err := s.client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, []byte(patch), meta.PatchOptions{},
		"status")
	return err
}

func (s *StandIn) pod(ctx context.Context, pod *core.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	s.mutex.Lock()
	holding := s.holding
	s.mutex.Unlock()
	switch {
	case pod.DeletionTimestamp != nil:
		if !holding && len(pod.Finalizers) == 0 {
			s.end(ctx, pod)
		}
	case pod.Status.Phase == core.PodPending:
		go s.run(ctx, pod)
	}
}

// end deletes a terminating pod for good, once its grace period is over.
func (s *StandIn) end(ctx context.Context, pod *core.Pod) {
	left := time.Until(pod.DeletionTimestamp.Time)
	time.AfterFunc(max(0, min(left, 30*time.Second)), func() {
		zero := int64(0)
		_ = s.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name,
			meta.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &meta.Preconditions{UID: &pod.UID}})
	})
}

// Release ends the terminating pods that Hold kept.
func (s *StandIn) Release(ctx context.Context) error {
	s.Hold(false)
	pods, err := s.client.CoreV1().Pods("").List(ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.DeletionTimestamp != nil && pod.Spec.NodeName != "" && len(pod.Finalizers) == 0 {
			s.end(ctx, pod)
		}
	}
	return nil
}

func (s *StandIn) run(ctx context.Context, pod *core.Pod) {
	now := meta.Now().UTC().Format(time.RFC3339)
	patch := `{"metadata":{"uid":"` + string(pod.UID) + `"},"status":{"phase":"Running","startTime":"` + now +
		`","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"` + now + `"}]}}`
	_, _ = s.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(patch),
		meta.PatchOptions{}, "status")
}

// claim makes a volume on the chosen node and leaves the binding of the claim to the controller.
func (s *StandIn) claim(ctx context.Context, claim *core.PersistentVolumeClaim) {
	node := claim.Annotations[selectedNode]
	if node == "" || claim.Spec.VolumeName != "" || claim.Spec.StorageClassName == nil || claim.DeletionTimestamp != nil {
		return
	}
	class, err := s.client.StorageV1().StorageClasses().Get(ctx, *claim.Spec.StorageClassName, meta.GetOptions{})
	if err != nil || class.Provisioner != Provisioner {
		return
	}
	volume := &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: "pvc-" + string(claim.UID),
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": Provisioner}},
		Spec: core.PersistentVolumeSpec{
			Capacity:         core.ResourceList{core.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:      claim.Spec.AccessModes,
			StorageClassName: class.Name,
			PersistentVolumeSource: core.PersistentVolumeSource{
				CSI: &core.CSIPersistentVolumeSource{Driver: Driver, VolumeHandle: string(claim.UID)}},
			ClaimRef: &core.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace,
				Name: claim.Name, UID: claim.UID},
			PersistentVolumeReclaimPolicy: core.PersistentVolumeReclaimDelete,
			NodeAffinity: &core.VolumeNodeAffinity{Required: &core.NodeSelector{NodeSelectorTerms: []core.NodeSelectorTerm{{
				MatchExpressions: []core.NodeSelectorRequirement{
					{Key: "kubernetes.io/hostname", Operator: core.NodeSelectorOpIn, Values: []string{node}}}}}}},
		},
	}
	_, _ = s.client.CoreV1().PersistentVolumes().Create(ctx, volume, meta.CreateOptions{})
}
