// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"

	"berth.dev/tests/live/bench"
)

// benchFlags declares the flags of `live --bench` and of the client that it starts.
func benchFlags() *bench.Options {
	o := &bench.Options{}
	flag.StringVar(&o.Candidates, "candidates", "bind-only,yardstick,kube,berth", "with --bench: who is measured, in turn")
	flag.StringVar(&o.Workloads, "workloads", "basic,mix", "with --bench: of basic and mix; or cold alone: from start to /readyz with --pods pods that have nodes")
	flag.IntVar(&o.Nodes, "nodes", 5000, "with --bench")
	flag.IntVar(&o.Pods, "pods", 5000, "with --bench: pods that wait at the start")
	flag.IntVar(&o.Rate, "rate", 500, "with --bench: pods a second that arrive afterwards")
	flag.IntVar(&o.Seconds, "seconds", 10, "with --bench: for so long")
	return o
}

// runBench measures and gives the exit status.
func runBench(ctx context.Context, o options, b *bench.Options) (int, error) {
	b.Build, b.Berth, b.Folder = o.build, o.berth, absolute(filepath.Join(o.build, "run-bench"))
	measure := bench.Run
	if b.Workloads == "cold" {
		measure = bench.Cold
	}
	rows, short, err := measure(ctx, *b)
	if err != nil {
		return 1, err
	}
	fmt.Printf("live-bench: %d rows, %d short of their aim\n", rows, short)
	return min(short, 1), nil
}
