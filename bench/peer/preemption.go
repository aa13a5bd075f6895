// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"

	"berth.dev/tests/oracle/upstream"
)

// preemptionResult is the printed result of -preempt. A preemptor is a pending pod without a feasible node.
type preemptionResult struct {
	Cluster             string  `json:"cluster"`
	Version             string  `json:"version"`
	AllNodes            bool    `json:"all_nodes"` // dry runs of every node, not of a random tenth
	Parallelism         int     `json:"parallelism"`
	Nodes               int     `json:"nodes"`
	Running             int     `json:"running"`
	Preemptors          int     `json:"preemptors"`
	Nominated           int     `json:"nominated"`
	Seconds             float64 `json:"seconds"`
	PreemptorsPerSecond float64 `json:"preemptors_per_second"`
}

// preemptor runs upstream's DefaultPreemption for pods that fit nowhere. Victims begin to terminate and stay, and each
// nomination is seen by the next pod. No API call is made.
type preemptor struct {
	*timedScheduler
	plugins map[string]*defaultpreemption.DefaultPreemption // by profile
	mu      sync.Mutex                                      // of victims: upstream evicts in parallel
	victims []*v1.Pod
}

// measurePreemption stops after maxSeconds, if that is not 0.
func measurePreemption(ctx context.Context, path string, c *upstream.Cluster, config *schedulerapi.KubeSchedulerConfiguration,
	o options) (*preemptionResult, error) {
	s, err := newScheduler(ctx, config, c, o)
	if err != nil {
		return nil, err
	}
	p := &preemptor{timedScheduler: s, plugins: map[string]*defaultpreemption.DefaultPreemption{}}
	for i := range config.Profiles {
		if err := p.addPlugin(ctx, &config.Profiles[i], o.allNodes); err != nil {
			return nil, err
		}
	}
	r := &preemptionResult{
		Cluster: path, Version: upstream.Release, AllNodes: o.allNodes, Parallelism: o.parallelism,
		Nodes: len(c.Nodes), Running: len(c.Pods) - s.pending,
	}
	limit := time.Duration(o.maxSeconds * float64(time.Second))
	var spent time.Duration
	for pods := 0; pods < s.pending && (limit == 0 || spent < limit); pods++ {
		took, err := p.next(ctx, r)
		if err != nil {
			return nil, err
		}
		spent += took
	}
	r.Seconds = spent.Seconds()
	if spent > 0 {
		r.PreemptorsPerSecond = float64(r.Preemptors) / r.Seconds
	}
	return r, nil
}

func (p *preemptor) addPlugin(ctx context.Context, profile *schedulerapi.KubeSchedulerProfile, allNodes bool) error {
	args := &schedulerapi.DefaultPreemptionArgs{}
	for _, c := range profile.PluginConfig {
		if c.Name == defaultpreemption.Name {
			args = c.Args.(*schedulerapi.DefaultPreemptionArgs).DeepCopy()
		}
	}
	if allNodes {
		args.MinCandidateNodesPercentage = 100
	}
	plugin, err := defaultpreemption.New(ctx, args, p.Profiles[profile.SchedulerName], feature.Features{})
	if err != nil {
		return fmt.Errorf("profile %s: %w", profile.SchedulerName, err)
	}
	plugin.Evaluator.PreemptPod = func(_ context.Context, _ preemption.Candidate, _, victim *v1.Pod, _ string) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.victims = append(p.victims, victim)
		return nil
	}
	p.plugins[profile.SchedulerName] = plugin
	return nil
}

// next tries the pod at the head of the queue. Filter and PostFilter are timed, and what follows from them is not.
func (p *preemptor) next(ctx context.Context, r *preemptionResult) (time.Duration, error) {
	logger := klog.FromContext(ctx)
	queued, err := p.NextPod(logger)
	if err != nil {
		return 0, err
	}
	defer p.SchedulingQueue.Done(queued.Pod.UID)

	start := time.Now()
	name := queued.Pod.Spec.SchedulerName
	state := framework.NewCycleState()
	state.SetRecordPluginMetrics(rand.Intn(100) < pluginMetricsSamplePercent)
	chosen, err := p.SchedulePod(ctx, p.Profiles[name], state, queued.Pod)
	if err == nil {
		return time.Since(start), p.assume(logger, queued, chosen.SuggestedHost)
	}
	var unfit *framework.FitError
	if !errors.As(err, &unfit) {
		if errors.Is(err, scheduler.ErrNoNodesAvailable) {
			err = nil
		}
		return time.Since(start), err
	}
	p.victims = p.victims[:0]
	result, status := p.plugins[name].PostFilter(ctx, state, queued.Pod, unfit.Diagnosis.NodeToStatus)
	took := time.Since(start)
	r.Preemptors++
	if status.Code() == fwk.Error {
		return took, status.AsError()
	}
	if status.IsSuccess() {
		r.Nominated++
		return took, p.nominate(logger, queued, result.NominatedNodeName)
	}
	return took, nil
}

func (p *preemptor) nominate(logger klog.Logger, queued *framework.QueuedPodInfo, node string) error {
	now := metav1.Now()
	for _, victim := range p.victims {
		terminating := victim.DeepCopy()
		terminating.DeletionTimestamp = &now
		terminating.Status.Conditions = append(terminating.Status.Conditions, v1.PodCondition{
			Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler})
		if err := p.Cache.UpdatePod(logger, victim, terminating); err != nil {
			return err
		}
	}
	for _, other := range p.SchedulingQueue.NominatedPodsForNode(node) {
		if corev1helpers.PodPriority(other.GetPod()) < corev1helpers.PodPriority(queued.Pod) {
			p.SchedulingQueue.DeleteNominatedPodIfExists(other.GetPod())
		}
	}
	p.SchedulingQueue.AddNominatedPod(logger, queued.PodInfo,
		&fwk.NominatingInfo{NominatedNodeName: node, NominatingMode: fwk.ModeOverride})
	return nil
}
