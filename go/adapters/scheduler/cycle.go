// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	berth "berth.dev/go"
	"berth.dev/go/adapters/informer"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

const stateKey fwk.StateKey = "Berth"

// verdict is that of a node; of one that fits, code is Success.
type verdict struct {
	code    fwk.Code
	reasons []string
}

func (v verdict) status() *fwk.Status {
	if v.code == fwk.Success {
		return nil
	}
	return fwk.NewStatus(v.code, v.reasons...)
}

// cycle is what a cycle state has: what Berth answered about all nodes, and what dry runs changed of single nodes. Its
// clones share the answer; each opens a fork of its own, when it is changed.
type cycle struct {
	plugin *Plugin
	pod    *berth.Pod
	answer *answer
	scored *berth.CheckResult // of PreScore: a column of scores over the nodes that it was given

	mutex   sync.Mutex
	fork    *berth.Fork // nil until it is changed
	changes int
	changed atomic.Pointer[map[string]verdict] // nil: none; written anew by each change
	// parent is what the fork is opened on, with the changes that it had; nil: the snapshot.
	parent        *cycle
	parentChanges int
}

// Clone is a cycle whose changes are its own.
func (c *cycle) Clone() fwk.StateData {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	cloned := &cycle{plugin: c.plugin, pod: c.pod, answer: c.answer, scored: c.scored, parent: c.parent,
		parentChanges: c.parentChanges}
	cloned.changed.Store(c.changed.Load())
	if c.fork != nil {
		cloned.parent, cloned.parentChanges = c, c.changes
	}
	return cloned
}

// opened is the fork of the cycle. The mutex is held.
func (c *cycle) opened() (*berth.Fork, error) {
	if c.fork != nil {
		return c.fork, nil
	}
	var err error
	if c.parent == nil {
		c.fork, err = c.answer.snapshot.Fork()
	} else {
		c.parent.mutex.Lock()
		defer c.parent.mutex.Unlock()
		if c.parent.changes != c.parentChanges {
			return nil, errors.New("the cycle state that was cloned has changed since")
		}
		c.fork, err = c.parent.fork.Fork()
	}
	if err != nil {
		return nil, err
	}
	c.plugin.opened(c.fork)
	return c.fork, nil
}

// change does something to the fork, and judges the node again.
func (c *cycle) change(nodeName string, do func(*berth.Fork, berth.NodeID) error) error {
	number, err := c.plugin.number(nodeName)
	if err != nil {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	fork, err := c.opened()
	if err != nil {
		return err
	}
	c.changes++
	if err := do(fork, number); err != nil {
		return err
	}
	answer, err := fork.Verdict(c.pod, number, nil)
	if err != nil {
		return err
	}
	defer answer.Close()
	v, err := verdictOf(answer, 0)
	if err != nil {
		return err
	}
	changed := map[string]verdict{nodeName: v}
	if before := c.changed.Load(); before != nil {
		for name, other := range *before {
			if name != nodeName {
				changed[name] = other
			}
		}
	}
	c.changed.Store(&changed)
	return nil
}

func verdictOf(answer *berth.CheckResult, i int) (verdict, error) {
	if answer.Fits[i] {
		return verdict{code: fwk.Success}, nil
	}
	plugin, err := answer.Plugins.At(i)
	if err != nil {
		return verdict{}, err
	}
	reasons, err := answer.Reasons.At(i)
	if err != nil {
		return verdict{}, err
	}
	if answer.Judged[0] == berth.JudgedNot {
		return verdict{fwk.UnschedulableAndUnresolvable, []string{"Berth cannot judge the pod: " + plugin + ": " + reasons}}, nil
	}
	return verdict{fwk.Code(answer.Codes[i]), strings.Split(reasons, ", ")}, nil
}

func (c *cycle) verdict(nodeName string) (verdict, error) {
	if changed := c.changed.Load(); changed != nil {
		if v, there := (*changed)[nodeName]; there {
			return v, nil
		}
	}
	return c.answer.verdict(nodeName)
}

func cycleOf(state fwk.CycleState) (*cycle, error) {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil, err
	}
	c, ok := data.(*cycle)
	if !ok {
		return nil, fmt.Errorf("%T in the cycle state", data)
	}
	return c, nil
}

