// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"berth.dev/tests/oracle/upstream"
)

// embedQuestions are what bench/engine/bench_embed_peer.cpp writes.
type embedQuestions struct {
	Pods     map[string]json.RawMessage
	Checked  []string
	Drained  []string
	Estimate struct {
		Node json.RawMessage
		Pods []json.RawMessage
	}
	Running []json.RawMessage
}

type embedRow struct {
	Name   string  `json:"name"`
	Us     float64 `json:"us"`     // of one question, in the fastest round: the machine may be shared
	Answer int64   `json:"answer"` // nodes that fit, pods that moved or were placed
}

type embedResult struct {
	Version     string     `json:"version"`
	Parallelism int        `json:"parallelism"`
	Rows        []embedRow `json:"rows"`
}

// asker puts questions to the framework as a program does that imports it: PreFilter once a pod, then Filter node by node. Only
// these calls are timed; copies of nodes, the cache and its snapshot are not.
type asker struct {
	*timedScheduler
	ctx       context.Context
	f         framework.Framework
	snapshot  *internalcache.Snapshot
	names     []string                // of the nodes, in file order
	nodes     map[string]fwk.NodeInfo // of the snapshot, which changes them in place
	questions embedQuestions
	limit     time.Duration // of one row
	result    embedResult
}

func measureEmbedding(ctx context.Context, cluster *upstream.Cluster, config *schedulerapi.KubeSchedulerConfiguration, o options) (any, error) {
	data, err := os.ReadFile(o.embed)
	if err != nil {
		return nil, err
	}
	s, err := newScheduler(ctx, config, cluster, o)
	if err != nil {
		return nil, err
	}
	f := s.Profiles[v1.DefaultSchedulerName]
	a := &asker{
		timedScheduler: s, ctx: ctx, f: f, snapshot: f.SnapshotSharedLister().(*internalcache.Snapshot), nodes: map[string]fwk.NodeInfo{},
		limit: time.Duration(o.maxSeconds * float64(time.Second)), result: embedResult{Version: upstream.Release, Parallelism: o.parallelism},
	}
	if err := json.Unmarshal(data, &a.questions); err != nil {
		return nil, err
	}
	for _, node := range cluster.Nodes {
		a.names = append(a.names, node.Name)
	}
	if err := a.update(); err != nil {
		return nil, err
	}
	return &a.result, a.askAll()
}

func (a *asker) askAll() error {
	for _, name := range []string{"plain", "spread", "anti-affinity"} {
		if err := a.check(name, "check "+name); err != nil {
			return err
		}
	}
	for _, ask := range []func() error{
		func() error { return a.anyNode("plain", "any node plain") }, func() error { return a.anyNode("nowhere", "any node nowhere") },
		a.drain, a.estimate, a.replaceRunning,
		func() error { return a.check("plain", "check plain among anti-affinity") },
		func() error { return a.anyNode("plain", "any node plain among anti-affinity") },
		func() error { return a.anyNode("nowhere", "any node nowhere among anti-affinity") },
	} {
		if err := ask(); err != nil {
			return err
		}
	}
	return nil
}

// update brings the snapshot to the cache.
func (a *asker) update() error {
	if err := a.Cache.UpdateSnapshot(klog.FromContext(a.ctx), a.snapshot); err != nil {
		return err
	}
	nodes, err := a.snapshot.NodeInfos().List()
	if err != nil {
		return err
	}
	clear(a.nodes)
	for _, node := range nodes {
		a.nodes[node.Node().Name] = node
	}
	return nil
}

func readPod(raw json.RawMessage) (*v1.Pod, error) {
	object, err := upstream.ReadCreated(raw)
	if err != nil {
		return nil, err
	}
	pod, ok := object.(*v1.Pod)
	if !ok {
		return nil, fmt.Errorf("%T is no pod", object)
	}
	return pod, nil
}

// preFilter returns nil where PreFilter refuses the pod.
func (a *asker) preFilter(pod *v1.Pod) fwk.CycleState {
	state := framework.NewCycleState()
	if _, status, _ := a.f.RunPreFilterPlugins(a.ctx, state, pod); !status.IsSuccess() {
		return nil
	}
	return state
}

