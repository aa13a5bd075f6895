// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"math/rand"
	"time"

	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"berth.dev/tests/oracle/upstream"
)

// pluginMetricsSamplePercent of the cycles time each plugin, as in upstream's loop.
const pluginMetricsSamplePercent = 10

type timedScheduler struct {
	*scheduler.Scheduler
	pending int // pods in the queue
}

// newScheduler returns upstream's scheduler without its event handlers: nodes and pods go to its cache and queue in file
// order; informers would give them in map order.
func newScheduler(ctx context.Context, config *schedulerapi.KubeSchedulerConfiguration, c *upstream.Cluster, o options) (*timedScheduler, error) {
	client := fake.NewSimpleClientset(upstream.ServedToPlugins(c)...)
	factory := scheduler.NewInformerFactory(client, 0)
	percentage := int32(o.percentage)
	s, err := scheduler.New(ctx, client, factory, nil,
		func(string) events.EventRecorder { return &events.FakeRecorder{} },
		scheduler.WithComponentConfigVersion(config.TypeMeta.APIVersion),
		scheduler.WithProfiles(config.Profiles...),
		scheduler.WithParallelism(int32(o.parallelism)),
		scheduler.WithPercentageOfNodesToScore(&percentage),
	)
	if err != nil {
		return nil, err
	}
	upstream.StartInformers(ctx, factory)
	if err := s.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	// The nominator drops pods that the informer does not know, and DefaultPreemption asks it for the latest object.
	known := factory.Core().V1().Pods().Informer().GetIndexer()
	for _, pod := range c.Pods {
		if pod.Spec.NodeName == "" {
			if err := known.Add(pod); err != nil {
				return nil, err
			}
		}
	}
	t := &timedScheduler{Scheduler: s}
	return t, t.load(ctx, c)
}

func (s *timedScheduler) load(ctx context.Context, c *upstream.Cluster) error {
	logger := klog.FromContext(ctx)
	for _, node := range c.Nodes {
		s.Cache.AddNode(logger, node)
	}
	for _, pod := range c.Pods {
		if pod.Spec.NodeName != "" {
			if err := s.Cache.AddPod(logger, pod); err != nil {
				return err
			}
		} else if s.Profiles.HandlesSchedulerName(pod.Spec.SchedulerName) {
			s.SchedulingQueue.Add(logger, pod)
		}
	}
	s.pending = len(s.SchedulingQueue.PodsInActiveQ())
	return nil
}

// next schedules the pod at the head of the queue, which must not be empty, and returns how long it took.
func (s *timedScheduler) next(ctx context.Context) (took time.Duration, placed bool, err error) {
	logger := klog.FromContext(ctx)
	queued, err := s.NextPod(logger)
	if err != nil {
		return 0, false, err
	}
	defer s.SchedulingQueue.Done(queued.Pod.UID)

	start := time.Now()
	state := framework.NewCycleState()
	state.SetRecordPluginMetrics(rand.Intn(100) < pluginMetricsSamplePercent)
	chosen, err := s.SchedulePod(ctx, s.Profiles[queued.Pod.Spec.SchedulerName], state, queued.Pod)
	if err == nil {
		err = s.assume(logger, queued, chosen.SuggestedHost)
		return time.Since(start), true, err
	}
	var unfit *framework.FitError
	if errors.As(err, &unfit) || errors.Is(err, scheduler.ErrNoNodesAvailable) {
		err = nil
	}
	return time.Since(start), false, err
}

func (s *timedScheduler) assume(logger klog.Logger, queued *framework.QueuedPodInfo, node string) error {
	assumed := queued.DeepCopy().Pod
	assumed.Spec.NodeName = node
	if err := s.Cache.AssumePod(logger, assumed); err != nil {
		return err
	}
	s.SchedulingQueue.DeleteNominatedPodIfExists(assumed)
	return nil
}