// PreFilter asks about all nodes by one call, and keeps its columns for Filter and Score. It gives no node names: the
// message about the others would name Berth, and not the plugin that names them.
func (p *Plugin) PreFilter(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo,
) (*fwk.PreFilterResult, *fwk.Status) {
	if err := p.enter(); err != nil {
		return nil, failed(err)
	}
	defer p.leave()
	p.endCycle()
	if err := p.follow(nodes); err != nil {
		return nil, failed(err)
	}
	prepared, err := p.prepared(pod)
	if err != nil {
		return nil, failed(err)
	}
	answer, err := p.answerAbout(ctx, prepared)
	if err != nil {
		return nil, failed(err)
	}
	if refused, err := answer.refusedByPreFilter(); err != nil || refused != nil {
		if err != nil {
			return nil, failed(err)
		}
		return nil, refused
	}
	c := &cycle{plugin: p, pod: prepared, answer: answer}
	if err := c.askNominatedNode(pod); err != nil {
		return nil, failed(err)
	}
	state.Write(stateKey, c)
	p.try(pod, p.latest.version)
	return nil, nil
}

// askNominatedNode asks Filter about the node that the pod is nominated to where PreFilter names others, as
// kube-scheduler does. Berth has the nomination for as long as it takes: the framework adds nominated pods by itself.
func (c *cycle) askNominatedNode(pod *v1.Pod) error {
	at, there := c.answer.nodes.position[pod.Status.NominatedNodeName]
	if !there || c.answer.columns.Phases[at] != berth.PhasePreFilter {
		return nil
	}
	v, err := c.verdictOfNomination(pod, c.answer.nodes.numbers[at])
	if err == nil {
		c.changed.Store(&map[string]verdict{pod.Status.NominatedNodeName: v})
	}
	return err
}

func (c *cycle) verdictOfNomination(pod *v1.Pod, number berth.NodeID) (v verdict, err error) {
	text, err := informer.Text(pod)
	if err != nil {
		return v, err
	}
	if err := c.plugin.cluster.Upsert(text); err != nil {
		return v, err
	}
	defer func() {
		err = errors.Join(err, c.plugin.deleted(berth.Object{Kind: "Pod", UID: string(pod.UID)}))
	}()
	snapshot, err := c.plugin.cluster.NewSnapshot()
	if err != nil {
		return v, err
	}
	defer snapshot.Close()
	said, err := snapshot.Verdict(c.pod, number, nil)
	if err != nil {
		return v, err
	}
	defer said.Close()
	return verdictOf(said, 0)
}

// PreFilterExtensions are the plugin's own.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return p }

// AddPod judges the node again, with the pod on it.
func (p *Plugin) AddPod(
	_ context.Context, state fwk.CycleState, _ *v1.Pod, added fwk.PodInfo, on fwk.NodeInfo,
) *fwk.Status {
	if err := p.enter(); err != nil {
		return failed(err)
	}
	defer p.leave()
	c, err := cycleOf(state)
	if err != nil {
		return failed(err)
	}
	prepared, err := p.prepared(added.GetPod())
	if err != nil {
		return failed(err)
	}
	err = c.change(on.Node().Name, func(fork *berth.Fork, node berth.NodeID) error { return fork.AddPod(prepared, node) })
	if err != nil {
		return failed(err)
	}
	return nil
}

// RemovePod judges the node again, without the pod.
func (p *Plugin) RemovePod(
	_ context.Context, state fwk.CycleState, _ *v1.Pod, removed fwk.PodInfo, on fwk.NodeInfo,
) *fwk.Status {
	if err := p.enter(); err != nil {
		return failed(err)
	}
	defer p.leave()
	c, err := cycleOf(state)
	if err != nil {
		return failed(err)
	}
	err = c.change(on.Node().Name, func(fork *berth.Fork, _ berth.NodeID) error {
		err := fork.RemovePod(string(removed.GetPod().UID))
		if errors.Is(err, berth.NotFound) {
			return nil // its deletion has come to Berth already
		}
		return err
	})
	if err != nil {
		return failed(err)
	}
	return nil
}

