// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	kubefeatures "k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// profileRuntime is the genuine framework of one profile together with the plugin objects inside it, which the
// framework does not give out and raw scores need.
type profileRuntime struct {
	framework.Framework
	plugins map[string]fwk.Plugin
}

// oracleScheduler is the scheduler without its loop: cache, queue (for nominations and gates) and frameworks.
type oracleScheduler struct {
	logger   klog.Logger
	cache    internalcache.Cache
	snapshot *internalcache.Snapshot
	queue    internalqueue.SchedulingQueue
	profiles map[string]*profileRuntime
	pending  []*v1.Pod
}

func readConfig(path string) (*schedulerapi.KubeSchedulerConfiguration, error) {
	if path == "" {
		return latest.Default()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	object, gvk, err := scheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	config, ok := object.(*schedulerapi.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("%s holds %s", path, gvk)
	}
	config.TypeMeta.APIVersion = gvk.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(config); err != nil {
		return nil, err
	}
	return config, nil
}

func newScheduler(ctx context.Context, config *schedulerapi.KubeSchedulerConfiguration, c *cluster) (*oracleScheduler, error) {
	metrics.Register()
	s := &oracleScheduler{
		logger:   klog.FromContext(ctx),
		cache:    internalcache.New(ctx, 15*time.Minute, nil),
		snapshot: internalcache.NewEmptySnapshot(),
		profiles: map[string]*profileRuntime{},
	}
	client := fake.NewSimpleClientset(served(c)...)
	factory := scheduler.NewInformerFactory(client, 0)
	draManager, err := newDRAManager(ctx, client, factory)
	if err != nil {
		return nil, err
	}
	frameworkOptions := []frameworkruntime.Option{
		frameworkruntime.WithComponentConfigVersion(config.TypeMeta.APIVersion),
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedDRAManager(draManager),
		frameworkruntime.WithSnapshotSharedLister(s.snapshot),
		frameworkruntime.WithParallelism(1),
		frameworkruntime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Second, ctx.Done())),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithEventRecorder(events.NewFakeRecorder(1)),
		frameworkruntime.WithLogger(s.logger),
	}
	for i := range config.Profiles {
		if err := s.addProfile(ctx, &config.Profiles[i], frameworkOptions); err != nil {
			return nil, err
		}
	}
	s.newQueue(config, factory)
	factory.Start(ctx.Done())
	for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return nil, fmt.Errorf("informer of %v did not start", kind)
		}
	}
	return s, s.load(c)
}

// served is what the informers list: everything, because the nominator drops pods that the pod informer does not know,
// and the default namespace, which always exists.
func served(c *cluster) []runtime.Object {
	out := append([]runtime.Object{}, c.rest...)
	for _, node := range c.nodes {
		out = append(out, node)
	}
	for _, pod := range c.pods {
		out = append(out, pod)
	}
	for _, o := range c.rest {
		if ns, ok := o.(*v1.Namespace); ok && ns.Name == v1.NamespaceDefault {
			return out
		}
	}
	ns := &v1.Namespace{}
	ns.Name = v1.NamespaceDefault
	ns.Labels = map[string]string{v1.LabelMetadataName: v1.NamespaceDefault}
	return append(out, ns)
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
		trackerOptions.TaintInformer = factory.Resource().V1alpha3().DeviceTaintRules()
		trackerOptions.ClassInformer = factory.Resource().V1().DeviceClasses()
	}
	tracker, err := resourceslicetracker.StartTracker(ctx, trackerOptions)
	if err != nil {
		return nil, err
	}
	return dynamicresources.NewDRAManager(ctx, claimCache, tracker, factory), nil
}

func (s *oracleScheduler) addProfile(ctx context.Context, profile *schedulerapi.KubeSchedulerProfile, opts []frameworkruntime.Option) error {
	made := map[string]fwk.Plugin{}
	registry := plugins.NewInTreeRegistry()
	for name, factory := range registry {
		registry[name] = func(ctx context.Context, args runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
			p, err := factory(ctx, args, h)
			if err == nil {
				made[name] = p
			}
			return p, err
		}
	}
	f, err := frameworkruntime.NewFramework(ctx, registry, profile, opts...)
	if err != nil {
		return fmt.Errorf("profile %s: %w", profile.SchedulerName, err)
	}
	s.profiles[profile.SchedulerName] = &profileRuntime{Framework: f, plugins: made}
	return nil
}

func (s *oracleScheduler) newQueue(config *schedulerapi.KubeSchedulerConfiguration, factory informers.SharedInformerFactory) {
	preEnqueue := map[string]map[string]fwk.PreEnqueuePlugin{}
	for name, p := range s.profiles {
		preEnqueue[name] = map[string]fwk.PreEnqueuePlugin{}
		for _, plugin := range p.PreEnqueuePlugins() {
			preEnqueue[name][plugin.Name()] = plugin
		}
	}
	first := s.profiles[config.Profiles[0].SchedulerName]
	s.queue = internalqueue.NewSchedulingQueue(first.QueueSortFunc(), factory, internalqueue.WithPreEnqueuePluginMap(preEnqueue))
	for _, p := range s.profiles {
		p.SetPodNominator(s.queue)
	}
}

// load fills cache and queue in file order and takes the snapshot of the first cycle. Gated pods are asked about like
// others (what would be, were the gate gone), but as in the genuine queue their nominations do not count.
func (s *oracleScheduler) load(c *cluster) error {
	for _, node := range c.nodes {
		s.cache.AddNode(s.logger, node)
	}
	for _, pod := range c.pods {
		if pod.Spec.NodeName != "" {
			if err := s.cache.AddPod(s.logger, pod); err != nil {
				return err
			}
		} else if p := s.profiles[pod.Spec.SchedulerName]; p != nil {
			s.queue.Add(s.logger, pod)
			if pod.DeletionTimestamp == nil {
				s.pending = append(s.pending, pod)
			}
		}
	}
	return s.cache.UpdateSnapshot(s.logger, s.snapshot)
}
