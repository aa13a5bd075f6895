// SPDX-License-Identifier: Apache-2.0

// The oracle: what the genuine kube-scheduler says about the pending pods of a cluster.
//
// It links the published scheduler modules and runs the in-tree plugins through the genuine framework runtime, so that
// its records are those of the release that was linked and not of a description of it.
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

	"berth.dev/tests/oracle/genuine"
)

const usage = `oracle MODE [flags] CLUSTER...

modes:
  explain   each pending pod alone against the cluster as loaded: one JSON record a pod, in the schema of
            "berth explain -o json" and with the status of PreFilter and PreScore plugins
  run       the pending pods one after the other, each placed where the followed scheduler placed it before the next is
            asked about: a record a pod, with "difference" where the genuine scheduler could not have done the same.
            Followed is a report of "berth schedule -o json", which must follow the order of the queue, or lines
            "namespace/pod node", without the node where there is none
  preempt   each pending pod that no node can take, alone: candidates, victims, PDB violations, chosen nodes
  version   the release that is linked

Beside DIR/NAME.json, .yaml or either with .gz may lie, each used unless its flag is given:
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
	flags.StringVar(&o.config, "config", "", "KubeSchedulerConfiguration (v1); the genuine defaults without")
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
		fmt.Println(genuine.Release)
		return nil
	}
	genuine.SilenceLogs()
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
	// Batching changes how often plugins are called, never what they answer.
	if err := genuine.SetFeatureGates("OpportunisticBatching=false," + o.featureGates); err != nil {
		return err
	}
	objects, err := genuine.ReadCluster(path)
	if err != nil {
		return err
	}
	config, err := genuine.ReadConfig(o.config)
	if err != nil {
		return err
	}
	s, err := genuine.NewScheduler(ctx, config, objects)
	if err != nil {
		return err
	}
	out, finish, err := output(path, o.outDir)
	if err != nil {
		return err
	}
	return errors.Join(answer(ctx, mode, s, o, out), finish())
}

func answer(ctx context.Context, mode string, s *genuine.Scheduler, o options, out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	switch mode {
	case "explain":
		return explainAll(ctx, s, encoder)
	case "run":
		return runAll(ctx, s, o.follow, o.differences, encoder)
	case "preempt":
		return preemptAll(ctx, s, encoder)
	default:
		return fmt.Errorf("unknown mode %q\n%s", mode, usage)
	}
}

// besides fills what no flag says from the files that lie beside the cluster.
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

// baseName is the file's name without the endings that say its form.
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
