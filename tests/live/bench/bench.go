// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"berth.dev/tests/live/cluster"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Options of a run.
type Options struct {
	Build, Berth      string // folder of the programs, and the program berth
	Candidates        string // with commas, in turn: bind-only, yardstick, kube, berth, berth-json
	Workloads         string // with commas: basic, mix
	Nodes, Pods, Rate int    // Pods wait for a start; Rate arrive each second afterwards
	Seconds           int    // for so long
	Folder            string // certificates, data and logs, made new
}

const qps = 5000

// measured is one candidate with one workload.
type measured struct {
	candidate, workload string
	burst               float64 // binds a second, from the first to the last
	burstCPU            float64 // seconds for 1,000 pods, from the start of the process
	p50, p99            float64 // milliseconds from creation to binding, as a third client saw it
	arrivalCPU          float64 // seconds for 1,000 pods that arrive
	serverCPU           float64 // the API server's for them
	memory              float64 // MiB, the most
	events, bound       int
	prompt              float64 // share of the arriving pods whose binding left within promptSeconds; Berth alone says it
}

// promptSeconds is a bound of a bucket of Berth's histogram: how long it may take from a pod's event to its binding.
const promptSeconds = "0.005"

// Run measures every candidate with every workload on a control plane of its own, writes the table, and gives how many
// rows there are and how many are short of their aim.
func Run(ctx context.Context, o Options) (rows, short int, err error) {
	fmt.Printf("%d nodes, %d waiting pods, then %d pods/s for %d s; QPS and burst %d, etcd without fsync, admission "+
		"ServiceAccount and TaintNodesByCondition off, no controllers; %d cores\n",
		o.Nodes, o.Pods, o.Rate, o.Seconds, qps, runtime.NumCPU())
	fmt.Println("| workload | candidate | binds/s | CPU s/1,000 (start) | p50 ms | p99 ms | in 5 ms | CPU s/1,000 (arriving) | API server's | memory MiB | events |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|")
	for _, workload := range strings.Split(o.Workloads, ",") {
		results := map[string]measured{}
		for _, candidate := range strings.Split(o.Candidates, ",") {
			m, err := one(ctx, o, workload, candidate)
			if err != nil {
				return rows, short, fmt.Errorf("%s, %s: %w", workload, candidate, err)
			}
			results[candidate] = m
			prompt := ""
			if strings.HasPrefix(candidate, "berth") {
				prompt = fmt.Sprintf("%.1f %%", 100*m.prompt)
			}
			fmt.Printf("| %s | %s | %.0f | %.3f | %.1f | %.1f | %s | %.3f | %.2f | %.0f | %d of %d |\n", workload, candidate, m.burst,
				m.burstCPU, m.p50, m.p99, prompt, m.arrivalCPU, m.serverCPU, m.memory, m.events, m.bound)
			rows++
		}
		short += compare(results)
	}
	return rows, short, nil
}

// compare says where Berth is short of its aims; a run without Berth has none.
func compare(results map[string]measured) (short int) {
	berth, is := results["berth"]
	if !is {
		return 0
	}
	aim := func(holds bool, format string, values ...any) {
		if !holds {
			short++
			fmt.Printf("short: %s: "+format+"\n", append([]any{berth.workload}, values...)...)
		}
	}
	aim(berth.prompt >= 0.99, "%.1f %% of the bindings left within %s s (99 %%)", 100*berth.prompt, promptSeconds)
	aim(berth.events == berth.bound, "%d events of %d pods", berth.events, berth.bound)
	if y, is := results["yardstick"]; is {
		aim(berth.burst >= 0.95*y.burst, "%.0f binds/s of the yardstick's %.0f (95 %%)", berth.burst, y.burst)
		aim(berth.p99 <= y.p99+10, "p99 %.1f ms, the yardstick's %.1f (10 ms more)", berth.p99, y.p99)
	}
	if k, is := results["kube"]; is {
		aim(berth.burstCPU < 0.15*k.burstCPU, "%.3f CPU seconds for 1,000 pods of kube-scheduler's %.3f (15 %%)", berth.burstCPU, k.burstCPU)
		aim(berth.arrivalCPU < 0.15*k.arrivalCPU, "%.3f CPU seconds for 1,000 arriving pods of kube-scheduler's %.3f (15 %%)", berth.arrivalCPU, k.arrivalCPU)
	}
	return short
}

