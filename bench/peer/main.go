// SPDX-License-Identifier: Apache-2.0

// The peer measures how fast upstream kube-scheduler's algorithm places the pending pods of a cluster.
//
// It drives the scheduler's own SchedulePod in process (PreFilter, Filter, PreScore, Score, select) and assumes each
// placement in its cache before the next pod. There is no API server, no Reserve and no binding; reading the file and
// filling cache and queue are not timed. With -preempt, pods that fit nowhere preempt (preemption.go); with -embed it answers
// questions instead (embed.go).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"

	"berth.dev/tests/oracle/upstream"
)

const usage = `peer [flags] CLUSTER

Places the pending pods of CLUSTER in the order of the queue and prints one JSON object: what was measured, how many pods
were answered in how many seconds, and the rate.

`

type options struct {
	config      string
	percentage  int
	parallelism int
	batching    bool
	maxSeconds  float64
	preempt     bool
	allNodes    bool
	embed       string
}

// result is the printed result. Percentage 0 is the default: adaptive sampling of nodes.
type result struct {
	Cluster       string  `json:"cluster"`
	Version       string  `json:"version"`
	Percentage    int     `json:"percentage"`
	Parallelism   int     `json:"parallelism"`
	Batching      bool    `json:"batching"`
	Nodes         int     `json:"nodes"`
	Running       int     `json:"running"`
	Pending       int     `json:"pending"`
	Pods          int     `json:"pods"`
	Placed        int     `json:"placed"`
	Seconds       float64 `json:"seconds"`
	PodsPerSecond float64 `json:"pods_per_second"`
}

func main() {
	if err := realMain(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func realMain(args []string) error {
	var o options
	flags := flag.NewFlagSet("peer", flag.ContinueOnError)
	flags.StringVar(&o.config, "config", "", "KubeSchedulerConfiguration (v1), of which the profiles are taken; upstream's defaults without")
	flags.IntVar(&o.percentage, "percentage", 0, "percentageOfNodesToScore; 0 is upstream's default")
	flags.IntVar(&o.parallelism, "parallelism", 16, "goroutines of Filter and Score")
	flags.BoolVar(&o.batching, "batching", false, "the feature OpportunisticBatching")
	flags.Float64Var(&o.maxSeconds, "max-seconds", 0, "stop when this much time was measured; 0 is never")
	flags.BoolVar(&o.preempt, "preempt", false, "run DefaultPreemption for pods that fit nowhere, up to their nomination")
	flags.BoolVar(&o.allNodes, "all-nodes", false, "with -preempt: dry runs of every node, not of a random tenth")
	flags.StringVar(&o.embed, "embed", "", "the questions of bench_embed_peer; each row of them takes -max-seconds at most, and one round")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("got %d clusters, expected 1", flags.NArg())
	}
	if err := upstream.SetFeatureGates(fmt.Sprintf("OpportunisticBatching=%t", o.batching)); err != nil {
		return err
	}
	upstream.SilenceLogs()
	r, err := measure(flags.Arg(0), o)
	if err != nil {
		return fmt.Errorf("%s: %w", flags.Arg(0), err)
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func measure(path string, o options) (any, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cluster, err := upstream.ReadCluster(path)
	if err != nil {
		return nil, err
	}
	config, err := upstream.ReadConfig(o.config)
	if err != nil {
		return nil, err
	}
	if o.embed != "" {
		return measureEmbedding(ctx, cluster, config, o)
	}
	if o.preempt {
		return measurePreemption(ctx, path, cluster, config, o)
	}
	return measurePlacement(ctx, path, cluster, config, o)
}

func measurePlacement(ctx context.Context, path string, cluster *upstream.Cluster, config *schedulerapi.KubeSchedulerConfiguration,
	o options) (*result, error) {
	s, err := newScheduler(ctx, config, cluster, o)
	if err != nil {
		return nil, err
	}
	r := &result{
		Cluster: path, Version: upstream.Release,
		Percentage: o.percentage, Parallelism: o.parallelism, Batching: o.batching,
		Nodes: len(cluster.Nodes), Running: len(cluster.Pods) - s.pending, Pending: s.pending,
	}
	limit := time.Duration(o.maxSeconds * float64(time.Second))
	var spent time.Duration
	for r.Pods < s.pending && (limit == 0 || spent < limit) {
		took, placed, err := s.next(ctx)
		if err != nil {
			return nil, err
		}
		spent += took
		r.Pods++
		if placed {
			r.Placed++
		}
	}
	r.Seconds = spent.Seconds()
	if r.Pods > 0 {
		r.PodsPerSecond = float64(r.Pods) / r.Seconds
	}
	return r, nil
}
