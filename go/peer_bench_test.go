// SPDX-License-Identifier: Apache-2.0

//go:build berth_bench

package berth

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var peerFolder = flag.String("folder", "", "with cluster.json and questions.json of bench/engine/bench_embed_peer.cpp")

// peerQuestions are what bench_embed_peer writes.
type peerQuestions struct {
	Pods     map[string]json.RawMessage
	Checked  []string
	Drained  []string
	Estimate struct {
		Node json.RawMessage
		Pods []json.RawMessage
	}
	Running []json.RawMessage
}

type peer struct {
	*testing.T
	cluster  *Cluster
	snapshot *Snapshot
	pods     map[string]*Pod
}

// row prints a line as bench_embed_peer does: the fastest of 41 rounds counts, since the machine may be shared.
func (p *peer) row(name string, count int, once func() int) {
	answer, fastest := once(), time.Hour
	for range 41 {
		begin := time.Now()
		once()
		fastest = min(fastest, time.Since(begin))
	}
	fmt.Printf("%s\t%.4f\t%d\n", name, float64(fastest.Nanoseconds())/1000/float64(count), answer)
}

func fitting(fits []bool) (count int) {
	for _, fit := range fits {
		if fit {
			count++
		}
	}
	return count
}

func (p *peer) checkOnNodes(pod, what string, names []string) {
	var nodes []NodeID
	for _, name := range names {
		nodes = append(nodes, node(p, p.cluster, name))
	}
	p.row(what, len(nodes), func() (count int) {
		for _, each := range nodes {
			if must(p.snapshot.Check(p.pods[pod], each, nil))(p) {
				count++
			}
		}
		return count
	})
}

func (p *peer) anyNode(pod, what string) {
	for choice, how := range map[Choice]string{ByScore: " by score", FirstFit: " by first fit"} {
		fork := must(p.snapshot.Fork())(p)
		p.row(what+how, 1, func() int {
			placed := must(fork.Schedule(context.Background(), []*Pod{p.pods[pod]}, &ScheduleOptions{Choice: choice}))(p)
			defer placed.Close()
			if placed.Fits[0] {
				ok(p, fork.Unschedule(p.pods[pod]))
			}
			return fitting(placed.Fits)
		})
		ok(p, fork.Close())
	}
}

func (p *peer) checkAllNodes(what string, options CheckOptions) {
	p.row(what, 1, func() int {
		checked := must(p.snapshot.CheckBulk(context.Background(), []*Pod{p.pods["plain"]}, &options))(p)
		defer checked.Close()
		return fitting(checked.Fits)
	})
}

func (p *peer) drain(names []string) {
	var off []Rule
	for rule := Rule(1); rule <= RuleToleratesTaint; rule++ {
		off = append(off, rule)
	}
	p.row("drain of one node", len(names), func() (moved int) {
		for _, name := range names {
			drained := must(p.snapshot.Drain(context.Background(), []NodeID{node(p, p.cluster, name)}, &DrainOptions{RulesOff: off}))(p)
			for _, target := range drained.Targets {
				if target != NoNode {
					moved++
				}
			}
			ok(p, drained.Close())
		}
		return moved
	})
}

func (p *peer) estimate(shape []byte, texts []json.RawMessage) {
	var pods []*Pod
	for _, text := range texts {
		pods = append(pods, closing(p, must(p.cluster.NewPod(text, nil))(p)))
	}
	p.row("scale-up estimate", 1, func() int {
		estimated := must(p.snapshot.ScaleUp(context.Background(), pods, []Shape{{Node: shape}}, nil))(p)
		defer estimated.Close()
		return int(estimated.Placed[0])
	})
}

// The questions of bench_embed_peer through Go: bench/peer/embed.py --go puts them beside those through C.
func TestPeerQuestions(t *testing.T) {
	if *peerFolder == "" {
		t.Skip("-folder FOLDER has the questions")
	}
	ReportLeaks(nil) // which costs more than a call
	var questions peerQuestions
	ok(t, json.Unmarshal(must(os.ReadFile(filepath.Join(*peerFolder, "questions.json")))(t), &questions))
	engine := closing(t, must(NewEngine(&EngineOptions{Backend: "cpu"}))(t))
	p := &peer{t, closing(t, must(engine.NewCluster())(t)), nil, map[string]*Pod{}}
	ok(t, p.cluster.Upsert(must(os.ReadFile(filepath.Join(*peerFolder, "cluster.json")))(t)))
	for name, text := range questions.Pods {
		p.pods[name] = closing(t, must(p.cluster.NewPod(text, nil))(t))
	}
	p.snapshot = must(p.cluster.NewSnapshot())(t)
	for _, name := range []string{"plain", "spread", "anti-affinity"} {
		p.checkOnNodes(name, "check "+name, questions.Checked)
	}
	p.anyNode("plain", "any node plain")
	p.anyNode("nowhere", "any node nowhere")
	p.checkAllNodes("bulk check plain", CheckOptions{NoReasons: true})
	p.checkAllNodes("bulk check plain with scores", CheckOptions{NoReasons: true, Scores: true})
	p.drain(questions.Drained)
	p.estimate(questions.Estimate.Node, questions.Estimate.Pods)
	bulk := &Bulk{}
	for _, text := range questions.Running {
		bulk.Append(slices.Clone(text))
	}
	ok(t, p.cluster.UpsertBulk(bulk))
	ok(t, p.snapshot.Close())
	p.snapshot = closing(t, must(p.cluster.NewSnapshot())(t))
	p.checkOnNodes("plain", "check plain among anti-affinity", questions.Checked)
	p.anyNode("plain", "any node plain among anti-affinity")
	p.anyNode("nowhere", "any node nowhere among anti-affinity")
}
