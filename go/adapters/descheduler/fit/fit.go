// SPDX-License-Identifier: Apache-2.0

// Package fit answers the descheduler's NodeFit by Berth: with the plugins of kube-scheduler, and in the descheduler's
// words where it has them. It does not import the descheduler, so that a copy of that may import it.
package fit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	berth "berth.dev/go"
	corev1 "k8s.io/api/core/v1"
)

// words are the descheduler's for what a plugin refuses. NodeResourcesFit has words of its own.
var words = map[string]string{
	"NodeAffinity":      "pod node selector does not match the node label",
	"TaintToleration":   "pod does not tolerate taints on the node",
	"NodeUnschedulable": "node is not schedulable",
	"InterPodAffinity":  "pod matches inter-pod anti-affinity rule of other pod on node",
}

// Refusal is why a pod does not fit a node.
type Refusal struct {
	Plugin  string // of kube-scheduler; empty: the node is cordoned, or not there
	Reasons string // of kube-scheduler, joined with ", "
}

// Error is the descheduler's message where it has one.
func (r *Refusal) Error() string {
	if r.Plugin == "" {
		return words["NodeUnschedulable"]
	}
	if text, ok := words[r.Plugin]; ok {
		return text
	}
	if r.Plugin == "NodeResourcesFit" {
		first, _, _ := strings.Cut(r.Reasons, ", ")
		if first == "Too many pods" {
			return "insufficient pods"
		}
		return strings.Replace(first, "Insufficient", "insufficient", 1)
	}
	return r.Plugin + ": " + r.Reasons
}

// engine is one for the program: a kube-scheduler without --config. It is never closed.
var engine = sync.OnceValues(func() (*berth.Engine, error) { return berth.NewEngine(&berth.EngineOptions{Threads: 1}) })

// State is a cluster of some nodes and their pods, at one time. It is closed by its maker.
type State struct {
	cluster  *berth.Cluster
	snapshot *berth.Snapshot
	loaded   bool // the cluster is the state's own
}

// PodsOn lists the pods of a node.
type PodsOn func(node string) ([]*corev1.Pod, error)

// Load makes a state of nodes and of what podsOn says of each. It costs as much as loading them; a program that asks
// often keeps a cluster by informers, and asks On.
func Load(nodes []*corev1.Node, podsOn PodsOn) (*State, error) {
	e, err := engine()
	if err != nil {
		return nil, err
	}
	objects := &berth.Bulk{}
	for _, node := range nodes {
		if err := add(objects, "Node", node); err != nil {
			return nil, err
		}
		pods, err := podsOn(node.Name)
		if err != nil {
			return nil, err
		}
		for i, pod := range pods {
			if err := add(objects, "Pod", named(pod, fmt.Sprintf("unnamed-%d-on-%s", i, node.Name))); err != nil {
				return nil, err
			}
		}
	}
	cluster, err := e.NewCluster()
	if err != nil {
		return nil, err
	}
	if err := cluster.UpsertBulk(objects); err != nil {
		cluster.Close()
		return nil, err
	}
	snapshot, err := cluster.NewSnapshot()
	if err != nil {
		cluster.Close()
		return nil, err
	}
	return &State{cluster, snapshot, true}, nil
}

func add(to *berth.Bulk, kind string, object any) error {
	text, err := text(kind, object)
	if err == nil {
		to.Append(text)
	}
	return err
}

// named is a pod with a name: a pod that no API server has seen may have none.
func named(pod *corev1.Pod, name string) *corev1.Pod {
	if pod.Name != "" {
		return pod
	}
	pod = pod.DeepCopy()
	pod.Name = name
	return pod
}

// text is an object with kind and apiVersion, which typed informers leave out.
func text(kind string, object any) ([]byte, error) {
	plain, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(plain[:min(len(plain), 64)]), `"kind":`) {
		return plain, nil
	}
	return append([]byte(`{"apiVersion":"v1","kind":"`+kind+`",`), plain[1:]...), nil
}

// On is the state of a cluster as it is now. The cluster stays the caller's.
func On(cluster *berth.Cluster) (*State, error) {
	snapshot, err := cluster.NewSnapshot()
	if err != nil {
		return nil, err
	}
	return &State{snapshot: snapshot, cluster: cluster}, nil
}

// Close gives the state back.
func (s *State) Close() {
	s.snapshot.Close()
	if s.loaded {
		s.cluster.Close()
	}
}

// prepare reads a pod. The descheduler looks at no volume; where the state has none of their objects, they are ignored.
func (s *State) prepare(pod *corev1.Pod, ignoreVolumes bool) (*berth.Pod, error) {
	plain, err := text("Pod", named(pod, "unnamed"))
	if err != nil {
		return nil, err
	}
	return s.cluster.NewPod(plain, &berth.PodOptions{IgnoreVolumes: ignoreVolumes, IgnoreClaims: ignoreVolumes})
}

// Options say how a pod is asked about.
type Options struct {
	// IgnoreVolumes judges without volumes and claims, as the descheduler does.
	IgnoreVolumes bool
}

// NodeFit is nil if the pod could be scheduled onto the node, its own running copy taken out first; a *Refusal if not.
func (s *State) NodeFit(pod *corev1.Pod, node string, options Options) error {
	prepared, err := s.prepare(pod, options.IgnoreVolumes)
	if err != nil {
		return err
	}
	defer prepared.Close()
	at, err := s.cluster.FindNode(node)
	if err != nil {
		return err
	}
	verdict, err := s.snapshot.Verdict(prepared, at, &berth.CheckOptions{AsMoved: true, SkipCordoned: true})
	if err != nil {
		return err
	}
	defer verdict.Close()
	return refusal(verdict, 0)
}

func refusal(verdict *berth.CheckResult, i int) error {
	if verdict.Fits[i] {
		return nil
	}
	r := &Refusal{}
	var err error
	if r.Plugin, err = verdict.Plugins.At(i); err != nil {
		return err
	}
	if r.Reasons, err = verdict.Reasons.At(i); err != nil {
		return err
	}
	return r
}

// FitsAny says whether the pod fits one of the nodes.
func (s *State) FitsAny(ctx context.Context, pod *corev1.Pod, nodes []string, options Options) (bool, error) {
	prepared, err := s.prepare(pod, options.IgnoreVolumes)
	if err != nil {
		return false, err
	}
	defer prepared.Close()
	var numbers []berth.NodeID
	for _, name := range nodes {
		at, err := s.cluster.FindNode(name)
		if errors.Is(err, berth.NotFound) {
			continue // a node that has not come to the cluster yet takes nothing
		}
		if err != nil {
			return false, err
		}
		numbers = append(numbers, at)
	}
	set, err := s.cluster.NewNodeSet(numbers)
	if err != nil {
		return false, err
	}
	defer set.Close()
	checks, err := s.snapshot.CheckBulk(ctx, []*berth.Pod{prepared},
		&berth.CheckOptions{AsMoved: true, SkipCordoned: true, NoReasons: true, Nodes: set})
	if err != nil {
		checks.Close()
		return false, fmt.Errorf("fit: %w", err)
	}
	defer checks.Close()
	for _, fits := range checks.Fits {
		if fits {
			return true, nil
		}
	}
	return false, nil
}
