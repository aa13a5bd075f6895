// SPDX-License-Identifier: Apache-2.0

//go:build v1_36

package upstream

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	resourceinformers "k8s.io/client-go/informers/resource/v1beta2"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Release is the version that v1.36/go.mod pins.
const Release = "v1.36.3"

func newCache(ctx context.Context) internalcache.Cache {
	return internalcache.New(ctx, nil, false)
}

func releaseOptions(cache internalcache.Cache) []frameworkruntime.Option {
	return []frameworkruntime.Option{
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
		frameworkruntime.WithPodGroupManager(cache),
	}
}

func deviceTaintRules(factory informers.SharedInformerFactory) resourceinformers.DeviceTaintRuleInformer {
	return factory.Resource().V1beta2().DeviceTaintRules()
}

func addToQueue(ctx context.Context, queue internalqueue.SchedulingQueue, pod *v1.Pod) {
	queue.Add(ctx, pod)
}
