// SPDX-License-Identifier: Apache-2.0

//go:build !v1_36

package upstream

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	resourceinformers "k8s.io/client-go/informers/resource/v1alpha3"
	"k8s.io/klog/v2"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Release is the version that go.mod pins.
const Release = "v1.35.4"

func newCache(ctx context.Context) internalcache.Cache {
	return internalcache.New(ctx, 15*time.Minute, nil)
}

func releaseOptions(internalcache.Cache) []frameworkruntime.Option { return nil }

func deviceTaintRules(factory informers.SharedInformerFactory) resourceinformers.DeviceTaintRuleInformer {
	return factory.Resource().V1alpha3().DeviceTaintRules()
}

func addToQueue(ctx context.Context, queue internalqueue.SchedulingQueue, pod *v1.Pod) {
	queue.Add(klog.FromContext(ctx), pod)
}
