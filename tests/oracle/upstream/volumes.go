// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"cmp"
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-helpers/storage/volume"
	fwk "k8s.io/kube-scheduler/framework"
)

// VolumeWrite is an update of PreBind: a volume that is bound to a claim, or a claim that is to be provisioned for a node.
type VolumeWrite struct {
	Claim  string // namespace/name
	Volume string // empty: the claim's own update
	Node   string // that the claim selects; empty: a volume's update
}

// volumeWrites notes the updates of volumes and claims and answers them; nothing is stored, so that what is assumed stays
// assumed.
type volumeWrites struct {
	noted []VolumeWrite
}

func (w *volumeWrites) watch(client *fake.Clientset) {
	answer := func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(clienttesting.UpdateAction).GetObject()
		switch o := object.(type) {
		case *v1.PersistentVolume:
			w.noted = append(w.noted, VolumeWrite{Claim: o.Spec.ClaimRef.Namespace + "/" + o.Spec.ClaimRef.Name, Volume: o.Name})
		case *v1.PersistentVolumeClaim:
			w.noted = append(w.noted, VolumeWrite{Claim: o.Namespace + "/" + o.Name, Node: o.Annotations[volume.AnnSelectedNode]})
		}
		return true, object, nil
	}
	client.PrependReactor("update", "persistentvolumes", answer)
	client.PrependReactor("update", "persistentvolumeclaims", answer)
}

// ReserveVolumes runs the Reserve plugins, and PreBind as far as its updates of volumes and claims, which it returns sorted.
func (s *Scheduler) ReserveVolumes(ctx context.Context, profile *Profile, state fwk.CycleState, pod *v1.Pod, node string) ([]VolumeWrite, error) {
	if err := profile.RunReservePluginsReserve(ctx, state, pod, node).AsError(); err != nil {
		return nil, err
	}
	s.writes.noted = nil
	// PreBind writes and then waits for the PV controller, which the end of the context cuts short.
	over, cancel := context.WithCancel(ctx)
	cancel()
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = node
	profile.RunPreBindPlugins(over, state, assumed, node)
	slices.SortFunc(s.writes.noted, CompareWrites)
	return s.writes.noted, nil
}

// CompareWrites is the order of lists that are compared.
func CompareWrites(a, b VolumeWrite) int {
	return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Volume, b.Volume), cmp.Compare(a.Node, b.Node))
}
