// SPDX-License-Identifier: Apache-2.0

// The oracle evaluates the pending pods of a cluster with upstream kube-scheduler.
//
// It links the published scheduler modules and runs the in-tree plugins through upstream's framework runtime, so that
// its records come from the linked release itself.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"berth.dev/tests/oracle/upstream"
)

const usage = `oracle MODE [flags] CLUSTER...

modes:
  explain   each pending pod alone against the cluster as loaded: one JSON record per pod, in the schema of
            "berth explain -o json" and with the status of PreFilter and PreScore plugins
  run       the pending pods one after another, each placed where the followed scheduler placed it before the next is
            evaluated: one record per pod, with "difference" when upstream could not have done the same.
            The input is a report of "berth schedule -o json", which must be in queue order, or lines
            "namespace/pod node", without the node for an unplaced pod
  walk      a history of events and placements (--follow, tests/histories): upstream's cache takes the same events, and
            each placement is one record as in mode run; "alone" is the pod on every node where the history has that
  preempt   each pending pod without a feasible node, alone: candidates, victims, PDB violations, chosen nodes
  version   the linked release

These files next to DIR/NAME.json or .yaml (or with .gz) are used unless their flag is given:
  DIR/NAME.config.yaml or .json   its KubeSchedulerConfiguration
  DIR/NAME.gates                  its feature gates, NAME=BOOL,...
  DIR/NAME.report.json            the report that mode run follows

A cluster that cannot be read is named on standard error; the others are still asked, and the exit code is 1.
`

type options struct {
	config       string
	featureGates string
	outDir       string
	follow       string
	differences  bool
}

func main() {
	if err := realMain(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func realMain(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no mode\n%s", usage)
	}
	mode := args[0]
	var o options
	flags := flag.NewFlagSet("oracle "+mode, flag.ContinueOnError)
	flags.StringVar(&o.config, "config", "", "KubeSchedulerConfiguration (v1); upstream's defaults without")
	flags.StringVar(&o.featureGates, "feature-gates", "", "NAME=BOOL,... as kube-scheduler's flag")
	flags.StringVar(&o.outDir, "out-dir", "", "write CLUSTER's records to DIR/<base name>.jsonl instead of standard output")
	flags.StringVar(&o.follow, "follow", "", "mode run: what to follow, or the folder of NAME.report.json")
	flags.BoolVar(&o.differences, "differences", false, "mode run: only the records with a difference, then a summary a cluster")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage, "\nflags:\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if mode == "version" {
		fmt.Println(upstream.Release)
		return nil
	}
	upstream.SilenceLogs()
	return eachCluster(mode, flags.Args(), o)
}

func eachCluster(mode string, paths []string, o options) error {
	failed := 0
	for _, path := range paths {
		if err := oneCluster(mode, path, o.besides(path)); err != nil {
			fmt.Fprintf(os.Stderr, "oracle: %s: %v\n", path, err)
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d clusters could not be answered", failed, len(paths))
	}
	return nil
}

func oneCluster(mode, path string, o options) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Batching changes how often plugins are called, never their results.
	if err := upstream.SetFeatureGates("OpportunisticBatching=false," + o.featureGates); err != nil {
		return err
	}
	objects, err := upstream.ReadCluster(path)
	if err != nil {
		return err
	}
	config, err := upstream.ReadConfig(o.config)
	if err != nil {
		return err
	}
	s, err := upstream.NewScheduler(ctx, config, objects)
	if err != nil {
		return err
	}
	out, finish, err := output(path, o.outDir)
	if err != nil {
		return err
	}
	return errors.Join(answer(ctx, mode, s, o, out), finish())
}

func answer(ctx context.Context, mode string, s *upstream.Scheduler, o options, out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	switch mode {
	case "explain":
		return explainAll(ctx, s, encoder)
	case "run":
		return runAll(ctx, s, o.follow, o.differences, encoder)
	case "walk":
		return walkAll(ctx, s, o.follow, encoder)
	case "preempt":
		return preemptAll(ctx, s, encoder)
	default:
		return fmt.Errorf("unknown mode %q\n%s", mode, usage)
	}
}

// besides sets the options without a flag from the files next to the cluster.
func (o options) besides(path string) options {
	stem := filepath.Join(filepath.Dir(path), baseName(path))
	if o.config == "" {
		o.config = firstFile(stem+".config.yaml", stem+".config.json")
	}
	if gates, err := os.ReadFile(stem + ".gates"); err == nil && o.featureGates == "" {
		o.featureGates = strings.TrimSpace(string(gates))
	}
	if o.follow == "" {
		o.follow = filepath.Dir(path)
	}
	if info, err := os.Stat(o.follow); err == nil && info.IsDir() {
		o.follow = filepath.Join(o.follow, baseName(path)+".report.json")
	}
	return o
}

func firstFile(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// baseName is the file name without its format extensions.
func baseName(path string) string {
	base := strings.TrimSuffix(filepath.Base(path), ".gz")
	for _, ending := range []string{".json", ".yaml", ".yml"} {
		base = strings.TrimSuffix(base, ending)
	}
	return base
}

func output(path, dir string) (io.Writer, func() error, error) {
	if dir == "" {
		w := bufio.NewWriter(os.Stdout)
		return w, w.Flush, nil
	}
	f, err := os.Create(filepath.Join(dir, baseName(path)+".jsonl"))
	if err != nil {
		return nil, nil, err
	}
	w := bufio.NewWriter(f)
	return w, func() error { return errors.Join(w.Flush(), f.Close()) }, nil
}
