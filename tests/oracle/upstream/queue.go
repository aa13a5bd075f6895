// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// NewCache returns an empty cache of the release.
func NewCache(ctx context.Context) internalcache.Cache { return newCache(ctx) }

// PluginOptions is what the release's plugins need besides informers and a snapshot.
func PluginOptions(ctx context.Context, client *fake.Clientset, factory informers.SharedInformerFactory, cache internalcache.Cache) ([]frameworkruntime.Option, error) {
	draManager, err := newDRAManager(ctx, client, factory)
	if err != nil {
		return nil, err
	}
	return append([]frameworkruntime.Option{
		frameworkruntime.WithSharedDRAManager(draManager),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
	}, releaseOptions(cache)...), nil
}
