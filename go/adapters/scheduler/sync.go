// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"

	berth "berth.dev/go"
	"berth.dev/go/adapters/informer"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// told is what Berth's cluster was told of a node: it is as the scheduler's snapshot had it at a generation.
type told struct {
	generation int64
	node       *v1.Node
	pods       map[types.UID]string // with the version of each
	round      uint64
}

// follow makes nodes and pods of Berth's cluster those of the scheduler's snapshot, so that both judge one state. It
// looks at the generation of every node, and at the pods of those that have changed. Informers would tell the same, at
// another time than the scheduler's own.
func (p *Plugin) follow(nodes []fwk.NodeInfo) error {
	p.told.Lock()
	defer p.told.Unlock()
	p.told.round++
	objects := &berth.Bulk{}
	for _, info := range nodes {
		known := p.told.nodes[info.Node().Name]
		if known == nil {
			known = &told{generation: -1, pods: map[types.UID]string{}}
			p.told.nodes[info.Node().Name] = known
		}
		known.round = p.told.round
		if known.generation == info.GetGeneration() {
			continue
		}
		if err := p.followNode(known, info, objects); err != nil {
			return err
		}
	}
	for name, known := range p.told.nodes {
		if known.round == p.told.round {
			continue
		}
		for uid := range known.pods {
			if err := p.deleted(berth.Object{Kind: "Pod", UID: string(uid)}); err != nil {
				return err
			}
		}
		if err := p.deleted(berth.Object{Kind: "Node", Name: name}); err != nil {
			return err
		}
		delete(p.told.nodes, name)
	}
	if err := p.cluster.UpsertBulk(objects); err != nil {
		// What was told is not known any more: the next cycle tells everything.
		for _, known := range p.told.nodes {
			known.generation, known.node = -1, nil
		}
		return err
	}
	return nil
}

// followNode deletes the pods that have left, and collects what has come or changed. The mutex is held.
func (p *Plugin) followNode(known *told, info fwk.NodeInfo, objects *berth.Bulk) error {
	all := known.node == nil
	if known.node != info.Node() {
		text, err := informer.Text(info.Node())
		if err != nil {
			return err
		}
		objects.Append(text)
	}
	left := known.pods
	known.pods = make(map[types.UID]string, len(info.GetPods()))
	for _, podInfo := range info.GetPods() {
		pod := podInfo.GetPod()
		version, there := left[pod.UID]
		known.pods[pod.UID] = pod.ResourceVersion
		delete(left, pod.UID)
		if there && version == pod.ResourceVersion && !all {
			continue
		}
		text, err := informer.Text(pod)
		if err != nil {
			return err
		}
		objects.Append(text)
	}
	for uid := range left {
		if err := p.deleted(berth.Object{Kind: "Pod", UID: string(uid)}); err != nil {
			return err
		}
	}
	known.node, known.generation = info.Node(), info.GetGeneration()
	return nil
}

// deleted deletes what may be gone already.
func (p *Plugin) deleted(object berth.Object) error {
	if err := p.cluster.Delete(object); err != nil && !errors.Is(err, berth.NotFound) {
		return err
	}
	return nil
}

// stands notes that a pod was assumed on a node, or that it was forgotten.
func (p *Plugin) stands(pod *v1.Pod, nodeName string, stands bool) {
	p.told.Lock()
	defer p.told.Unlock()
	known := p.told.nodes[nodeName]
	switch {
	case known == nil:
	case stands:
		known.pods[pod.UID] = pod.ResourceVersion
	default:
		delete(known.pods, pod.UID)
	}
}
