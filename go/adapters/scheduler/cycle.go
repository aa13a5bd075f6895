// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	berth "berth.dev/go"
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

// cycle is what a cycle state has: the columns of one call for all nodes, and what dry runs changed of single nodes.
// Its clones share the columns; each opens a fork of its own, when it is changed.
type cycle struct {
	plugin   *Plugin
	pod      *berth.Pod
	snapshot *berth.Snapshot
	columns  *berth.CheckResult
	chosen   *string // of PreScore

	mutex   sync.Mutex
	fork    *berth.Fork // nil until it is changed
	changes int
	changed map[string]verdict
	// parent is what the fork is opened on, with the changes that it had; nil: the snapshot.
	parent        *cycle
	parentChanges int
}

// Clone is a cycle whose changes are its own.
func (c *cycle) Clone() fwk.StateData {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	cloned := &cycle{plugin: c.plugin, pod: c.pod, snapshot: c.snapshot, columns: c.columns, chosen: c.chosen,
		changed: maps.Clone(c.changed), parent: c.parent, parentChanges: c.parentChanges}
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
		c.fork, err = c.snapshot.Fork()
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
	if c.changed == nil {
		c.changed = map[string]verdict{}
	}
	c.changed[nodeName] = v
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
	c.mutex.Lock()
	v, there := c.changed[nodeName]
	c.mutex.Unlock()
	if there {
		return v, nil
	}
	number, err := c.plugin.number(nodeName)
	if err != nil && !errors.Is(err, berth.NotFound) {
		return verdict{}, err
	}
	at, there := slices.BinarySearch(c.columns.Nodes, number)
	if err != nil || !there {
		return verdict{fwk.Unschedulable, []string{"node(s) had not come to Berth yet"}}, nil
	}
	return verdictOf(c.columns, at)
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

// PreFilter asks about all nodes by one call, and keeps its columns for Filter.
func (p *Plugin) PreFilter(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo,
) (*fwk.PreFilterResult, *fwk.Status) {
	p.endCycle()
	if err := p.follow(nodes); err != nil {
		return nil, failed(err)
	}
	prepared, err := p.prepared(pod)
	if err != nil {
		return nil, failed(err)
	}
	snapshot, err := p.cluster.NewSnapshot()
	if err != nil {
		return nil, failed(err)
	}
	p.opened(snapshot)
	columns, err := snapshot.CheckBulk(ctx, []*berth.Pod{prepared}, nil)
	if err != nil {
		columns.Close()
		return nil, failed(err)
	}
	p.opened(columns)
	if refused, err := refusedByPreFilter(columns); err != nil || refused != nil {
		if err != nil {
			return nil, failed(err)
		}
		return nil, refused
	}
	state.Write(stateKey, &cycle{plugin: p, pod: prepared, snapshot: snapshot, columns: columns})
	return nil, nil
}

// namesOthers is how kube-scheduler's message about nodes begins that PreFilter did not name.
const namesOthers = "node(s) didn't satisfy plugin(s)"

// refusedByPreFilter is the status where a plugin refuses the pod and not a node.
func refusedByPreFilter(columns *berth.CheckResult) (*fwk.Status, error) {
	if len(columns.Phases) == 0 || columns.Phases[0] != berth.PhasePreFilter {
		return nil, nil
	}
	v, err := verdictOf(columns, 0)
	if err != nil || strings.HasPrefix(v.reasons[0], namesOthers) {
		return nil, err
	}
	return v.status(), nil
}

// PreFilterExtensions are the plugin's own.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return p }

// AddPod judges the node again, with the pod on it.
func (p *Plugin) AddPod(
	_ context.Context, state fwk.CycleState, _ *v1.Pod, added fwk.PodInfo, on fwk.NodeInfo,
) *fwk.Status {
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

// PreScore asks which of the nodes kube-scheduler would take.
func (p *Plugin) PreScore(ctx context.Context, state fwk.CycleState, _ *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	c, err := cycleOf(state)
	if err != nil {
		return failed(err)
	}
	chosen, err := c.choose(ctx, nodes)
	if err != nil {
		return failed(err)
	}
	c.chosen = &chosen
	return nil
}

func (c *cycle) choose(ctx context.Context, nodes []fwk.NodeInfo) (string, error) {
	numbers := make([]berth.NodeID, len(nodes))
	for i, node := range nodes {
		var err error
		if numbers[i], err = c.plugin.number(node.Node().Name); err != nil {
			return "", err
		}
	}
	set, err := c.plugin.cluster.NewNodeSet(numbers)
	if err != nil {
		return "", err
	}
	defer set.Close()
	fork, err := c.snapshot.Fork()
	if err != nil {
		return "", err
	}
	defer fork.Close()
	placed, err := fork.Schedule(ctx, []*berth.Pod{c.pod}, &berth.ScheduleOptions{Nodes: set})
	if err != nil {
		placed.Close()
		return "", err
	}
	defer placed.Close()
	at := slices.Index(numbers, placed.Nodes[0])
	if at < 0 {
		return "", errors.New("no node of those that fit")
	}
	return nodes[at].Node().Name, nil
}

// Score is the best one for the node that kube-scheduler would take, and the worst for all others.
func (p *Plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, on fwk.NodeInfo) (int64, *fwk.Status) {
	c, err := cycleOf(state)
	if err != nil {
		return 0, failed(err)
	}
	if c.chosen == nil {
		return 0, failed(errors.New("Score without PreScore"))
	}
	if *c.chosen == on.Node().Name {
		return fwk.MaxNodeScore, nil
	}
	return 0, nil
}

// ScoreExtensions are none.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return nil }
