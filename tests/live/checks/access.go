// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"berth.dev/tests/live/cluster"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// without gives the user live:reduced the roles of kube-scheduler, less verbs (with commas) on one resource, and its kubeconfig.
func (t *T) without(verb, resource string) string {
	var rules []rbac.PolicyRule
	for _, name := range []string{"system:kube-scheduler", "system:volume-scheduler"} {
		role, err := t.Client.RbacV1().ClusterRoles().Get(t.Context, name, meta.GetOptions{})
		t.must(err)
		rules = append(rules, role.Rules...)
	}
	var kept []rbac.PolicyRule
	for _, rule := range rules {
		for _, one := range rule.Resources {
			single := *rule.DeepCopy()
			single.Resources = []string{one}
			if one == resource {
				single.Verbs = slices.DeleteFunc(single.Verbs, func(v string) bool { return strings.Contains(verb, v) })
			}
			if len(single.Verbs) > 0 {
				kept = append(kept, single)
			}
		}
	}
	role := rbac.ClusterRole{ObjectMeta: meta.ObjectMeta{Name: "live-reduced"}, Rules: kept}
	binding := rbac.ClusterRoleBinding{ObjectMeta: meta.ObjectMeta{Name: "live-reduced"},
		RoleRef:  rbac.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "live-reduced"},
		Subjects: []rbac.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "live:reduced"}}}
	remove := func() {
		_ = t.Client.RbacV1().ClusterRoleBindings().Delete(t.Context, "live-reduced", meta.DeleteOptions{})
		_ = t.Client.RbacV1().ClusterRoles().Delete(t.Context, "live-reduced", meta.DeleteOptions{})
	}
	remove()
	_, err := t.Client.RbacV1().ClusterRoles().Create(t.Context, &role, meta.CreateOptions{})
	t.must(err)
	_, err = t.Client.RbacV1().ClusterRoleBindings().Create(t.Context, &binding, meta.CreateOptions{})
	t.must(err)
	t.cleanups = append(t.cleanups, remove)
	pair, err := t.Cluster.Authority.Issue("reduced", "live:reduced")
	t.must(err)
	file := t.Cluster.Kubeconfig("reduced")
	t.must(t.Cluster.WriteKubeconfig(file, t.Cluster.Server, fmt.Sprintf("client-certificate: %s, client-key: %s", pair.Cert, pair.Key)))
	time.Sleep(300 * time.Millisecond) // until the API server's own informers have the role
	return file
}

// says waits until the scheduler's log names a forbidden resource.
func (t *T) says(scheduler *cluster.Scheduler, resource string) {
	t.eventually(20*time.Second, func() string {
		output, _ := scheduler.Output(0)
		for _, line := range strings.Split(output, "\n") {
			if strings.Contains(line, "forbidden") && strings.Contains(line, resource) {
				return ""
			}
		}
		return fmt.Sprintf("%s does not say that %s is forbidden; see %s", scheduler.Name, resource, scheduler.Log)
	})
}

// lacking is a check of a scheduler that lacks verbs while `act` makes it need them.
func lacking(verb, resource string, act func(*T)) func(*T) {
	return func(t *T) {
		scheduler := t.describe(cluster.SchedulerOptions{Kubeconfig: t.without(verb, resource)})
		t.must(scheduler.Start())
		act(t)
		t.says(scheduler, strings.Split(resource, "/")[0])
		if !scheduler.Running() {
			t.fail("the scheduler ended")
		}
		t.eventless = resource == "events"
	}
}

func nothing(*T) {}

func (t *T) refusedOnce() {
	t.nodes("a")
	t.pod("p", "nodeSelector: {no: where}")
}

