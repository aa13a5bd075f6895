// SPDX-License-Identifier: Apache-2.0

// The program of make live: starts a control plane on loopback, runs the checks of docs/live.md with one scheduler, and says
// how many failed. Exit status 0 when all that were asked for ran and passed.
//
//	live [--scheduler kube|berth] [--checks L-012,L-040] [--list] [--build build/live]
//	live --bench [--candidates yardstick,kube] [--workloads basic] [--nodes 5000] [--pods 5000]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"berth.dev/tests/live/bench"
	"berth.dev/tests/live/checks"
	"berth.dev/tests/live/cluster"
	"berth.dev/tests/live/observer"
	"berth.dev/tests/live/proxy"
	"berth.dev/tests/live/standin"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// leastChecks is how many a full run has to hold.
const leastChecks = 60

type options struct {
	scheduler, berth, build, only, docs string
	list, verbose                       bool
	changes                             int
}

func main() {
	var o options
	flag.StringVar(&o.scheduler, "scheduler", "kube", "the scheduler under test: kube or berth")
	flag.StringVar(&o.berth, "berth", "build/host/berth", "the program berth")
	flag.StringVar(&o.build, "build", "build/live", "folder of the programs; run/ below it is made new")
	flag.StringVar(&o.only, "checks", "", "ids of the checks to run, with commas; all when empty")
	flag.StringVar(&o.docs, "docs", "docs/live.md", "the list of checks, each of which has to be run")
	flag.BoolVar(&o.list, "list", false, "write the rows of docs/live.md and end")
	flag.BoolVar(&o.verbose, "v", false, "say when each check ends")
	flag.IntVar(&o.changes, "changes", 10000, "changes of node status in L-146")
	var measure bool
	var client, kubeconfig string
	flag.BoolVar(&measure, "bench", false, "measure instead of checking")
	flag.StringVar(&client, "client", "", "be the client that --bench starts: bind-only or yardstick")
	flag.StringVar(&kubeconfig, "kubeconfig", "", "with --client")
	b := benchFlags()
	flag.Parse()
	klog.SetLogger(logr.Discard()) // client-go complains of every watch that a check breaks
	if o.list {
		for _, check := range checks.All() {
			fmt.Printf("| %s | %s |\n", check.ID, check.Title)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if client != "" {
		if err := bench.Client(ctx, kubeconfig, client == "yardstick"); err != nil {
			fmt.Fprintln(os.Stderr, client+":", err)
			os.Exit(1)
		}
		return
	}
	if measure {
		status, err := runBench(ctx, o, b)
		if err != nil {
			fmt.Fprintln(os.Stderr, "live-bench:", err)
		}
		if status != 0 {
			stop()
			os.Exit(status)
		}
		return
	}
	chosen, err := choose(o.only)
	if err == nil && o.only == "" {
		err = compare(o.docs, chosen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(2)
	}
	failed, err := run(ctx, o, chosen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
	fmt.Printf("live: %d checks, %d failed\n", len(chosen), failed)
	if failed > 0 || (o.only == "" && len(chosen) < leastChecks) {
		os.Exit(1)
	}
}

// choose gives the checks with these ids, in the order of the list; an id that does not exist is an error.
func choose(only string) ([]checks.Check, error) {
	all := checks.All()
	if only == "" {
		return all, nil
	}
	wanted := map[string]bool{}
	for _, id := range strings.Split(only, ",") {
		wanted[strings.TrimSpace(id)] = true
	}
	var chosen []checks.Check
	for _, check := range all {
		if wanted[check.ID] {
			chosen = append(chosen, check)
			delete(wanted, check.ID)
		}
	}
	for id := range wanted {
		return nil, fmt.Errorf("no check %q", id)
	}
	return chosen, nil
}

// compare refuses a document that does not list exactly these checks.
func compare(docs string, chosen []checks.Check) error {
	text, err := os.ReadFile(docs)
	if err != nil {
		return err
	}
	var rows []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "| L-") {
			rows = append(rows, line)
		}
	}
	for i, check := range chosen {
		row := fmt.Sprintf("| %s | %s |", check.ID, check.Title)
		if i >= len(rows) || rows[i] != row {
			return fmt.Errorf("%s does not list %q in its place; `make live-list` writes the rows", docs, row)
		}
	}
	if len(rows) != len(chosen) {
		return fmt.Errorf("%s lists %d checks, there are %d", docs, len(rows), len(chosen))
	}
	return nil
}

func commands(o options) (tested, kube []string, err error) {
	kube = []string{filepath.Join(o.build, "bin", "kube-scheduler"), "--v=2"}
	switch o.scheduler {
	case "kube":
		return kube, kube, nil
	case "berth":
		return []string{o.berth, "scheduler"}, kube, nil
	}
	return nil, nil, fmt.Errorf("no scheduler %q (kube, berth)", o.scheduler)
}

func run(ctx context.Context, o options, chosen []checks.Check) (failed int, err error) {
	tested, kube, err := commands(o)
	if err != nil {
		return 0, err
	}
	unlock, err := onlyOne(filepath.Join(o.build, "run.lock"))
	if err != nil {
		return 0, err
	}
	defer unlock()
	bin := filepath.Join(o.build, "bin")
	control, err := cluster.New(cluster.Options{Folder: absolute(filepath.Join(o.build, "run")), Bin: bin,
		APIServer: filepath.Join(bin, "kube-apiserver"), ControllerManager: true})
	if err != nil {
		return 0, err
	}
	defer control.Stop()
	began := time.Now()
	if err := control.Start(ctx); err != nil {
		return 0, err
	}
	env, err := environment(ctx, control)
	if err != nil {
		return 0, err
	}
	defer env.CloseShared()
	env.Kind, env.Command, env.Kube, env.Verbose, env.Changes = o.scheduler, tested, kube, o.verbose, o.changes
	env.Newer = filepath.Join(o.build, "bin-1.36", "kube-apiserver")
	if o.verbose {
		fmt.Printf("control plane ready after %.1f s\n", time.Since(began).Seconds())
	}
	for _, check := range chosen {
		if ctx.Err() != nil {
			return failed, ctx.Err()
		}
		result := env.Run(check)
		if result.Failure != "" {
			failed++
			fmt.Printf("%s failed (%.1f s): %s: %s\n", check.ID, result.Took.Seconds(), check.Title, result.Failure)
		} else if o.verbose {
			fmt.Printf("%s passed (%.1f s): %s\n", check.ID, result.Took.Seconds(), check.Title)
		}
	}
	return failed, nil
}

// onlyOne refuses a second run in the same folder, which would take the first one's files away.
func onlyOne(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("another run holds %s", path)
	}
	return func() { file.Close() }, nil
}

func environment(ctx context.Context, control *cluster.Cluster) (*checks.Env, error) {
	client, err := control.Client(true)
	if err != nil {
		return nil, err
	}
	serving, err := control.Authority.Issue("proxy", "proxy")
	if err != nil {
		return nil, err
	}
	certificate, err := serving.Load()
	if err != nil {
		return nil, err
	}
	between, err := proxy.Start(control.Server, control.Authority.Pool(), certificate, true)
	if err != nil {
		return nil, err
	}
	user := control.Kubeconfig("proxied")
	if err := control.WriteKubeconfig(user, between.URL, "token: scheduler-token"); err != nil {
		return nil, err
	}
	return &checks.Env{Context: ctx, Cluster: control, Client: client, Proxy: between, ProxyUser: user,
		Observer: observer.Start(ctx, client), StandIn: standin.Start(ctx, client, 10*time.Second)}, nil
}

func absolute(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return full
}
