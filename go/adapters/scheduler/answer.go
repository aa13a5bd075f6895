// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"slices"
	"strings"
	"sync"

	berth "berth.dev/go"
	fwk "k8s.io/kube-scheduler/framework"
)

// askedNodes are the nodes of an answer. Answers share them while no node comes or goes.
type askedNodes struct {
	numbers  []berth.NodeID
	position map[string]int // by name
}

func (p *Plugin) askedNodes(numbers []berth.NodeID) (*askedNodes, error) {
	if p.asked != nil && slices.Equal(p.asked.numbers, numbers) {
		return p.asked, nil
	}
	asked := &askedNodes{slices.Clone(numbers), make(map[string]int, len(numbers))}
	for i, number := range asked.numbers {
		name, err := p.cluster.NodeName(number)
		if err != nil {
			return nil, err
		}
		asked.position[name] = i
	}
	p.asked = asked
	return asked, nil
}

func (n *askedNodes) number(name string) (berth.NodeID, bool) {
	at, there := n.position[name]
	if !there {
		return 0, false
	}
	return n.numbers[at], true
}

// answer is what Berth says of the pods of a class on all nodes.
type answer struct {
	snapshot *berth.Snapshot
	columns  *berth.CheckResult
	nodes    *askedNodes
	fitting  int        // how many nodes fit
	pod      *berth.Pod // one that was asked about
	reasons  sync.Map   // by number of a text: []string
}

// answers are those of one version of the cluster, which kube-scheduler asks for again while pods fit nowhere.
type answers struct {
	version  uint64
	snapshot *berth.Snapshot
	of       []*answer
}

// answersMax bounds what is kept for a version, and what a look through it costs.
const answersMax = 16

func (a *answers) close() {
	if a == nil {
		return
	}
	for _, answer := range a.of {
		answer.close()
	}
	a.snapshot.Close()
}

func (a *answer) close() {
	a.columns.Close()
	a.pod.Close()
}

// answerAbout asks about all nodes, unless it was asked about a pod of the class at this version.
func (p *Plugin) answerAbout(ctx context.Context, prepared *berth.Pod) (*answer, error) {
	known, err := p.latestAnswers()
	if err != nil {
		return nil, err
	}
	if found, err := p.sharedAnswer(known, prepared); err != nil || found != nil {
		return found, err
	}
	options := berth.CheckOptions{Scores: p.scoresAtOnce}
	columns, err := known.snapshot.CheckBulk(ctx, []*berth.Pod{prepared}, &options)
	if err != nil {
		columns.Close()
		return nil, err
	}
	made := &answer{snapshot: known.snapshot, columns: columns}
	for _, fits := range columns.Fits {
		if fits {
			made.fitting++
		}
	}
	made.nodes, err = p.askedNodes(columns.Nodes)
	if err == nil {
		made.pod, err = prepared.Retain()
	}
	if err != nil {
		columns.Close()
		return nil, err
	}
	if len(known.of) == answersMax {
		p.opened(closing(known.of[0].close))
		known.of = slices.Delete(known.of, 0, 1)
	}
	known.of = append(known.of, made)
	return made, nil
}

type closing func()

func (c closing) Close() error {
	c()
	return nil
}

// latestAnswers are those of the cluster's version. Informers may change the cluster at any time.
func (p *Plugin) latestAnswers() (*answers, error) {
	version, err := p.cluster.Version()
	if err != nil {
		return nil, err
	}
	if p.latest != nil && p.latest.version == version {
		return p.latest, nil
	}
	p.latest.close() // the cycles that read them are over
	p.latest = nil
	snapshot, err := p.cluster.NewSnapshot()
	if err != nil {
		return nil, err
	}
	if version, err = snapshot.Version(); err != nil {
		snapshot.Close()
		return nil, err
	}
	p.latest = &answers{version: version, snapshot: snapshot}
	return p.latest, nil
}

// sharedAnswer is an answer about a pod of the same class; nil: there is none. A class number is of the moment in which
// it is asked for: the cluster may give another one to the pods of a class when it changes or when pods are prepared,
// and give the old one to others. So the pods of both are asked, no pod is prepared meanwhile, and the version is
// compared afterwards.
func (p *Plugin) sharedAnswer(known *answers, prepared *berth.Pod) (*answer, error) {
	if len(known.of) == 0 {
		return nil, nil
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	class, err := prepared.Class()
	if err != nil {
		return nil, err
	}
	for _, candidate := range known.of {
		other, err := candidate.pod.Class()
		if err != nil {
			return nil, err
		}
		if other != class || (p.scoresAtOnce && len(candidate.columns.Scores) == 0) {
			continue
		}
		if version, err := p.cluster.Version(); err != nil || version != known.version {
			return nil, err
		}
		return candidate, nil
	}
	return nil, nil
}

// namesOthers is how kube-scheduler's message about nodes begins that PreFilter did not name.
const namesOthers = "node(s) didn't satisfy plugin(s)"

// refusedByPreFilter is the status where a plugin refuses the pod and not a node.
func (a *answer) refusedByPreFilter() (*fwk.Status, error) {
	if a.fitting > 0 || len(a.columns.Phases) == 0 || a.columns.Phases[0] != berth.PhasePreFilter {
		return nil, nil
	}
	v, err := verdictOf(a.columns, 0)
	if err != nil || strings.HasPrefix(v.reasons[0], namesOthers) {
		return nil, err
	}
	return v.status(), nil
}

func (a *answer) verdict(nodeName string) (verdict, error) {
	at, there := a.nodes.position[nodeName]
	if !there {
		return verdict{fwk.Unschedulable, []string{"node(s) had not come to Berth yet"}}, nil
	}
	if a.columns.Fits[at] {
		return verdict{code: fwk.Success}, nil
	}
	// The same few texts are on thousands of nodes.
	number := a.columns.Reasons.Numbers[at]
	if reasons, there := a.reasons.Load(number); there {
		return verdict{fwk.Code(a.columns.Codes[at]), reasons.([]string)}, nil
	}
	v, err := verdictOf(a.columns, at)
	if err == nil && a.columns.Judged[0] != berth.JudgedNot {
		a.reasons.Store(number, v.reasons)
	}
	return v, err
}
