// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"berth.dev/tests/live/cluster"
	"berth.dev/tests/live/proxy"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// right is one verb on one resource that deploy/ gives.
type right struct{ group, resource, verb string }

func (r right) String() string { return strings.TrimPrefix(r.group+"/"+r.resource+" "+r.verb, "/") }

// rights are those of the roles in deploy/.
func (t *T) rights() (all []right) {
	text, err := os.ReadFile(manifest)
	t.must(err)
	for _, document := range strings.Split(string(text), "\n---\n") {
		role := rbac.ClusterRole{} // a Role has the same rules
		t.must(yaml.Unmarshal([]byte(document), &role))
		if role.Kind != "ClusterRole" && role.Kind != "Role" {
			continue
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, right{rule.APIGroups[0], resource, verb})
				}
			}
		}
	}
	return all
}

// less gives the rules without one right.
func less(rules []rbac.PolicyRule, gone right) (kept []rbac.PolicyRule) {
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			one := *rule.DeepCopy()
			one.Resources = []string{resource}
			if rule.APIGroups[0] == gone.group && resource == gone.resource {
				one.Verbs = slices.DeleteFunc(one.Verbs, func(verb string) bool { return verb == gone.verb })
			}
			if len(one.Verbs) > 0 {
				kept = append(kept, one)
			}
		}
	}
	return kept
}

// withdraw takes a right from the account of deploy/, and gives a function that gives it back.
func (t *T) withdraw(gone right) (giveBack func()) {
	const name = "berth-scheduler"
	roles, cluster := t.Client.RbacV1().Roles(system), t.Client.RbacV1().ClusterRoles()
	role, err := roles.Get(t.Context, name, meta.GetOptions{})
	t.must(err)
	all, err := cluster.Get(t.Context, name, meta.GetOptions{})
	t.must(err)
	set := func(inNamespace, everywhere []rbac.PolicyRule) {
		role.Rules, all.Rules = inNamespace, everywhere
		role.ResourceVersion, all.ResourceVersion = "", ""
		_, err := roles.Update(t.Context, role, meta.UpdateOptions{})
		t.must(err)
		_, err = cluster.Update(t.Context, all, meta.UpdateOptions{})
		t.must(err)
		time.Sleep(300 * time.Millisecond) // until the API server's own informers have the roles
	}
	before, beforeAll := role.Rules, all.Rules
	set(less(before, gone), less(beforeAll, gone))
	return func() { set(before, beforeAll) }
}

// needs is what makes the scheduler use a right; nil where its start is enough.
var needs = map[string]func(*T, *cluster.Scheduler){
	"pods get": func(t *T, _ *cluster.Scheduler) {
		t.fault(&proxy.Rule{Name: "conflict", Match: proxy.Call("POST", "/binding"), Status: 409, Reason: "Conflict", Times: 1})
		t.nodes("a")
		t.pod("p", "")
	},
	"pods delete": func(t *T, _ *cluster.Scheduler) {
		t.priority("high", 1000, true)
		t.nodes("a")
		t.filler("victim", "a", "", "4")
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
	},
	"pods/binding create":         func(t *T, _ *cluster.Scheduler) { t.nodes("a"); t.pod("p", "") },
	"pods/status patch":           func(t *T, _ *cluster.Scheduler) { t.refusedOnce() },
	"events.k8s.io/events create": func(t *T, _ *cluster.Scheduler) { t.refusedOnce() },
	"events.k8s.io/events patch": func(t *T, _ *cluster.Scheduler) {
		// Each pod more in zone x moves p, which is refused in the same words: the same event again makes a series.
		t.node("a", "metadata: {labels: {zone: x}}")
		t.node("b", "metadata: {labels: {zone: y}}")
		t.filler("full", "b", "", "4")
		t.filler("first", "a", "", "10m", "app=web")
		t.pod("p", spread("DoNotSchedule", "zone", "")+", "+requests("cpu: 1"), "app=web")
		for i := range 4 {
			t.eventually(bindLimit, func() string { return orWait(condition(t.get("p")).Status == "False", "p is not refused") })
			time.Sleep(1200 * time.Millisecond) // its backoff
			t.filler(fmt.Sprint("more", i), "a", "", "10m", "app=web")
		}
	},
	"persistentvolumes patch": func(t *T, _ *cluster.Scheduler) {
		t.nodes("a")
		t.class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
		t.volume("v1", "local", onHost("a"))
		t.claim("data", "local", "")
		t.pod("p", uses("data"))
	},
	"persistentvolumeclaims patch": func(t *T, _ *cluster.Scheduler) {
		t.nodes("a")
		t.class("dynamic", "live.berth.dev/standin", "WaitForFirstConsumer")
		t.claim("data", "dynamic", "")
		t.pod("p", uses("data"))
	},
	"authentication.k8s.io/tokenreviews create": func(t *T, scheduler *cluster.Scheduler) {
		t.eventually(bindLimit, func() string {
			code, _, err := scheduler.Get(t.Context, "/metrics", adminToken)
			return orWait(err == nil && code != 200, fmt.Sprint("/metrics: ", code, err))
		})
	},
	"authorization.k8s.io/subjectaccessreviews create": func(t *T, scheduler *cluster.Scheduler) {
		t.eventually(bindLimit, func() string {
			code, _, err := scheduler.Get(t.Context, "/metrics", lesserToken)
			return orWait(err == nil && code != 200, fmt.Sprint("/metrics: ", code, err))
		})
	},
}

// lacksEach takes every right of deploy/ away alone: the log names it, and the scheduler does not end.
func lacksEach(t *T) {
	user := t.deployed()
	if t.Kind == "kube" {
		return // it needs the bootstrap roles
	}
	for _, gone := range t.rights() {
		giveBack := t.withdraw(gone)
		options := cluster.SchedulerOptions{Kubeconfig: user, Delegate: user, Lease: "berth-scheduler"}
		if gone.verb == "create" && gone.resource == "leases" {
			_ = t.Client.CoordinationV1().Leases(system).Delete(t.Context, options.Lease, meta.DeleteOptions{})
		}
		scheduler := t.describe(options)
		t.must(scheduler.Start())
		if act := needs[gone.String()]; act != nil {
			t.must(scheduler.WaitReady(t.Context, 30*time.Second))
			act(t, scheduler)
		}
		if gone.verb == "list" { // lists come as watches, so that nothing is refused
			t.must(scheduler.WaitReady(t.Context, 30*time.Second))
		} else {
			t.says(scheduler, strings.Split(gone.resource, "/")[0])
		}
		if !scheduler.Running() {
			t.fail("without %v the scheduler ended; see %s", gone, scheduler.Log)
		}
		_, err := scheduler.Stop(10 * time.Second)
		t.must(err)
		giveBack()
		t.empty()
	}
	t.eventless = true
}
