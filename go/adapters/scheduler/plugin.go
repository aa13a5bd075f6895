// SPDX-License-Identifier: Apache-2.0

// Package scheduler is an out-of-tree plugin of kube-scheduler that asks Berth in place of the plugins that filter and
// score.
//
//	scheduler.WithFrameworkOutOfTreeRegistry(runtime.Registry{scheduler.Name: scheduler.Factory(engine)})
//
// Its profile disables the plugins that Berth stands for at PreFilter, Filter, PreScore, Score and Reserve, and enables
// Berth there. Queue sort, preemption and binding stay upstream's, and so does DynamicResources, which Berth has not
// built. The engine has the configuration that the profile had before. Volumes are judged, and nothing of them is
// bound: VolumeBinding has to stay as well where pods have claims.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"

	berth "berth.dev/go"
	"berth.dev/go/adapters/informer"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is that of the plugin in a profile.
const Name = "Berth"

// Plugin is one for a profile. Nodes and pods of its cluster follow the scheduler's snapshot at each PreFilter; what
// rules read beside them comes by the informers of the framework.
type Plugin struct {
	cluster *berth.Cluster

	told struct {
		sync.Mutex
		round uint64
		nodes map[string]*told
		order []*told // of the latest snapshot
	}

	mutex   sync.Mutex
	numbers map[string]berth.NodeID
	pods    map[types.UID]*knownPod
	// open is what the latest cycle has opened. A cycle state ends without a call, and cycles come one after another, so
	// that the next PreFilter closes it.
	open []interface{ Close() error }

	// use is held by each call of a cycle while it reads columns, and alone by Close.
	use    sync.RWMutex
	closed bool

	// What cycles read and write, which come one after another.
	latest       *answers
	asked        *askedNodes
	scoresAtOnce bool
	signed       signatures // the mutex guards it, too
}

type knownPod struct {
	version string
	pod     *berth.Pod
}

var (
	_ fwk.PreFilterPlugin = &Plugin{}
	_ fwk.FilterPlugin    = &Plugin{}
	_ fwk.PreScorePlugin  = &Plugin{}
	_ fwk.ScorePlugin     = &Plugin{}
	_ fwk.ReservePlugin   = &Plugin{}
	_ fwk.SignPlugin      = &Plugin{}
)

func newPlugin(cluster *berth.Cluster) *Plugin {
	p := &Plugin{cluster: cluster, numbers: map[string]berth.NodeID{}, pods: map[types.UID]*knownPod{}, scoresAtOnce: true}
	p.told.nodes = map[string]*told{}
	return p
}

// Factory makes the plugin of a profile. The engine is the caller's. The plugin lives until Close, which the framework
// calls.
func Factory(engine *berth.Engine) func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	return func(ctx context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		cluster, err := engine.NewCluster()
		if err != nil {
			return nil, err
		}
		p := newPlugin(cluster)
		if err := p.feed(ctx, handle.SharedInformerFactory()); err != nil {
			return nil, errors.Join(err, p.Close())
		}
		return p, nil
	}
}

// Close gives the cluster back, and all that was opened. A cycle that runs still ends with an error.
func (p *Plugin) Close() error {
	p.use.Lock()
	defer p.use.Unlock()
	p.closed = true
	p.endCycle()
	p.latest.close()
	p.latest = nil
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.signed.forget()
	for _, known := range p.pods {
		known.pod.Close()
	}
	clear(p.pods)
	return p.cluster.Close()
}

// enter keeps Close from freeing columns; leave has to follow, unless there is an error.
func (p *Plugin) enter() error {
	p.use.RLock()
	if p.closed {
		p.use.RUnlock()
		return berth.ErrClosed
	}
	return nil
}

func (p *Plugin) leave() { p.use.RUnlock() }

// Name is that of the plugin.
func (p *Plugin) Name() string { return Name }

