// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"

	berth "berth.dev/go"
	"berth.dev/go/adapters/informer"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// told is what Berth's cluster was told of a node: it is as the scheduler's snapshot had it at a generation.
type told struct {
	name       string
	generation int64
	node       *v1.Node
	pods       map[types.UID]*v1.Pod // as they were told
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
	moved := len(nodes) != len(p.told.order)
	for i, info := range nodes {
		// The snapshot has its nodes in one order while none comes or goes.
		var known *told
		if name := info.Node().Name; i < len(p.told.order) && p.told.order[i].name == name {
			known = p.told.order[i]
		} else if known, moved = p.told.nodes[name], true; known == nil {
			known = &told{name: name, generation: -1, pods: map[types.UID]*v1.Pod{}}
			p.told.nodes[name] = known
		}
		known.round = p.told.round
		if known.generation == info.GetGeneration() {
			continue
		}
		if err := p.followNode(known, info, objects); err != nil {
			return err
		}
	}
	if moved {
		if err := p.followOrder(nodes); err != nil {
			return err
		}
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

// followOrder deletes the nodes that have left. The mutex is held.
func (p *Plugin) followOrder(nodes []fwk.NodeInfo) error {
	p.told.order = p.told.order[:0]
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
	for _, info := range nodes {
		p.told.order = append(p.told.order, p.told.nodes[info.Node().Name])
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
	known.pods = make(map[types.UID]*v1.Pod, len(info.GetPods()))
	for _, podInfo := range info.GetPods() {
		pod := podInfo.GetPod()
		before, there := left[pod.UID]
		delete(left, pod.UID)
		if there && !all && sameForRules(before, pod) {
			known.pods[pod.UID] = before
			continue
		}
		known.pods[pod.UID] = pod
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

// sameForRules is whether no rule tells two versions of a pod on a node apart: a binding that is confirmed, for one.
func sameForRules(before, now *v1.Pod) bool {
	if before == now || before.ResourceVersion == now.ResourceVersion {
		return true
	}
	a, b := *before, *now
	for _, pod := range []*v1.Pod{&a, &b} {
		pod.ResourceVersion, pod.Generation, pod.ManagedFields = "", 0, nil
		pod.Status.NominatedNodeName, pod.Status.ObservedGeneration, pod.Status.QOSClass = "", 0, ""
		// What a resize waits for changes what the pod requests. Of other conditions rules read nothing.
		var conditions []v1.PodCondition
		for _, condition := range pod.Status.Conditions {
			if condition.Type == v1.PodResizePending || condition.Type == v1.PodResizeInProgress {
				conditions = append(conditions, condition)
			}
		}
		pod.Status.Conditions = conditions
	}
	return equality.Semantic.DeepEqual(&a, &b)
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
		known.pods[pod.UID] = pod
	default:
		delete(known.pods, pod.UID)
	}
}