// firstFitting asks the nodes, and returns one that fits, or "": the first one where parallelism is 1.
func (a *asker) firstFitting(pod *v1.Pod, nodes []fwk.NodeInfo) string {
	state := a.preFilter(pod)
	if state == nil {
		return ""
	}
	var found atomic.Int64
	found.Store(int64(len(nodes)))
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	a.f.Parallelizer().Until(ctx, len(nodes), func(i int) {
		if !a.f.RunFilterPlugins(ctx, state, pod, nodes[i]).IsSuccess() {
			return
		}
		cancel()
		for known := found.Load(); int64(i) < known && !found.CompareAndSwap(known, int64(i)); known = found.Load() {
		}
	}, "")
	if i := found.Load(); i < int64(len(nodes)) {
		return nodes[i].Node().Name
	}
	return ""
}

// row times rounds until the limit has passed. @param count what a round asks
func (a *asker) row(name string, count int, round func() (time.Duration, int64, error)) error {
	var all []time.Duration
	var spent time.Duration
	var answer int64
	for len(all) == 0 || (spent < a.limit && len(all) < 41) {
		took, said, err := round()
		if err != nil {
			return err
		}
		all, answer = append(all, took), said
		spent += took
	}
	slices.Sort(all)
	us := float64(all[0].Nanoseconds()) / 1000 / float64(count)
	a.result.Rows = append(a.result.Rows, embedRow{Name: name, Us: us, Answer: answer})
	return nil
}

func (a *asker) check(pod, what string) error {
	asked, err := readPod(a.questions.Pods[pod])
	if err != nil {
		return err
	}
	return a.row(what, len(a.questions.Checked), func() (time.Duration, int64, error) {
		fitting := int64(0)
		start := time.Now()
		for _, name := range a.questions.Checked {
			if state := a.preFilter(asked); state != nil && a.f.RunFilterPlugins(a.ctx, state, asked, a.nodes[name]).IsSuccess() {
				fitting++
			}
		}
		return time.Since(start), fitting, nil
	})
}

func (a *asker) anyNode(pod, what string) error {
	asked, err := readPod(a.questions.Pods[pod])
	if err != nil {
		return err
	}
	nodes := a.infos(a.names)
	return a.row(what, 1, func() (time.Duration, int64, error) {
		start := time.Now()
		found := a.firstFitting(asked, nodes)
		took := time.Since(start)
		if found == "" {
			return took, 0, nil
		}
		return took, 1, nil
	})
}

func (a *asker) infos(names []string) []fwk.NodeInfo {
	var nodes []fwk.NodeInfo
	for _, name := range names {
		nodes = append(nodes, a.nodes[name])
	}
	return nodes
}

// place puts a copy of the pod on a node; remove takes it off.
func (a *asker) place(pod *v1.Pod, node string) (*v1.Pod, error) {
	placed := pod.DeepCopy()
	placed.Spec.NodeName = node
	return placed, a.Cache.AddPod(klog.FromContext(a.ctx), placed)
}

func (a *asker) remove(pod *v1.Pod) error { return a.Cache.RemovePod(klog.FromContext(a.ctx), pod) }

func (a *asker) drain() error {
	return a.row("drain of one node", len(a.questions.Drained), func() (time.Duration, int64, error) {
		var spent time.Duration
		moved := int64(0)
		for _, name := range a.questions.Drained {
			took, count, err := a.drainOne(name)
			if err != nil {
				return 0, 0, err
			}
			spent += took
			moved += count
		}
		return spent, moved, nil
	})
}