func one(ctx context.Context, o Options, workload, candidate string) (m measured, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	bin := filepath.Join(o.Build, "bin")
	control, err := cluster.New(cluster.Options{Folder: o.Folder, Bin: bin, APIServer: filepath.Join(bin, "kube-apiserver")})
	if err != nil {
		return m, err
	}
	defer control.Stop()
	if err := control.Start(ctx); err != nil {
		return m, err
	}
	client, err := control.Client(true)
	if err != nil {
		return m, err
	}
	if err := createNodes(ctx, client, o.Nodes); err != nil {
		return m, err
	}
	create := func(i int) error {
		_, err := client.CoreV1().Pods(namespace).Create(ctx, pod(workload, i), meta.CreateOptions{})
		return err
	}
	if err := each(o.Pods, create); err != nil {
		return m, err
	}
	seen, err := watch(ctx, client)
	if err != nil {
		return m, err
	}
	scheduler, err := start(control, o, candidate)
	if err != nil {
		return m, err
	}
	process := scheduler.Process
	defer process.Kill()
	m = measured{candidate: candidate, workload: workload}
	if err := m.waiting(ctx, o, process, seen); err != nil {
		return m, err
	}
	before, err := bindings(ctx, scheduler, candidate)
	if err != nil {
		return m, err
	}
	if err := m.count(ctx, client, o.Pods); err != nil {
		return m, err
	}
	time.Sleep(2 * time.Second) // watches have told the last events
	server, err := control.API.CPU()
	if err != nil {
		return m, err
	}
	if err := m.arriving(ctx, o, process, seen, create); err != nil {
		return m, err
	}
	served, err := control.API.CPU()
	if err != nil {
		return m, err
	}
	m.serverCPU = (served - server).Seconds() * 1000 / float64(o.Rate*o.Seconds)
	after, err := bindings(ctx, scheduler, candidate)
	if err != nil {
		return m, err
	}
	m.prompt = (after.prompt - before.prompt) / (after.all - before.all)
	if memory, err := process.Memory("VmHWM"); err == nil {
		m.memory = float64(memory) / (1 << 20)
	}
	return m, m.count(ctx, client, seen.count())
}

// sent counts bindings of first attempts.
type sent struct{ prompt, all float64 }

// bindings reads what Berth counts; of another candidate nothing is known.
func bindings(ctx context.Context, scheduler *cluster.Scheduler, candidate string) (s sent, err error) {
	if !strings.HasPrefix(candidate, "berth") {
		return s, nil
	}
	code, text, err := scheduler.Get(ctx, "/metrics", cluster.AdminToken)
	if err != nil || code != http.StatusOK {
		return s, fmt.Errorf("/metrics: %d %w", code, err)
	}
	s.all, _ = cluster.Metric(text, "berth_first_binding_delay_seconds_count")
	s.prompt, _ = cluster.Metric(text, "berth_first_binding_delay_seconds_bucket", fmt.Sprintf("le=%q", promptSeconds))
	return s, nil
}

// start starts a candidate as system:kube-scheduler, so that the API server treats all alike.
func start(control *cluster.Cluster, o Options, candidate string) (*cluster.Scheduler, error) {
	options := cluster.SchedulerOptions{Name: candidate, Kubeconfig: control.Kubeconfig("scheduler"), QPS: qps}
	switch candidate {
	case "kube":
		options.Command = []string{filepath.Join(o.Build, "bin", "kube-scheduler")}
	case "berth", "berth-json":
		options.Command = []string{o.Berth, "scheduler"}
		if candidate == "berth-json" {
			options.Content = "application/json"
		}
	case "yardstick", "bind-only":
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		process := cluster.NewProcess(control.Folder, candidate, self, "--client="+candidate, "--kubeconfig="+options.Kubeconfig)
		return &cluster.Scheduler{Process: process}, process.Start()
	default:
		return nil, fmt.Errorf("no candidate %q (bind-only, yardstick, kube, berth, berth-json)", candidate)
	}
	scheduler, err := control.NewScheduler(options)
	if err != nil {
		return nil, err
	}
	return scheduler, scheduler.Start()
}

// waiting measures the pods that were there before the start.
func (m *measured) waiting(ctx context.Context, o Options, process *cluster.Process, seen *watcher) error {
	if err := seen.wait(ctx, o.Pods, 5*time.Minute); err != nil {
		return err
	}
	cpu, err := process.CPU()
	if err != nil {
		return err
	}
	times := seen.times(0, o.Pods)
	slices.SortFunc(times, time.Time.Compare)
	m.burst = float64(o.Pods-1) / times[len(times)-1].Sub(times[0]).Seconds()
	m.burstCPU = cpu.Seconds() * 1000 / float64(o.Pods)
	return nil
}

// arriving creates pods at an even rate.
func (m *measured) arriving(ctx context.Context, o Options, process *cluster.Process, seen *watcher, create func(int) error) error {
	before, err := process.CPU()
	if err != nil {
		return err
	}
	count := o.Rate * o.Seconds
	sent, failed := make([]time.Time, count), make(chan error, count)
	began := time.Now()
	for i := range count {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(o.Rate))))
		sent[i] = time.Now()
		go func() { failed <- create(o.Pods + i) }()
	}
	for range count {
		if err := <-failed; err != nil {
			return err
		}
	}
	if err := seen.wait(ctx, o.Pods+count, 2*time.Minute); err != nil {
		return err
	}
	after, err := process.CPU()
	if err != nil {
		return err
	}
	m.arrivalCPU = (after - before).Seconds() * 1000 / float64(count)
	var late []float64
	for i, at := range seen.times(o.Pods, o.Pods+count) {
		late = append(late, at.Sub(sent[i]).Seconds()*1000)
	}
	sort.Float64s(late)
	m.p50, m.p99 = late[len(late)/2], late[len(late)*99/100]
	return nil
}

// count finds the Scheduled events of so many bound pods, for at most 20 s while they are still written.
func (m *measured) count(ctx context.Context, client *kubernetes.Clientset, bound int) error {
	m.bound = bound
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		m.events = 0
		list, err := client.EventsV1().Events(namespace).List(ctx, meta.ListOptions{FieldSelector: "reason=Scheduled"})
		if err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Regarding.Kind == "Pod" {
				m.events++
			}
		}
		if m.events >= m.bound || m.candidate == "bind-only" || time.Now().After(end) {
			return nil
		}
	}
}
