// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	kubefeatures "k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// served is what the informers list: everything, because the nominator drops pods that the pod informer does not know,
// and the default namespace, which always exists.
func served(c *Cluster) []runtime.Object {
	out := append([]runtime.Object{}, c.Rest...)
	for _, node := range c.Nodes {
		out = append(out, node)
	}
	for _, pod := range c.Pods {
		out = append(out, pod)
	}
	return withDefaultNamespace(out)
}

func withDefaultNamespace(objects []runtime.Object) []runtime.Object {
	for _, o := range objects {
		if ns, ok := o.(*v1.Namespace); ok && ns.Name == v1.NamespaceDefault {
			return objects
		}
	}
	ns := &v1.Namespace{}
	ns.Name = v1.NamespaceDefault
	ns.Labels = map[string]string{v1.LabelMetadataName: v1.NamespaceDefault}
	return append(objects, ns)
}

// ServedToPlugins is what plugins list, without nodes and pods: for a scheduler that gets those directly and has no
// nominations.
func ServedToPlugins(c *Cluster) []runtime.Object {
	return withDefaultNamespace(slices.Clone(c.Rest))
}

// StartInformers returns when all informers have the client's objects. WaitForCacheSync alone checks once and then sleeps
// for 100 ms, which is many times the cost of a small cluster; with a closed channel it only checks.
func StartInformers(ctx context.Context, factory informers.SharedInformerFactory) {
	factory.Start(ctx.Done())
	closed := make(chan struct{})
	close(closed)
	for ctx.Err() == nil && !allTrue(factory.WaitForCacheSync(closed)) {
		time.Sleep(time.Millisecond)
	}
}

func allTrue(synced map[reflect.Type]bool) bool {
	for _, ok := range synced {
		if !ok {
			return false
		}
	}
	return true
}

func newDRAManager(ctx context.Context, client *fake.Clientset, factory informers.SharedInformerFactory) (fwk.SharedDRAManager, error) {
	gates := utilfeature.DefaultFeatureGate
	if !gates.Enabled(kubefeatures.DynamicResourceAllocation) {
		return nil, nil
	}
	claims := factory.Resource().V1().ResourceClaims().Informer()
	claimCache := assumecache.NewAssumeCache(klog.FromContext(ctx), claims, "ResourceClaim", "", nil)
	trackerOptions := resourceslicetracker.Options{
		EnableDeviceTaintRules:   gates.Enabled(kubefeatures.DRADeviceTaintRules),
		EnableConsumableCapacity: gates.Enabled(kubefeatures.DRAConsumableCapacity),
		SliceInformer:            factory.Resource().V1().ResourceSlices(),
		KubeClient:               client,
	}
	if trackerOptions.EnableDeviceTaintRules {
		trackerOptions.TaintInformer = deviceTaintRules(factory)
		trackerOptions.ClassInformer = factory.Resource().V1().DeviceClasses()
	}
	tracker, err := resourceslicetracker.StartTracker(ctx, trackerOptions)
	if err != nil {
		return nil, err
	}
	return dynamicresources.NewDRAManager(ctx, claimCache, tracker, factory), nil
}
