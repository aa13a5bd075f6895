// SPDX-License-Identifier: Apache-2.0

// Package checks holds what make live checks, each check small and by its id. docs/live.md lists them; a check begins with
// a cluster that has neither nodes nor pods and runs alone, so that every text can be compared letter by letter.
package checks

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"berth.dev/tests/live/cluster"
	"berth.dev/tests/live/observer"
	"berth.dev/tests/live/proxy"
	"berth.dev/tests/live/standin"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Check is one check.
type Check struct {
	ID, Title string
	Run       func(*T)
}

// All is the one list of checks, in the order in which they run.
func All() []Check {
	all := steady()
	for _, group := range [][]Check{faultChecks, outageChecks, accessChecks, deployChecks, coexistenceChecks} {
		all = append(all, group...)
	}
	return all
}

// steady are the checks in which nothing between scheduler and API server breaks.
func steady() []Check {
	var all []Check
	for _, group := range [][]Check{nodeChecks, resourceChecks, affinityChecks, spreadChecks, queueChecks, preemptionChecks,
		volumeChecks, workloadChecks, servingChecks, electionChecks} {
		all = append(all, group...)
	}
	return all
}

// Env is what the checks share: one control plane and, between checks that start their own, one scheduler.
type Env struct {
	Context   context.Context
	Cluster   *cluster.Cluster
	Client    *kubernetes.Clientset
	Observer  *observer.Observer
	StandIn   *standin.StandIn
	Kind      string   // kube or berth: of the scheduler under test
	Command   []string // that scheduler
	Kube      []string // kube-scheduler itself
	Newer     string   // kube-apiserver of the next minor release
	Verbose   bool
	Changes   int // of L-146
	Proxy     *proxy.Proxy
	ProxyUser string // kubeconfig of the scheduler through the proxy

	shared  *cluster.Scheduler
	counter int
}

// Result of one check; Failure is empty when it passed.
type Result struct {
	Check
	Failure string
	Took    time.Duration
}

// failure is what stops a check; other panics are mistakes of the check itself.
type failure string

// T is one run of one check. Its methods stop the check when what they ask for does not come.
type T struct {
	*Env
	ID        string
	Namespace string

	schedulers []*cluster.Scheduler
	cleanups   []func()
	changed    bool // nodes changed since the last pod
	faulted    []*proxy.Rule
	eventless  bool // pods may have no Scheduled event, for a reason that the check gives
}

// Run runs one check and cleans up behind it.
func (e *Env) Run(check Check) (result Result) {
	began := time.Now()
	e.counter++
	t := &T{Env: e, ID: check.ID, Namespace: fmt.Sprintf("%s-%d", strings.ToLower(check.ID), e.counter)}
	e.Observer.Forget(t.Namespace)
	result.Check = check
	result.Failure = t.guarded(func() {
		_, err := e.Client.CoreV1().Namespaces().Create(e.Context,
			&core.Namespace{ObjectMeta: meta.ObjectMeta{Name: t.Namespace}}, meta.CreateOptions{})
		t.must(err)
		check.Run(t)
		t.finish()
	})
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
	for _, scheduler := range t.schedulers {
		scheduler.Kill()
	}
	e.Proxy.Clear()
	e.StandIn.Hold(false)
	if text := t.guarded(t.empty); text != "" && result.Failure == "" {
		result.Failure = "cleaning up: " + text
	}
	result.Took = time.Since(began)
	return result
}

func (t *T) guarded(body func()) (text string) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case failure:
			text = string(problem)
		default:
			text = fmt.Sprintf("panic: %v\n%s", problem, debug.Stack())
		}
	}()
	body()
	return ""
}

// finish compares what the third party saw, and whether every fault struck. Events come after the bindings that a check waits for.
func (t *T) finish() {
	for _, rule := range t.faulted {
		t.eventually(5*time.Second, func() string {
			if rule.Struck() > 0 {
				return ""
			}
			return fmt.Sprintf("the fault %q never struck", rule.Name)
		})
	}
	t.told()
	if problems := t.Observer.Problems(); len(problems) > 0 {
		t.fail("third party: %s", strings.Join(problems, "; "))
	}
}

// told waits for the Scheduled events of bound pods. An event whose writing failed is tried again after ten seconds at most, and a
// quarter more.
func (t *T) told() {
	t.eventually(15*time.Second, func() string {
		if missing := t.Observer.WithoutEvent(); len(missing) > 0 && !t.eventless {
			return fmt.Sprint("no Scheduled event of ", missing)
		}
		return ""
	})
}

func (t *T) fail(format string, values ...any) { panic(failure(fmt.Sprintf(format, values...))) }

func (t *T) must(err error) {
	if err != nil {
		panic(failure(err.Error() + " at " + caller()))
	}
}

func caller() string {
	for _, line := range strings.Split(string(debug.Stack()), "\n") {
		if strings.Contains(line, "/checks/") && !strings.Contains(line, "/checks/check.go") && !strings.Contains(line, "/checks/world.go") {
			return strings.TrimSpace(line)
		}
	}
	return "?"
}

// eventually asks until the answer is empty; the last answer is the failure.
func (t *T) eventually(limit time.Duration, ask func() string) {
	end := time.Now().Add(limit)
	for {
		text := ask()
		if text == "" {
			return
		}
		if time.Now().After(end) || t.Context.Err() != nil {
			t.fail("after %v: %s", limit, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// fault puts a fault between the scheduler and the API server; the check fails unless it strikes.
func (t *T) fault(rule *proxy.Rule) *proxy.Rule {
	t.Proxy.Add(rule)
	t.faulted = append(t.faulted, rule)
	return rule
}

// shared starts the scheduler that most checks share, when it does not run.
func (t *T) shared() *cluster.Scheduler {
	if t.Env.shared == nil {
		scheduler, err := t.Cluster.NewScheduler(cluster.SchedulerOptions{Name: "shared", Command: t.Command,
			Kubeconfig: t.Cluster.Kubeconfig("scheduler"), Profiles: []string{"default-scheduler", "second-scheduler"}, QPS: 2000})
		t.must(err)
		t.Env.shared = scheduler
	}
	if !t.Env.shared.Running() {
		t.must(t.Env.shared.Start())
		t.must(t.Env.shared.WaitReady(t.Context, 30*time.Second))
	}
	return t.Env.shared
}

// CloseShared ends the shared scheduler.
func (e *Env) CloseShared() {
	if e.shared != nil {
		e.shared.Kill()
	}
}

// own starts a scheduler for this check alone, after the shared one has ended. Empty fields get the scheduler under test.
func (t *T) own(options cluster.SchedulerOptions) *cluster.Scheduler {
	scheduler := t.describe(options)
	t.must(scheduler.Start())
	t.must(scheduler.WaitReady(t.Context, 30*time.Second))
	return scheduler
}

var serial atomic.Int64

func (t *T) describe(options cluster.SchedulerOptions) *cluster.Scheduler {
	t.CloseShared()
	if options.Command == nil {
		options.Command = t.Command
	}
	if options.Kubeconfig == "" {
		options.Kubeconfig = t.Cluster.Kubeconfig("scheduler")
	}
	options.Name = fmt.Sprintf("%s-scheduler-%d", t.ID, serial.Add(1))
	scheduler, err := t.Cluster.NewScheduler(options)
	t.must(err)
	t.schedulers = append(t.schedulers, scheduler)
	return scheduler
}

// proxied starts a scheduler that reaches the API server through the proxy.
func (t *T) proxied(options cluster.SchedulerOptions) *cluster.Scheduler {
	options.Kubeconfig = t.ProxyUser
	return t.own(options)
}
