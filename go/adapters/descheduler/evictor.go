// SPDX-License-Identifier: Apache-2.0

// Package descheduler is Berth in the descheduler: an EvictorPlugin that lets a pod go only where kube-scheduler would
// place it again, in place of DefaultEvictor's nodeFit, which asks a few rules.
package descheduler

import (
	"context"

	berth "berth.dev/go"
	"berth.dev/go/adapters/descheduler/fit"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/types"
)

// Name is that of the plugin in a DeschedulerPolicy, among `plugins.preEvictionFilter.enabled`.
const Name = "BerthNodeFit"

// Evictor lets a pod be evicted if it fits another node that is ready.
type Evictor struct {
	cluster *berth.Cluster
	handle  types.Handle
	options fit.Options
	ctx     context.Context
}

var _ types.EvictorPlugin = &Evictor{}

// Args are none: the node selector of DefaultEvictor is not repeated here.
type Args struct {
	metav1.TypeMeta `json:",inline"`
}

// DeepCopyObject makes Args the arguments of a plugin.
func (a *Args) DeepCopyObject() runtime.Object {
	copied := *a
	return &copied
}

// Builder builds the plugin over a cluster, which is the caller's: informers keep it (berth.dev/go/adapters/informer),
// and it outlives the descheduler. With options.IgnoreVolumes pods are judged without their volumes, as by the
// descheduler; otherwise the cluster has to have the storage objects.
func Builder(cluster *berth.Cluster, options fit.Options) pluginregistry.PluginBuilder {
	return func(ctx context.Context, _ runtime.Object, handle types.Handle) (types.Plugin, error) {
		return &Evictor{cluster, handle, options, ctx}, nil
	}
}

// Register makes the plugin known to a registry, such as pluginregistry.PluginRegistry.
func Register(registry pluginregistry.Registry, cluster *berth.Cluster, options fit.Options) {
	noDefaults, alwaysValid := func(runtime.Object) {}, func(runtime.Object) error { return nil }
	pluginregistry.Register(Name, Builder(cluster, options), &Evictor{}, &Args{}, alwaysValid, noDefaults, registry)
}

// Name is that of the plugin.
func (e *Evictor) Name() string { return Name }

// Filter refuses no pod: where a pod can go is asked right before its eviction.
func (e *Evictor) Filter(*corev1.Pod) bool { return true }

// PreEvictionFilter says whether the pod fits a ready node other than its own. A pod that Berth cannot judge, and one
// that cannot be asked about, stays.
func (e *Evictor) PreEvictionFilter(pod *corev1.Pod) bool {
	fits, err := e.fitsElsewhere(pod)
	if err != nil {
		klog.FromContext(e.ctx).Error(err, "no answer of Berth", "plugin", Name, "pod", klog.KObj(pod))
		return false
	}
	return fits
}

func (e *Evictor) fitsElsewhere(pod *corev1.Pod) (bool, error) {
	lister := e.handle.SharedInformerFactory().Core().V1().Nodes().Lister()
	nodes, err := nodeutil.ReadyNodes(e.ctx, e.handle.ClientSet(), lister, "")
	if err != nil {
		return false, err
	}
	names := make([]string, 0, len(nodes))
	for _, node := range nodes {
		if node.Name != pod.Spec.NodeName {
			names = append(names, node.Name)
		}
	}
	state, err := fit.On(e.cluster)
	if err != nil {
		return false, err
	}
	defer state.Close()
	return state.FitsAny(e.ctx, pod, names, e.options)
}
