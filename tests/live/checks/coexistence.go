// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"time"

	"berth.dev/tests/live/cluster"
)

// handovers of the lease in L-161: every third one by a kill, which takes the lease's duration.
const handovers = 20

// pair are options of kube-scheduler itself and of the scheduler under test.
func (t *T) pair(options cluster.SchedulerOptions) (kube, tested cluster.SchedulerOptions) {
	kube, tested = options, options
	kube.Command, tested.Command = t.Kube, t.Command
	return kube, tested
}

var coexistenceChecks = []Check{
	{"L-160", "Beside kube-scheduler, each with its own half of the pods: all bound, each by its own scheduler", func(t *T) {
		kube, tested := t.pair(fast)
		kube.Profiles, tested.Profiles = []string{"kube-half"}, []string{"tested-half"}
		t.own(kube)
		t.own(tested)
		for i := range 4 {
			t.node(fmt.Sprint("n", i), `status: {allocatable: {cpu: "64", memory: 256Gi}}`)
		}
		for i := range 100 {
			t.pod(fmt.Sprint("p", i), "schedulerName: "+[]string{"kube-half", "tested-half"}[i%2]+", "+requests("cpu: 100m"))
		}
		for i := range 100 {
			name := fmt.Sprint("p", i)
			node := t.boundWithin(name, 30*time.Second)
			if i%10 < 2 {
				t.event(t.get(name), "Scheduled", fmt.Sprintf("Successfully assigned %s/%s to %s", t.Namespace, name, node))
			}
		}
	}},
	{"L-161", "Kube-scheduler and the scheduler under test hand one lease to each other 20 times under load, by stop and by kill", func(t *T) {
		options := t.elected()
		options.QPS = 200
		kube, tested := t.pair(options)
		for i := range 4 {
			t.node(fmt.Sprint("n", i), `status: {allocatable: {cpu: "64", memory: 256Gi, pods: "1000"}}`)
		}
		leader := t.own(kube)
		who := t.led("")
		for turn := range handovers {
			next := tested
			if turn%2 == 1 {
				next = kube
			}
			follower := t.own(next)
			for i := range 10 {
				t.pod(fmt.Sprintf("p%d-%d", turn, i), requests("cpu: 10m"))
			}
			if turn%5 == 4 {
				leader.Kill()
			} else {
				code, err := leader.Stop(10 * time.Second)
				t.must(err)
				if code != 0 {
					t.fail("turn %d: exit status %d", turn, code)
				}
			}
			who = t.led(who)
			for i := range 10 {
				t.bound(fmt.Sprintf("p%d-%d", turn, i))
			}
			leader = follower
		}
		t.eventless = true // those of a killed leader
	}},
	{"L-162", "The nomination that kube-scheduler made is kept by the scheduler that takes the lease over", func(t *T) {
		kube, tested := t.pair(t.elected())
		t.priority("high", 1000, true)
		t.priority("middle", 100, true)
		t.nodes("a")
		t.StandIn.Hold(true)
		leader := t.own(kube)
		who := t.led("")
		t.filler("victim", "a", "", "4")
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.nominated("p", "a")
		t.own(tested)
		_, err := leader.Stop(10 * time.Second)
		t.must(err)
		t.led(who)
		t.pod("later", "priorityClassName: middle, "+requests("cpu: 4"))
		t.unbound("later", 500*time.Millisecond)
		if at := t.get("p").Status.NominatedNodeName; at != "a" {
			t.fail("p is nominated to %q", at)
		}
		t.must(t.StandIn.Release(t.Context))
		t.boundTo("p", "a")
		t.unbound("later", 300*time.Millisecond)
	}},
	{"L-163", "The nomination that the scheduler under test made is kept by kube-scheduler", func(t *T) {
		kube, tested := t.pair(t.elected())
		t.priority("high", 1000, true)
		t.nodes("a")
		t.StandIn.Hold(true)
		leader := t.own(tested)
		who := t.led("")
		t.filler("victim", "a", "", "4")
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.nominated("p", "a")
		t.own(kube)
		_, err := leader.Stop(10 * time.Second)
		t.must(err)
		t.led(who)
		if at := t.get("p").Status.NominatedNodeName; at != "a" {
			t.fail("p is nominated to %q", at)
		}
		t.must(t.StandIn.Release(t.Context))
		t.boundTo("p", "a")
	}},
}
