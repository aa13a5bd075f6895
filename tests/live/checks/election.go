// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"berth.dev/tests/live/cluster"
	"berth.dev/tests/live/proxy"
	coordination "k8s.io/api/coordination/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const system = "kube-system"

// elected is a scheduler that stands for the lease of this check.
func (t *T) elected() cluster.SchedulerOptions {
	return cluster.SchedulerOptions{Lease: strings.ToLower(t.ID)}
}

func (t *T) lease() *coordination.Lease {
	lease, err := t.Client.CoordinationV1().Leases(system).Get(t.Context, strings.ToLower(t.ID), meta.GetOptions{})
	if err != nil {
		return &coordination.Lease{}
	}
	return lease
}

func holder(lease *coordination.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// led waits until somebody else than `before` holds the lease and gives the holder.
func (t *T) led(before string) string {
	now := ""
	t.eventually(15*time.Second, func() string {
		now = holder(t.lease())
		return orWait(now != "" && now != before, fmt.Sprintf("the lease is held by %q", now))
	})
	return now
}

// takeover is how long a kill may keep pods waiting. kube-scheduler's own polls are up to 2.2 retry periods apart, one of
// which it needs to see the last renewal and one to see its end.
func (t *T) takeover() time.Duration {
	if t.Kind == "kube" {
		return cluster.LeaseDuration + cluster.RetryPeriod*44/10 + time.Second
	}
	return cluster.LeaseDuration + cluster.RetryPeriod + time.Second
}

var identity = regexp.MustCompile(`^[^_]+_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// faketime is the library that gives a process another time of day.
func (t *T) faketime() string {
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	t.must(err)
	if len(found) == 0 {
		t.fail("no libfaketime: scripts/install_dependencies.sh live")
	}
	return found[0]
}

var electionChecks = []Check{
	{"L-110", "The lease has kube-scheduler's fields, is renewed, and events name the leader", func(t *T) {
		t.own(t.elected())
		who := t.led("")
		lease := t.lease()
		if !identity.MatchString(who) || *lease.Spec.LeaseDurationSeconds != int32(cluster.LeaseDuration.Seconds()) ||
			lease.Spec.AcquireTime == nil || *lease.Spec.LeaseTransitions != 0 {
			t.fail("lease %+v", lease.Spec)
		}
		t.eventually(5*time.Second, func() string {
			return orWait(t.lease().Spec.RenewTime.After(lease.Spec.RenewTime.Time), "the lease is not renewed")
		})
		t.eventually(5*time.Second, func() string {
			list, err := t.Client.CoreV1().Events(system).List(t.Context, meta.ListOptions{FieldSelector: "reason=LeaderElection"})
			t.must(err)
			for _, event := range list.Items {
				if event.InvolvedObject.Name == strings.ToLower(t.ID) && event.Message == who+" became leader" {
					return ""
				}
			}
			return fmt.Sprint("no event that ", who, " became leader")
		})
	}},
	{"L-111", "SIGTERM ends the leader with status 0 and gives the lease back", func(t *T) {
		scheduler := t.own(t.elected())
		t.led("")
		code, err := scheduler.Stop(10 * time.Second)
		t.must(err)
		if code != 0 {
			t.fail("exit status %d", code)
		}
		if lease := t.lease(); holder(lease) != "" || *lease.Spec.LeaseDurationSeconds != 1 {
			t.fail("lease %+v", lease.Spec)
		}
	}},
	{"L-112", "After a kill of the leader the other binds within leaseDuration + retryPeriod + 1 s", func(t *T) {
		first := t.own(t.elected())
		who := t.led("")
		t.own(t.elected())
		t.nodes("a")
		time.Sleep(time.Second)
		t.pod("before", "")
		t.boundTo("before", "a")
		t.event(t.get("before"), "Scheduled", "Successfully assigned "+t.Namespace+"/before to a") // a kill may lose it
		first.Kill()
		killed := time.Now()
		t.pod("p", "")
		t.boundWithin("p", t.takeover())
		if t.Verbose {
			fmt.Printf("%s: first bind %.2f s after the kill\n", t.ID, time.Since(killed).Seconds())
		}
		if lease := t.lease(); holder(lease) == who || *lease.Spec.LeaseTransitions != 1 {
			t.fail("lease %+v", lease.Spec)
		}
	}},
	{"L-113", "After SIGTERM of the leader the other binds within two seconds", func(t *T) {
		first := t.own(t.elected())
		t.led("")
		t.own(t.elected())
		t.nodes("a")
		time.Sleep(time.Second)
		_, err := first.Stop(10 * time.Second)
		t.must(err)
		t.pod("p", "")
		t.boundWithin("p", 2*time.Second+cluster.RetryPeriod*22/10)
	}},
	{"L-114", "A standby is ready, binds nothing, and says that it does not lead", func(t *T) {
		leader := t.own(t.elected())
		who := t.led("")
		standby := t.own(t.elected())
		t.nodes("a")
		for i := range 5 {
			t.pod(fmt.Sprint("p", i), "")
			t.bound(fmt.Sprint("p", i))
		}
		name := `name="kube-scheduler"`
		lead, follow := t.metric(leader, "leader_election_master_status", name), t.metric(standby, "leader_election_master_status", name)
		if lead != 1 || follow != 0 {
			t.fail("leader_election_master_status is %v and %v", lead, follow)
		}
		if bound := t.metric(standby, "scheduler_schedule_attempts_total"); bound != 0 {
			t.fail("the standby made %v attempts", bound)
		}
		if text := t.page(standby, "/metrics/resources", adminToken, 200); strings.Contains(text, "kube_pod_resource_request{") {
			t.fail("the standby reports resources")
		}
		if holder(t.lease()) != who {
			t.fail("the leader changed")
		}
	}},
	{"L-115", "A leader that cannot renew ends with status 1 and binds nothing after renewDeadline", func(t *T) {
		scheduler := t.proxied(t.elected())
		t.led("")
		t.fault(&proxy.Rule{Name: "no renewal", Match: proxy.Call("", "/leases/"+strings.ToLower(t.ID)), Status: 503, Reason: "ServiceUnavailable"})
		code, err := scheduler.Wait(cluster.RenewDeadline + 5*time.Second)
		t.must(err)
		if code != 1 {
			t.fail("exit status %d", code)
		}
		t.nodes("a")
		t.pod("p", "")
		t.unbound("p", 500*time.Millisecond)
	}},
	{"L-116", "A leader whose lease was taken by another ends with status 1", func(t *T) {
		scheduler := t.own(t.elected())
		t.led("")
		now := time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04:05.000000Z")
		_, err := t.Client.CoordinationV1().Leases(system).Patch(t.Context, strings.ToLower(t.ID), types.MergePatchType,
			[]byte(`{"spec":{"holderIdentity":"thief","leaseDurationSeconds":60,"renewTime":"`+now+`"}}`), meta.PatchOptions{})
		t.must(err)
		code, err := scheduler.Wait(cluster.RenewDeadline + 5*time.Second)
		t.must(err)
		if code != 1 {
			t.fail("exit status %d", code)
		}
		if who := holder(t.lease()); who != "thief" {
			t.fail("the lease is held by %q", who)
		}
	}},
	{"L-117", "Renewals that fail for less than renewDeadline do not end the leader", func(t *T) {
		scheduler := t.proxied(t.elected())
		who := t.led("")
		t.fault(&proxy.Rule{Name: "renewals break", Match: proxy.Call("PUT", "/leases/"+strings.ToLower(t.ID)), Drop: true, Times: 2})
		time.Sleep(cluster.RenewDeadline)
		t.nodes("a")
		t.pod("p", "")
		t.boundTo("p", "a")
		if !scheduler.Running() || holder(t.lease()) != who {
			t.fail("the leader changed")
		}
	}},
	{"L-118", "SIGTERM while pods are being bound: status 0, and the next scheduler binds the rest, none twice", func(t *T) {
		scheduler := t.own(t.elected())
		t.led("")
		for i := range 10 {
			t.nodes(fmt.Sprint("n", i))
		}
		t.deployment("web", 150, requests("cpu: 10m"))
		t.eventually(bindLimit, func() string {
			return orWait(t.metric(scheduler, "scheduler_schedule_attempts_total") > 10, "no attempts yet")
		})
		scheduler.Signal(syscall.SIGTERM)
		code, err := scheduler.Wait(10 * time.Second)
		t.must(err)
		if code != 0 {
			t.fail("exit status %d", code)
		}
		t.own(t.elected())
		t.boundPods("app=web", 150)
		t.eventless = t.Kind == "kube" // its events may be lost at its end
	}},
	{"L-119", "The time of day jumps an hour ahead, back and behind: the lease is kept and pods do not wait for it (Berth alone)", func(t *T) {
		if t.Kind == "kube" {
			return // Go reads the clock without libc, so that its time cannot be changed alone
		}
		file := filepath.Join(t.Cluster.Folder, "time-of-day")
		jump := func(offset string) { t.must(os.WriteFile(file, []byte(offset), 0o644)) }
		jump("+0")
		options := t.elected()
		options.Command = append([]string{"env", "LD_PRELOAD=" + t.faketime(), "FAKETIME_TIMESTAMP_FILE=" + file,
			"FAKETIME_NO_CACHE=1", "DONT_FAKE_MONOTONIC=1"}, t.Command...)
		scheduler := t.own(options)
		who := t.led("")
		t.nodes("a")
		t.pod("blocker", requests("cpu: 4"))
		t.boundTo("blocker", "a")
		t.pod("waits", requests("cpu: 4"))
		for i, hours := range []int{1, 0, -1, 1} {
			t.eventually(bindLimit, func() string {
				return orWait(condition(t.get("waits")).Reason == "Unschedulable", "the pod was not refused")
			})
			jump(fmt.Sprintf("%+dh", hours))
			t.eventually(5*time.Second, func() string {
				lease := t.lease()
				off := time.Until(lease.Spec.RenewTime.Time) - time.Duration(hours)*time.Hour
				return orWait(holder(lease) == who && off.Abs() < time.Minute, fmt.Sprintf("the lease is %+v", lease.Spec))
			})
			t.deletePod("blocker")
			t.boundTo("waits", "a")
			t.deletePod("waits")
			t.pod("blocker", requests("cpu: 4"))
			t.boundTo("blocker", "a")
			t.pod("waits", requests("cpu: 4"))
			if lease := t.lease(); holder(lease) != who || *lease.Spec.LeaseTransitions != 0 {
				t.fail("after jump %d: lease %+v", i, lease.Spec)
			}
		}
		if !scheduler.Running() {
			t.fail("the scheduler ended")
		}
	}},
}