// feed registers with the informers of what is not in the scheduler's snapshot. Nominations are the framework's to add.
func (p *Plugin) feed(ctx context.Context, factory informers.SharedInformerFactory) error {
	logger := klog.FromContext(ctx)
	feeder := informer.NewFeeder(p.cluster, func(err error) { logger.Error(err, "Berth does not take an object") })
	core, storage, apps := factory.Core().V1(), factory.Storage().V1(), factory.Apps().V1()
	for kind, of := range map[string]cache.SharedIndexInformer{
		"Namespace": core.Namespaces().Informer(), "Service": core.Services().Informer(),
		"ReplicationController": core.ReplicationControllers().Informer(), "ReplicaSet": apps.ReplicaSets().Informer(),
		"StatefulSet":      apps.StatefulSets().Informer(),
		"PersistentVolume": core.PersistentVolumes().Informer(), "PersistentVolumeClaim": core.PersistentVolumeClaims().Informer(),
		"StorageClass": storage.StorageClasses().Informer(), "CSINode": storage.CSINodes().Informer(),
		"CSIDriver": storage.CSIDrivers().Informer(), "CSIStorageCapacity": storage.CSIStorageCapacities().Informer(),
	} {
		if _, err := of.AddEventHandler(feeder.Handler(kind)); err != nil {
			return err
		}
	}
	_, err := core.Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: p.forgetHandle})
	return err
}

func podOf(object any) *v1.Pod {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, _ := object.(*v1.Pod)
	return pod
}

func (p *Plugin) forgetHandle(object any) {
	if pod := podOf(object); pod != nil {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		if known, there := p.pods[pod.UID]; there {
			known.pod.Close()
			delete(p.pods, pod.UID)
		}
	}
}

// prepared is the pod as Berth asks about it, read once per version.
func (p *Plugin) prepared(pod *v1.Pod) (*berth.Pod, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if known, there := p.pods[pod.UID]; there {
		if known.version == pod.ResourceVersion {
			return known.pod, nil
		}
		p.open = append(p.open, known.pod) // a cycle may have it still
		delete(p.pods, pod.UID)
	}
	text, err := informer.Text(pod)
	if err != nil {
		return nil, err
	}
	made, err := p.cluster.NewPod(text, nil)
	if err != nil {
		return nil, err
	}
	p.pods[pod.UID] = &knownPod{pod.ResourceVersion, made}
	return made, nil
}

// number is that of a node name; NotFound where the node has not come to the cluster yet.
func (p *Plugin) number(name string) (berth.NodeID, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if number, known := p.numbers[name]; known {
		return number, nil
	}
	number, err := p.cluster.FindNode(name)
	if err == nil {
		p.numbers[name] = number
	}
	return number, err
}

// opened is closed when the next cycle begins.
func (p *Plugin) opened(handle interface{ Close() error }) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.open = append(p.open, handle)
}

func (p *Plugin) endCycle() {
	p.mutex.Lock()
	open := p.open
	p.open = nil
	p.mutex.Unlock()
	for _, handle := range open {
		handle.Close()
	}
}

func failed(err error) *fwk.Status { return fwk.AsStatus(fmt.Errorf("berth: %w", err)) }

// Reserve assumes the pod in Berth's cluster; the scheduler's snapshot confirms it.
func (p *Plugin) Reserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	prepared, err := p.prepared(pod)
	if err != nil {
		return failed(err)
	}
	number, err := p.number(nodeName)
	if err != nil {
		return failed(err)
	}
	if err := p.assumed(prepared, number); err != nil {
		return failed(err)
	}
	p.stands(pod, nodeName, true)
	return nil
}

// Unreserve forgets it, or deletes it if it was confirmed meanwhile.
func (p *Plugin) Unreserve(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, nodeName string) {
	prepared, err := p.prepared(pod)
	if err == nil {
		err = p.cluster.Forget(prepared)
	}
	if errors.Is(err, berth.NotFound) {
		err = p.deleted(berth.Object{Kind: "Pod", UID: string(pod.UID)})
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Berth does not forget a pod", "pod", klog.KObj(pod))
		return
	}
	p.stands(pod, nodeName, false)
}