// drainOne moves the pods of a node to the first nodes that take them, from the node behind it on, and back again.
func (a *asker) drainOne(name string) (spent time.Duration, moved int64, err error) {
	var pods []*v1.Pod
	for _, info := range a.nodes[name].GetPods() {
		pods = append(pods, info.GetPod())
	}
	slices.SortFunc(pods, func(x, y *v1.Pod) int {
		return cmp.Or(cmp.Compare(*y.Spec.Priority, *x.Spec.Priority), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	at := slices.Index(a.names, name)
	ring := slices.Concat(a.names[at+1:], a.names[:at])
	undo := []func() error{}
	for _, pod := range pods {
		waiting := pod.DeepCopy()
		waiting.Spec.NodeName = ""
		if err := a.remove(pod); err != nil {
			return 0, 0, err
		}
		if err := a.update(); err != nil {
			return 0, 0, err
		}
		nodes := a.infos(ring)
		start := time.Now()
		target := a.firstFitting(waiting, nodes)
		spent += time.Since(start)
		if target == "" {
			target = name
		} else {
			moved++
			next := slices.Index(ring, target) + 1
			ring = slices.Concat(ring[next:], ring[:next])
		}
		placed, err := a.place(waiting, target)
		if err != nil {
			return 0, 0, err
		}
		undo = append(undo, func() error {
			if err := a.remove(placed); err != nil {
				return err
			}
			_, err := a.place(waiting, name)
			return err
		})
	}
	for _, back := range undo {
		if err := back(); err != nil {
			return 0, 0, err
		}
	}
	return spent, moved, a.update()
}

func (a *asker) estimate() error {
	var pods []*v1.Pod
	for _, raw := range a.questions.Estimate.Pods {
		pod, err := readPod(raw)
		if err != nil {
			return err
		}
		pods = append(pods, pod)
	}
	object, err := upstream.ReadObject(a.questions.Estimate.Node)
	if err != nil {
		return err
	}
	return a.row("scale-up estimate", 1, func() (time.Duration, int64, error) { return a.pack(pods, object.(*v1.Node)) })
}

// pack puts each pod on the first new node that takes it, or on one more.
func (a *asker) pack(pods []*v1.Pod, template *v1.Node) (spent time.Duration, placed int64, err error) {
	logger := klog.FromContext(a.ctx)
	var names []string
	var added []*v1.Node
	var standing []*v1.Pod
	ask := func(pod *v1.Pod, names []string) string {
		nodes := a.infos(names)
		start := time.Now()
		defer func() { spent += time.Since(start) }()
		return a.firstFitting(pod, nodes)
	}
	for _, pod := range pods {
		target := ""
		if len(names) > 0 {
			target = ask(pod, names)
		}
		if target == "" {
			node := template.DeepCopy()
			node.Name = fmt.Sprintf("new-%d", len(names))
			node.Labels[v1.LabelHostname] = node.Name
			a.Cache.AddNode(logger, node)
			if err := a.update(); err != nil {
				return 0, 0, err
			}
			if target = ask(pod, []string{node.Name}); target == "" {
				if err := a.Cache.RemoveNode(logger, node); err != nil {
					return 0, 0, err
				}
				if err := a.update(); err != nil {
					return 0, 0, err
				}
				continue
			}
			names, added = append(names, node.Name), append(added, node)
		}
		stands, err := a.place(pod, target)
		if err != nil {
			return 0, 0, err
		}
		standing = append(standing, stands)
		if err := a.update(); err != nil {
			return 0, 0, err
		}
	}
	for _, pod := range standing {
		if err := a.remove(pod); err != nil {
			return 0, 0, err
		}
	}
	for _, node := range added {
		if err := a.Cache.RemoveNode(logger, node); err != nil {
			return 0, 0, err
		}
	}
	return spent, int64(len(standing)), a.update()
}

// replaceRunning gives a tenth of the running pods their required anti-affinity.
func (a *asker) replaceRunning() error {
	for _, raw := range a.questions.Running {
		pod, err := readPod(raw)
		if err != nil {
			return err
		}
		old, err := a.Cache.GetPod(pod)
		if err != nil {
			return err
		}
		if err := a.remove(old); err != nil {
			return err
		}
		if err := a.Cache.AddPod(klog.FromContext(a.ctx), pod); err != nil {
			return err
		}
	}
	return a.update()
}