// Filter reads the verdict of the node.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, on fwk.NodeInfo) *fwk.Status {
	if err := p.enter(); err != nil {
		return failed(err)
	}
	defer p.leave()
	c, err := cycleOf(state)
	if err != nil {
		return failed(err)
	}
	v, err := c.verdict(on.Node().Name)
	if err != nil {
		return failed(err)
	}
	return v.status()
}

// PreScore has the scores of PreFilter's call where it is given all nodes that fit. Where kube-scheduler looked at some
// of them, or another plugin or an extender refused some, scores are normalised over the others, so that they are asked
// for again.
func (p *Plugin) PreScore(ctx context.Context, state fwk.CycleState, _ *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	if err := p.enter(); err != nil {
		return failed(err)
	}
	defer p.leave()
	c, err := cycleOf(state)
	if err != nil {
		return failed(err)
	}
	// The next PreFilter asks for scores where this one's could be used.
	p.scoresAtOnce = len(nodes) == c.answer.fitting
	c.scored = c.answer.columns
	if !p.scoresAtOnce || len(c.scored.Scores) == 0 {
		if c.scored, err = c.scoresOf(ctx, nodes); err != nil {
			return failed(err)
		}
	}
	message, err := c.scored.Messages.At(0)
	if err != nil {
		return failed(err)
	}
	if message != "" {
		return fwk.AsStatus(errors.New(message))
	}
	return nil
}

func (c *cycle) scoresOf(ctx context.Context, nodes []fwk.NodeInfo) (*berth.CheckResult, error) {
	numbers := make([]berth.NodeID, len(nodes))
	for i, node := range nodes {
		var there bool
		if numbers[i], there = c.answer.nodes.number(node.Node().Name); !there {
			return nil, fmt.Errorf("%s fits and was not asked", node.Node().Name)
		}
	}
	set, err := c.plugin.cluster.NewNodeSet(numbers)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	options := berth.CheckOptions{Nodes: set, NoReasons: true, Scores: true}
	scored, err := c.answer.snapshot.CheckBulk(ctx, []*berth.Pod{c.pod}, &options)
	if err != nil {
		scored.Close()
		return nil, err
	}
	c.plugin.opened(scored)
	return scored, nil
}

// Score reads the total of the node.
func (p *Plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, on fwk.NodeInfo) (int64, *fwk.Status) {
	if err := p.enter(); err != nil {
		return 0, failed(err)
	}
	defer p.leave()
	c, err := cycleOf(state)
	if err != nil {
		return 0, failed(err)
	}
	if c.scored == nil {
		return 0, failed(errors.New("Score without PreScore"))
	}
	number, there := c.answer.nodes.number(on.Node().Name)
	at, asked := slices.BinarySearch(c.scored.Nodes, number)
	if !there || !asked || c.scored.Scores[at] == berth.NoScore {
		return 0, failed(fmt.Errorf("%s has no score", on.Node().Name))
	}
	return c.scored.Scores[at], nil
}

// ScoreExtensions are the plugin's own.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore takes the totals into kube-scheduler's range: the highest one is 100, and each other one as much less
// as its total is, but not less than 0. So with the weight 1 the sum with other plugins' scores is upstream's sum less
// a constant, for all nodes that are no more than 100 behind the best.
func (p *Plugin) NormalizeScore(
	_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList,
) *fwk.Status {
	best := int64(0)
	for _, score := range scores {
		best = max(best, score.Score)
	}
	inOrder := true
	for i, score := range scores {
		behind := best - score.Score
		inOrder = inOrder && behind <= fwk.MaxNodeScore
		scores[i].Score = max(fwk.MinNodeScore, fwk.MaxNodeScore-behind)
	}
	p.ranked(inOrder)
	return nil
}
