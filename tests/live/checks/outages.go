// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"berth.dev/tests/live/cluster"
	"berth.dev/tests/live/observer"
	"berth.dev/tests/live/standin"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type request = http.Request

// outage ends a part of the control plane at once, waits, and starts it again.
func (t *T) outage(part *cluster.Process, lasts time.Duration) {
	part.Kill()
	time.Sleep(lasts)
	t.must(part.Start())
	t.must(t.Cluster.WaitReady(t.Context, 60*time.Second))
	if !t.Cluster.Manager.Running() {
		t.must(t.Cluster.Manager.Start())
	}
}

// boundLater waits longer: informers of schedulers back off while the API server is away.
func (t *T) boundLater(prefix string, count int) {
	for i := range count {
		t.boundWithin(fmt.Sprint(prefix, i), 60*time.Second)
	}
}

var outageChecks = []Check{
	{"L-140", "The API server is killed and restarted: the scheduler stays and binds afterwards", func(t *T) {
		scheduler := t.own(fast)
		t.load(5)
		t.outage(t.Cluster.API, time.Second)
		for i := range 5 {
			t.pod(fmt.Sprint("later", i), "")
		}
		t.boundLater("later", 5)
		if !scheduler.Running() {
			t.fail("the scheduler ended")
		}
	}},
	{"L-141", "The API server is killed under load: every pod is bound once", func(t *T) {
		t.own(cluster.SchedulerOptions{QPS: 20})
		t.nodes("a", "b", "c")
		for i := range 60 {
			t.pod(fmt.Sprint("p", i), requests("cpu: 50m"))
		}
		t.outage(t.Cluster.API, 500*time.Millisecond)
		t.boundLater("p", 60)
		t.eventless = t.Kind == "kube" // bindings whose answer was lost
	}},
	{"L-142", "etcd is killed and restarted: pods that came in between are bound", func(t *T) {
		scheduler := t.own(fast)
		t.load(5)
		t.told() // an API server without etcd refuses events, and no scheduler writes a refused one again
		t.outage(t.Cluster.Etcd, time.Second)
		for i := range 5 {
			t.pod(fmt.Sprint("later", i), "")
		}
		t.boundLater("later", 5)
		if !scheduler.Running() {
			t.fail("the scheduler ended")
		}
	}},
	{"L-143", "etcd is compacted and the API server restarted: old versions are gone, watches are listed again", func(t *T) {
		t.proxied(fast)
		t.load(5)
		for i := range 20 {
			t.patchNode("a", fmt.Sprintf("metadata: {labels: {turn: '%d'}}", i))
		}
		t.must(t.Cluster.Compact(t.Context))
		t.outage(t.Cluster.API, 500*time.Millisecond)
		t.must(t.Cluster.Compact(t.Context))
		for i := range 5 {
			t.pod(fmt.Sprint("later", i), "")
		}
		t.boundLater("later", 5)
	}},
	{"L-144", "A scheduler that starts before the API server waits for it and does not exit", func(t *T) {
		t.nodes("a")
		t.pod("p", "")
		scheduler := t.describe(fast)
		t.Cluster.API.Kill()
		t.must(scheduler.Start())
		time.Sleep(2 * time.Second)
		waiting := scheduler.Running()
		t.must(t.Cluster.API.Start())
		t.must(t.Cluster.WaitReady(t.Context, 60*time.Second))
		if t.Kind == "kube" && !waiting { // kube-scheduler reads its delegated configuration once
			t.must(scheduler.Start())
		} else if !waiting {
			t.fail("the scheduler ended")
		}
		t.boundWithin("p", 60*time.Second)
	}},
	{"L-145", "The scheduler is killed under load and started again: every pod is bound once", func(t *T) {
		scheduler := t.own(cluster.SchedulerOptions{QPS: 20})
		t.nodes("a", "b", "c")
		for i := range 60 {
			t.pod(fmt.Sprint("p", i), requests("cpu: 50m"))
		}
		for range 3 {
			time.Sleep(300 * time.Millisecond)
			scheduler.Kill()
			t.must(scheduler.Start())
			t.must(scheduler.WaitReady(t.Context, 30*time.Second))
		}
		t.boundLater("p", 60)
		t.eventless = true // events of a killed scheduler may be lost
	}},
	{"L-14A", "A scheduler that starts again writes no condition that the pod has already", func(t *T) {
		scheduler := t.proxied(cluster.SchedulerOptions{})
		t.nodes("a")
		const text = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
		t.pod("p", "nodeSelector: {no: where}")
		t.refused("p", text+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
		before, patches := t.get("p").ResourceVersion, t.Proxy.Count("PATCH", "status")
		scheduler.Kill()
		t.must(scheduler.Start())
		t.must(scheduler.WaitReady(t.Context, 30*time.Second))
		t.eventually(bindLimit, func() string {
			return orWait(t.metric(scheduler, "scheduler_schedule_attempts_total", `result="unschedulable"`) > 0, "p is not tried again")
		})
		t.pod("q", "nodeSelector: {no: where}")
		t.refused("q", text+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
		if now := t.Proxy.Count("PATCH", "status"); now != patches+1 {
			t.fail("%d status patches, not the one of q", now-patches)
		}
		if now := t.get("p").ResourceVersion; now != before {
			t.fail("p was written again")
		}
	}},
	{"L-146", "Ten thousand changes of node status (CHANGES=N) as fast as the server takes them, while pods are bound", func(t *T) {
		t.own(fast)
		const workers = 8
		for i := range 50 {
			t.nodes(fmt.Sprint("n", i))
		}
		done := make(chan error)
		for worker := range workers {
			go func() {
				for i := range t.Changes / workers {
					if err := t.StandIn.Condition(t.Context, fmt.Sprint("n", (i*workers+worker)%50), "True"); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		t.more("p", 50)
		for range workers {
			t.must(<-done)
		}
		t.more("q", 5)
	}},
	{"L-147", "An API server of the next minor release: pods are bound, refused and preempted for", func(t *T) {
		newer, err := cluster.New(cluster.Options{Folder: filepath.Join(t.Cluster.Folder, "newer"), Bin: t.Cluster.Bin,
			APIServer: t.Newer, ControllerManager: true})
		t.must(err)
		defer newer.Stop()
		t.must(newer.Start(t.Context))
		client, err := newer.Client(true)
		t.must(err)
		version, err := client.Discovery().ServerVersion()
		t.must(err)
		if version.Minor != "36" {
			t.fail("the server is %s", version.GitVersion)
		}
		env := *t.Env
		env.shared, env.Cluster, env.Client = nil, newer, client
		env.Observer, env.StandIn = observer.Start(t.Context, client), standin.Start(t.Context, client, 10*time.Second)
		defer env.CloseShared()
		for _, check := range steady() {
			switch check.ID {
			case "L-001", "L-010", "L-028", "L-050", "L-060", "L-063", "L-072", "L-090", "L-101", "L-110":
				if result := env.Run(check); result.Failure != "" {
					t.fail("%s with a server of 1.36: %s", check.ID, result.Failure)
				}
			}
		}
	}},
	{"L-148", "A namespace with pending pods is deleted: nothing is left behind", func(t *T) {
		scheduler := t.shared()
		other := t.second("team: gone")
		t.nodes("a")
		other.pod("p", "nodeSelector: {no: where}")
		other.eventually(bindLimit, func() string { return orWait(condition(other.get("p")).Status == "False", "p is not refused") })
		t.must(t.Client.CoreV1().Namespaces().Delete(t.Context, other.Namespace, meta.DeleteOptions{}))
		other.gone("p")
		t.eventually(10*time.Second, func() string {
			left := t.metric(scheduler, "scheduler_pending_pods")
			return orWait(left == 0, fmt.Sprint(left, " pods are pending"))
		})
	}},
	{"L-149", "SIGUSR2 makes the scheduler compare its cache with the API server, and it goes on", func(t *T) {
		scheduler := t.own(fast)
		t.load(3)
		_, before := scheduler.Output(0)
		scheduler.Signal(syscall.SIGUSR2)
		t.eventually(5*time.Second, func() string {
			output, _ := scheduler.Output(before)
			return orWait(strings.Contains(strings.ToLower(output), "cache"), "the log does not speak of the cache: "+scheduler.Log)
		})
		t.more("later", 3)
	}},
}