var accessChecks = []Check{
	{"L-150", "Without create on pods/binding no pod is bound and condition and log say forbidden", lacking("create", "pods/binding", func(t *T) {
		t.nodes("a")
		t.pod("p", "")
		t.eventually(bindLimit, func() string {
			c := condition(t.get("p"))
			return orWait(c.Reason == "SchedulerError" && strings.Contains(c.Message, "forbidden"), fmt.Sprintf("condition %s %q", c.Reason, c.Message))
		})
		t.unbound("p", 300*time.Millisecond)
	})},
	{"L-151", "Without list and watch on nodes the log says so and the scheduler waits", lacking("list,watch", "nodes", nothing)},
	{"L-152", "Without list and watch on pods the log says so and the scheduler waits", lacking("list,watch", "pods", nothing)},
	{"L-153", "Without watch on pods the log says so and the scheduler waits", lacking("watch", "pods", nothing)},
	{"L-154", "Without list and watch on persistentvolumes the log says so", lacking("list,watch", "persistentvolumes", nothing)},
	{"L-155", "Without list and watch on poddisruptionbudgets the log says so", lacking("list,watch", "poddisruptionbudgets", nothing)},
	{"L-156", "Without create on events pods are bound all the same and the log says so", lacking("create", "events", func(t *T) {
		t.nodes("a")
		t.pod("p", "")
		t.boundTo("p", "a")
	})},
	{"L-157", "Without patch on pods/status pods are bound all the same and the log says so", lacking("patch", "pods/status", func(t *T) {
		t.refusedOnce()
		t.pod("q", "")
		t.boundTo("q", "a")
	})},
	{"L-158", "Without delete on pods nobody is evicted and the log says so", lacking("delete", "pods", func(t *T) {
		t.priority("high", 1000, true)
		t.nodes("a")
		t.filler("victim", "a", "", "4")
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.unbound("p", time.Second)
		t.stays("victim")
	})},
	{"L-159", "With the bootstrap roles alone nothing that the scheduler asks for is forbidden", func(t *T) {
		scheduler := t.proxied(fast)
		t.priority("high", 1000, true)
		t.load(3)
		t.filler("victim", "a", "", "3")
		t.pod("p", "priorityClassName: high, nodeSelector: {kubernetes.io/hostname: a}, "+requests("cpu: 3"))
		t.boundTo("p", "a")
		t.class("dynamic", "live.berth.dev/standin", "WaitForFirstConsumer")
		t.claim("data", "dynamic", "")
		t.pod("q", uses("data"))
		t.bound("q")
		if refused := t.Proxy.Answers(403); refused > 0 {
			t.fail("%d requests were answered 403", refused)
		}
		if output, _ := scheduler.Output(0); strings.Contains(output, "forbidden") {
			t.fail("the log says forbidden: %s", scheduler.Log)
		}
	}},
	{"L-15A", "A kubeconfig with a token file", func(t *T) {
		file := t.Cluster.File("token")
		t.must(os.WriteFile(file, []byte("scheduler-token"), 0o600))
		user := t.Cluster.Kubeconfig("tokenfile")
		t.must(t.Cluster.WriteKubeconfig(user, t.Cluster.Server, "tokenFile: "+file))
		t.own(cluster.SchedulerOptions{Kubeconfig: user})
		t.load(2)
	}},
	{"L-15B", "A kubeconfig with an exec plugin", func(t *T) {
		file := t.Cluster.File("plugin.sh")
		t.must(os.WriteFile(file, []byte(`#!/bin/sh
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"scheduler-token"}}'
`), 0o700))
		user := t.Cluster.Kubeconfig("exec")
		t.must(t.Cluster.WriteKubeconfig(user, t.Cluster.Server, "exec: {apiVersion: client.authentication.k8s.io/v1, command: "+file+", interactiveMode: Never}"))
		t.own(cluster.SchedulerOptions{Kubeconfig: user})
		t.load(2)
	}},
	{"L-15C", "The flags of kubeadm's static pod, without a configuration file", func(t *T) {
		scheduler := t.describe(cluster.SchedulerOptions{})
		scheduler.Args = slices.DeleteFunc(scheduler.Args, func(arg string) bool { return strings.HasPrefix(arg, "--config=") })
		scheduler.Args = append(scheduler.Args, "--kubeconfig="+t.Cluster.Kubeconfig("scheduler"), "--leader-elect=true")
		t.must(scheduler.Start())
		t.must(scheduler.WaitReady(t.Context, 30*time.Second))
		t.load(2)
		_, err := scheduler.Stop(10 * time.Second)
		t.must(err)
	}},
	{"L-15D", "A kubeconfig that does not exist ends the start with an error that names it", func(t *T) {
		scheduler := t.describe(cluster.SchedulerOptions{Kubeconfig: "/nowhere/kubeconfig"})
		t.must(scheduler.Start())
		code, err := scheduler.Wait(20 * time.Second)
		t.must(err)
		if output, _ := scheduler.Output(0); code == 0 || !strings.Contains(output, "/nowhere/kubeconfig") {
			t.fail("exit status %d: %.400s", code, output)
		}
	}},
	{"L-15E", "A server whose certificate is of another authority is not trusted, and the log says so", func(t *T) {
		user := t.Cluster.Kubeconfig("untrusting")
		t.must(t.Cluster.WriteKubeconfig(user, t.Cluster.Server, "token: scheduler-token"))
		text, err := os.ReadFile(user)
		t.must(err)
		other := strings.ReplaceAll(string(text), t.Cluster.Authority.CA(), t.Cluster.File("manager.crt"))
		t.must(os.WriteFile(user, []byte(other), 0o600))
		scheduler := t.describe(cluster.SchedulerOptions{Kubeconfig: user})
		t.must(scheduler.Start())
		t.eventually(20*time.Second, func() string {
			output, _ := scheduler.Output(0)
			return orWait(strings.Contains(strings.ToLower(output), "certificate"), "the log does not speak of a certificate: "+scheduler.Log)
		})
		t.nodes("a")
		t.pod("p", "")
		t.unbound("p", 300*time.Millisecond)
	}},
}
