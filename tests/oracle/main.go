// SPDX-License-Identifier: Apache-2.0

// The oracle: what the genuine kube-scheduler says about the pending pods of a cluster.
//
// It links the published scheduler modules and runs the in-tree plugins through the genuine framework runtime, so that
// its records are those of the release named in go.mod and not of a description of it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

const usage = `oracle MODE [flags] CLUSTER...

modes:
  explain   each pending pod alone against the cluster as loaded: one JSON record a line
  run       every pending pod in the order and with the choices of --follow, each placement assumed before the next

`

type options struct {
	config       string
	featureGates string
	outDir       string
	follow       string
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
	flags.StringVar(&o.follow, "follow", "", "mode run: placements of berth schedule, lines \"namespace/pod node\"")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if err := setFeatureGates(o.featureGates); err != nil {
		return err
	}
	silenceLogs()
	for _, path := range flags.Args() {
		if err := oneCluster(mode, path, o); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// Batching is off because it changes how often plugins are called, never what they answer.
func setFeatureGates(gates string) error {
	if err := utilfeature.DefaultMutableFeatureGate.Set("OpportunisticBatching=false"); err != nil {
		return err
	}
	if gates == "" {
		return nil
	}
	return utilfeature.DefaultMutableFeatureGate.Set(gates)
}

// The scheduler logs what the records say already.
func silenceLogs() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
}

func oneCluster(mode, path string, o options) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	objects, err := readCluster(path)
	if err != nil {
		return err
	}
	config, err := readConfig(o.config)
	if err != nil {
		return err
	}
	s, err := newScheduler(ctx, config, objects)
	if err != nil {
		return err
	}
	out, finish, err := output(path, o.outDir)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	switch mode {
	case "explain":
		err = s.explainAll(ctx, encoder)
	case "run":
		err = s.runAll(ctx, o.follow, encoder)
	default:
		err = fmt.Errorf("unknown mode %q\n%s", mode, usage)
	}
	if ferr := finish(); err == nil {
		err = ferr
	}
	return err
}

func output(path, dir string) (io.Writer, func() error, error) {
	if dir == "" {
		w := bufio.NewWriter(os.Stdout)
		return w, w.Flush, nil
	}
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".json")
	f, err := os.Create(filepath.Join(dir, base+".jsonl"))
	if err != nil {
		return nil, nil, err
	}
	w := bufio.NewWriter(f)
	finish := func() error {
		if err := w.Flush(); err != nil {
			return err
		}
		return f.Close()
	}
	return w, finish, nil
}
