// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Profile is upstream's framework of one profile, with the plugin objects inside it: the framework does not expose them,
// and raw scores need them.
type Profile struct {
	framework.Framework
	Plugins map[string]fwk.Plugin
}

// Scheduler is the scheduler without its loop: cache, queue (for nominations) and frameworks, at parallelism 1.
type Scheduler struct {
	Snapshot *internalcache.Snapshot
	Profiles map[string]*Profile
	Pending  []*v1.Pod // in file order; without those that are being deleted or no profile asks for
	logger   klog.Logger
	cache    internalcache.Cache
	queue    internalqueue.SchedulingQueue
	factory  informers.SharedInformerFactory
	nodes    map[string]*v1.Node   // that exist
	unbound  map[types.UID]*v1.Pod // of the cluster as loaded
	writes   volumeWrites
	binder   volumebinding.SchedulerVolumeBinder // of every profile
}

// NewScheduler returns a scheduler with the cluster as loaded, in the snapshot of the first cycle. It lives until ctx ends.
func NewScheduler(ctx context.Context, config *schedulerapi.KubeSchedulerConfiguration, c *Cluster) (*Scheduler, error) {
	metrics.Register()
	s := &Scheduler{
		Snapshot: internalcache.NewEmptySnapshot(),
		Profiles: map[string]*Profile{},
		logger:   klog.FromContext(ctx),
		cache:    newCache(ctx),
		nodes:    map[string]*v1.Node{},
		unbound:  map[types.UID]*v1.Pod{},
	}
	client := fake.NewSimpleClientset(served(c)...)
	s.writes.watch(client)
	factory := scheduler.NewInformerFactory(client, 0)
	s.factory = factory
	draManager, err := newDRAManager(ctx, client, factory)
	if err != nil {
		return nil, err
	}
	frameworkOptions := []frameworkruntime.Option{
		frameworkruntime.WithComponentConfigVersion(config.TypeMeta.APIVersion),
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(orderedFactory{factory}),
		frameworkruntime.WithSharedDRAManager(draManager),
		frameworkruntime.WithSnapshotSharedLister(s.Snapshot),
		frameworkruntime.WithParallelism(1),
		frameworkruntime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Second, ctx.Done())),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
		frameworkruntime.WithLogger(s.logger),
	}
	frameworkOptions = append(frameworkOptions, releaseOptions(s.cache)...)
	for i := range config.Profiles {
		if err := s.addProfile(ctx, &config.Profiles[i], frameworkOptions); err != nil {
			return nil, err
		}
	}
	s.newQueue(config, factory)
	StartInformers(ctx, factory)
	return s, s.load(ctx, c)
}

func (s *Scheduler) addProfile(ctx context.Context, profile *schedulerapi.KubeSchedulerProfile, opts []frameworkruntime.Option) error {
	made := map[string]fwk.Plugin{}
	registry := plugins.NewInTreeRegistry()
	for name, factory := range registry {
		registry[name] = func(ctx context.Context, args runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
			p, err := factory(ctx, args, h)
			if limits, ok := p.(*nodevolumelimits.CSILimits); ok && err == nil {
				p = firstDriver{limits}
			}
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
	s.shareVolumes(made)
	s.Profiles[profile.SchedulerName] = &Profile{Framework: f, Plugins: made}
	return nil
}

// shareVolumes lets every profile see the volumes that a pod of another profile was given. Upstream's profiles have a cache
// of volumes each and learn of each other's writes from the API server; here bindings end before the next pod is
// scheduled, so that those writes have always arrived.
func (s *Scheduler) shareVolumes(plugins map[string]fwk.Plugin) {
	plugin, ok := plugins[names.VolumeBinding].(*volumebinding.VolumeBinding)
	switch {
	case !ok:
	case s.binder == nil:
		s.binder = plugin.Binder
	default:
		plugin.Binder = s.binder
	}
}

func (s *Scheduler) newQueue(config *schedulerapi.KubeSchedulerConfiguration, factory informers.SharedInformerFactory) {
	preEnqueue := map[string]map[string]fwk.PreEnqueuePlugin{}
	for name, p := range s.Profiles {
		preEnqueue[name] = map[string]fwk.PreEnqueuePlugin{}
		for _, plugin := range p.PreEnqueuePlugins() {
			preEnqueue[name][plugin.Name()] = plugin
		}
	}
	first := s.Profiles[config.Profiles[0].SchedulerName]
	s.queue = internalqueue.NewSchedulingQueue(first.QueueSortFunc(), factory, internalqueue.WithPreEnqueuePluginMap(preEnqueue))
	for _, p := range s.Profiles {
		p.SetPodNominator(s.queue)
	}
}

// load fills cache and queue in file order and takes the snapshot of the first cycle. Gated pods are
// evaluated like others, as if the gate were gone, but as in upstream's queue their nominations do not count.
func (s *Scheduler) load(ctx context.Context, c *Cluster) error {
	for _, node := range c.Nodes {
		s.cache.AddNode(s.logger, node)
		s.nodes[node.Name] = node
	}
	for _, pod := range c.Pods {
		if pod.Spec.NodeName == "" {
			s.unbound[pod.UID] = pod
		}
		if pod.Spec.NodeName != "" {
			if err := s.cache.AddPod(s.logger, pod); err != nil {
				return err
			}
		} else if p := s.Profiles[pod.Spec.SchedulerName]; p != nil {
			addToQueue(ctx, s.queue, pod)
			if pod.DeletionTimestamp == nil {
				s.Pending = append(s.Pending, pod)
			}
		}
	}
	return s.TakeSnapshot()
}

// Assume places the pod on the node, like the step between two cycles.
func (s *Scheduler) Assume(pod *v1.Pod, node string) error {
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = node
	if err := s.cache.AssumePod(s.logger, assumed); err != nil {
		return err
	}
	return s.TakeSnapshot()
}

// Denominate removes the pod's nomination.
func (s *Scheduler) Denominate(pod *v1.Pod) {
	s.queue.DeleteNominatedPodIfExists(pod)
}
