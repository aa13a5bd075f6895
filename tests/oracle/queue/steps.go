// SPDX-License-Identifier: Apache-2.0

//go:build berth_queue

package main

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// run draws and takes the steps, and ends with the queue popped empty.
func (h *history) run(steps int) error {
	for i := 0; i < steps && !h.isCut; i++ {
		if err := h.step(); err != nil {
			return err
		}
	}
	if h.isCut {
		cuts++
		return nil
	}
	if err := h.passTime(400 * time.Second); err != nil {
		return err
	}
	for len(h.queue.PodsInActiveQ()) > 0 {
		if err := h.pop(); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) step() error {
	switch n := h.random.Intn(40); {
	case n < 5:
		return h.changePending()
	case n < 11:
		return h.pop()
	case n < 17:
		return h.endAttempt()
	case n < 22:
		return h.changeNode()
	case n < 26:
		return h.changeBound()
	case n < 29:
		pauses := []time.Duration{1, 1000, 300_000, 700_000, 1_000_000, 1_700_000, 4_000_000, 11_000_000, 45_000_000}
		return h.passTime(pauses[h.random.Intn(len(pauses))] * time.Microsecond)
	case n < 30:
		return h.activate()
	case n < 31:
		return h.turnPreemption()
	case n < 39:
		return h.changeStorage()
	default:
		return h.nominate()
	}
}

func some[T any](h *history, from map[string]T) (string, bool) {
	names := make([]string, 0, len(from))
	for name := range from {
		names = append(names, name)
	}
	if len(names) == 0 {
		return "", false
	}
	slices.Sort(names)
	return names[h.random.Intn(len(names))], true
}

// passTime lets the flushes between come in time, as Run's tasks do.
func (h *history) passTime(pause time.Duration) error {
	until := h.clock.Now().Add(pause)
	for {
		next := h.nextFlush
		if h.nextLeft.Before(next) {
			next = h.nextLeft
		}
		if next.After(until) {
			break
		}
		h.clock.SetTime(next)
		if !h.nextFlush.After(next) {
			h.queue.BerthFlushBackoff(h.logger)
			h.nextFlush = h.nextFlush.Add(time.Second)
		}
		if !h.nextLeft.After(next) {
			h.queue.BerthFlushLeftover(h.logger)
			h.nextLeft = h.nextLeft.Add(30 * time.Second)
		}
	}
	h.clock.SetTime(until)
	return h.write(step{Op: "time", ToUs: until.UnixMicro()})
}

// changePending creates, changes or deletes a pending pod.
func (h *history) changePending() error {
	name := fmt.Sprintf("p%d", h.random.Intn(14))
	before := h.pods[name]
	if h.bound[name] != nil {
		return nil // the name is taken
	}
	if before == nil {
		return h.changePod(nil, h.drawPod(name))
	}
	if h.oneIn(6) {
		return h.changePod(before, nil)
	}
	return h.changePod(before, h.drawUpdate(before))
}

func (h *history) changePod(before, after *v1.Pod) error {
	pods := h.pods
	switch {
	case before == nil:
		if after.Spec.NodeName != "" {
			pods = h.bound
		}
		pods[after.Name] = after
		_ = h.indexer.Add(after)
		h.handlers.BerthAddPod(after)
	case after == nil:
		delete(h.pods, before.Name)
		delete(h.bound, before.Name)
		delete(h.assumed, before.Name)
		_ = h.indexer.Delete(before)
		h.handlers.BerthDeletePod(before)
	default:
		if after.Spec.NodeName != "" {
			delete(h.pods, after.Name)
			delete(h.assumed, after.Name)
			pods = h.bound
		}
		if after.DeletionTimestamp != nil && before.DeletionTimestamp == nil {
			delete(h.assumed, after.Name)
		}
		pods[after.Name] = after
		_ = h.indexer.Add(after)
		h.handlers.BerthUpdatePod(before, after)
	}
	return h.write(step{Op: "pod", OldPod: before, NewPod: after})
}

func (h *history) changeNode() error {
	name := fmt.Sprintf("n%d", h.random.Intn(4))
	before := h.nodes[name]
	s := step{Op: "node", OldNode: before}
	switch {
	case before == nil:
		s.NewNode = h.drawNode(name)
		h.handlers.BerthAddNode(s.NewNode)
	case h.oneIn(5):
		h.handlers.BerthDeleteNode(before)
	default:
		s.NewNode = h.drawNodeUpdate(before)
		h.handlers.BerthUpdateNode(before, s.NewNode)
	}
	if delete(h.nodes, name); s.NewNode != nil {
		h.nodes[name] = s.NewNode
	}
	return h.write(s)
}

// changeBound is about pods that somebody else placed, and about those that were placed here.
func (h *history) changeBound() error {
	name, any := some(h, h.bound)
	if !any || h.oneIn(3) {
		h.created++
		pod := h.drawPod(fmt.Sprintf("r%d", h.created))
		pod.Spec.SchedulingGates = nil
		pod.Status.NominatedNodeName = ""
		pod.Spec.NodeName = fmt.Sprintf("n%d", h.random.Intn(4))
		return h.changePod(nil, pod)
	}
	before := h.bound[name]
	if h.oneIn(2) {
		return h.changePod(before, nil)
	}
	return h.changePod(before, h.drawUpdate(before))
}

// pop takes all pods that are equal to the first, because upstream's heap leaves their order open.
func (h *history) pop() error {
	fromActive := len(h.queue.PodsInActiveQ()) > 0
	s := step{Op: "pop"}
	if !fromActive && (!h.earlyPop || len(h.popsEarly()) == 0) {
		return h.write(s)
	}
	first, err := h.popOne(&s)
	if err != nil {
		return err
	}
	for h.hasEqual(first, fromActive) {
		if _, err := h.popOne(&s); err != nil {
			return err
		}
	}
	return h.write(s)
}

func (h *history) popOne(s *step) (framework.QueuedPodInfo, error) {
	info, err := h.queue.Pop(h.logger)
	if err != nil {
		return framework.QueuedPodInfo{}, err
	}
	copied := *info
	s.Popped = append(s.Popped, fmt.Sprintf("%s@%d", info.Pod.Name, info.Timestamp.UnixMicro()))
	h.tries[info.Pod.Name] = info
	return copied, nil
}

// popsEarly lists the pods of podBackoffQ: those with a rejector.
func (h *history) popsEarly() []*framework.QueuedPodInfo {
	var infos []*framework.QueuedPodInfo
	for _, pod := range h.queue.PodsInBackoffQ() {
		info, _ := h.queue.GetPod(pod.Name, pod.Namespace)
		if info.UnschedulablePlugins.Len()+info.PendingPlugins.Len() > 0 {
			infos = append(infos, info)
		}
	}
	return infos
}

func (h *history) hasEqual(first framework.QueuedPodInfo, active bool) bool {
	infos := h.popsEarly()
	if active {
		infos = nil
		for _, pod := range h.queue.PodsInActiveQ() {
			info, _ := h.queue.GetPod(pod.Name, pod.Namespace)
			infos = append(infos, info)
		}
	} else if len(h.queue.PodsInActiveQ()) > 0 {
		return false
	}
	return slices.ContainsFunc(infos, func(info *framework.QueuedPodInfo) bool {
		equal := priority(info.Pod) == priority(first.Pod) && info.Timestamp.Equal(first.Timestamp)
		return equal && (active || h.expiry(info).Equal(h.expiry(&first)))
	})
}

func priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

func (h *history) expiry(info *framework.QueuedPodInfo) time.Time {
	count := info.UnschedulableCount
	if info.ConsecutiveErrorsCount > 0 {
		count = info.ConsecutiveErrorsCount
	}
	wait := h.head.InitialUs
	for i := 1; i < count && wait < h.head.MaxUs; i++ {
		wait *= 2
	}
	end := info.Timestamp.Add(time.Duration(min(wait, h.head.MaxUs)) * time.Microsecond)
	if h.earlyPop {
		end = end.Truncate(time.Second)
	}
	return end
}

var rejectors = []string{"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
	"PodTopologySpread", "InterPodAffinity", "NodeDeclaredFeatures", "DefaultPreemption", "SchedulingGates",
	"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "VolumeBinding", "NodeVolumeLimits"}

// endAttempt lets an attempt fail, or brings it a step further on its way to a node.
func (h *history) endAttempt() error {
	name, any := some(h, h.tries)
	if !any {
		return nil
	}
	info := h.tries[name]
	newest := h.pods[name]
	if newest == nil || newest.UID != info.Pod.UID {
		delete(h.tries, name)
		h.queue.Done(info.Pod.UID)
		return h.write(step{Op: "done", Name: name})
	}
	if assumed := h.assumed[name]; assumed != nil {
		return h.endBinding(name, newest, assumed)
	}
	if h.oneIn(5) {
		return h.assume(name, info)
	}
	s := step{Op: "fail", Name: name}
	for count := h.random.Intn(4); count > 0; count-- {
		plugin := rejectors[h.random.Intn(len(rejectors))]
		if h.oneIn(5) {
			s.Pending = append(s.Pending, plugin)
		} else {
			s.Rejected = append(s.Rejected, plugin)
		}
	}
	return h.fail(s, info, newest)
}

func (h *history) fail(s step, info *framework.QueuedPodInfo, newest *v1.Pod) error {
	delete(h.tries, s.Name)
	podInfo, err := framework.NewPodInfo(newest.DeepCopy())
	if err != nil && podInfo == nil {
		return err
	}
	info.PodInfo = podInfo
	info.UnschedulablePlugins = sets.New(s.Rejected...)
	info.PendingPlugins = sets.New(s.Pending...)
	info.GatingPlugin, info.GatingPluginEvents = "", nil
	_ = h.queue.AddUnschedulableIfNotPresent(h.logger, info, h.queue.SchedulingCycle())
	return h.write(s)
}

func (h *history) assume(name string, info *framework.QueuedPodInfo) error {
	node := fmt.Sprintf("n%d", h.random.Intn(4))
	assumed := info.Pod.DeepCopy()
	assumed.Spec.NodeName = node
	if err := h.cache.AssumePod(h.logger, assumed); err != nil {
		return err
	}
	h.assumed[name] = assumed
	h.queue.DeleteNominatedPodIfExists(info.Pod)
	h.queue.Done(info.Pod.UID)
	return h.write(step{Op: "assume", Name: name, Node: &node})
}

// endBinding binds the pod, or forgets it again and lets the attempt fail.
func (h *history) endBinding(name string, newest, assumed *v1.Pod) error {
	if h.oneIn(2) {
		bound := newest.DeepCopy()
		bound.Spec.NodeName = assumed.Spec.NodeName
		h.renew(bound)
		delete(h.tries, name)
		return h.changePod(newest, bound)
	}
	delete(h.assumed, name)
	if err := h.cache.ForgetPod(h.logger, assumed); err != nil {
		return err
	}
	s := step{Op: "forget", Name: name, On: h.oneIn(2)}
	except := func(pod *v1.Pod) bool { return pod.UID != assumed.UID }
	if !s.On {
		except = nil
	}
	h.queue.MoveAllToActiveOrBackoffQueue(h.logger, framework.EventAssignedPodDelete, assumed, nil, except)
	if err := h.write(s); err != nil {
		return err
	}
	return h.fail(step{Op: "fail", Name: name}, h.tries[name], newest)
}

func (h *history) activate() error {
	name, any := some(h, h.pods)
	if !any {
		return nil
	}
	h.queue.Activate(h.logger, map[string]*v1.Pod{name: h.pods[name]})
	return h.write(step{Op: "activate", Name: name})
}

func (h *history) turnPreemption() error {
	name, any := some(h, h.pods)
	if !any {
		return nil
	}
	uid := string(h.pods[name].UID)
	h.preempting[uid] = !h.preempting[uid]
	return h.write(step{Op: "preemption", Name: name, On: h.preempting[uid]})
}

func (h *history) nominate() error {
	name, any := some(h, h.pods)
	if !any {
		return nil
	}
	s := step{Op: "nominate", Name: name}
	info, err := framework.NewPodInfo(h.pods[name])
	if err != nil && info == nil {
		return err
	}
	var nominating *fwk.NominatingInfo
	if !h.oneIn(3) {
		node := fmt.Sprintf("n%d", h.random.Intn(2))
		s.Node = &node
		nominating = &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: node}
	}
	h.queue.AddNominatedPod(h.logger, info, nominating)
	return h.write(s)
}
