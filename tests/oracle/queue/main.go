// SPDX-License-Identifier: Apache-2.0

//go:build berth_queue

// The queue's oracle draws histories of pods, nodes, attempts and time, takes upstream's own queue through them, and
// writes each step with the pods that were popped and where every pod is then: one JSON document a line, a history
// begins with a header. tests/queue_replay takes Berth's queue through the same steps.
//
//	oracle-queue -histories N -seed S > histories.jsonl
//
// It is built over a copy of upstream's module (build.sh), because queue and event handlers are not exported.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"berth.dev/tests/oracle/upstream"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

func main() {
	histories := flag.Int("histories", 100, "how many")
	steps := flag.Int("steps", 120, "of each history")
	seed := flag.Int64("seed", 1, "of the first history; the others follow")
	flag.Parse()
	upstream.SilenceLogs()
	metrics.Register()
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for i := 0; i < *histories; i++ {
		h, err := newHistory(*seed+int64(i), encoder)
		if err == nil {
			err = h.run(*steps)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "oracle-queue: history %d: %v\n", *seed+int64(i), err)
			os.Exit(1)
		}
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle-queue:", err)
		os.Exit(1)
	}
	printVisits()
}

// cuts counts the histories that ended early (isTwice).
var cuts int

// visits counts the answers of hint functions by plugin and event: skip, queue, error.
var visits = map[string]*[3]int{}

// notBuilt are plugins whose rejection Berth cannot have: their registrations are there, and none of them is asked.
var notBuilt = []string{"DynamicResources", "NodeResourcesFit resource.k8s.io/DeviceClass"}

func printVisits() {
	names := make([]string, 0, len(visits))
	for name := range visits {
		if !slices.ContainsFunc(notBuilt, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	visited := 0
	for _, name := range names {
		counts := visits[name]
		fmt.Fprintf(os.Stderr, "%s %-60s skip %7d queue %7d error %5d\n", release, name, counts[0], counts[1], counts[2])
		if *counts != [3]int{} {
			visited++
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %d of %d registrations visited, %d histories cut\n", release, visited, len(names), cuts)
}
