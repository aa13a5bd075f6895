// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"berth.dev/tests/live/cluster"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Tokens of the API server's token file (package cluster).
const (
	adminToken  = cluster.AdminToken
	lesserToken = "lesser-token"
)

// schedulerMetrics are those of spec 7.9 that kube-scheduler shows after pods were bound, refused and preempted for.
var schedulerMetrics = []string{
	"scheduler_schedule_attempts_total", "scheduler_scheduling_attempt_duration_seconds_bucket",
	"scheduler_scheduling_algorithm_duration_seconds_bucket", "scheduler_preemption_victims_bucket",
	"scheduler_preemption_attempts_total", "scheduler_pending_pods", "scheduler_pod_scheduling_sli_duration_seconds_bucket",
	"scheduler_pod_scheduling_attempts_bucket", "scheduler_framework_extension_point_duration_seconds_bucket",
	"scheduler_plugin_execution_duration_seconds_bucket", "scheduler_queue_incoming_pods_total",
	"scheduler_event_handling_duration_seconds_bucket", "scheduler_queueing_hint_execution_duration_seconds_bucket",
	"scheduler_inflight_events", "scheduler_goroutines", "scheduler_cache_size", "scheduler_unschedulable_pods",
	"scheduler_plugin_evaluation_total",
}

// absentMetrics are those that Berth does not have, with the reasons in docs/metrics.md.
var absentMetrics = []string{"scheduler_goroutines", "scheduler_plugin_evaluation_total"}

// otherMetrics are what dashboards and alerts read beyond scheduler_*.
var otherMetrics = []string{
	"rest_client_requests_total", "rest_client_request_duration_seconds_bucket", "process_cpu_seconds_total",
	"process_resident_memory_bytes", "process_start_time_seconds", "kubernetes_feature_enabled", "kubernetes_build_info",
}

// page asks for a path as the bearer of a token and stops the check unless the status is this.
func (t *T) page(scheduler *cluster.Scheduler, path, token string, status int) string {
	code, text, err := scheduler.Get(t.Context, path, token)
	t.must(err)
	if code != status {
		t.fail("%s as %q: %d, not %d: %.300s", path, token, code, status, text)
	}
	return text
}

func (t *T) metric(scheduler *cluster.Scheduler, name string, labels ...string) float64 {
	value, _ := cluster.Metric(t.page(scheduler, "/metrics", adminToken, 200), name, labels...)
	return value
}

var servingChecks = []Check{
	{"L-100", "/healthz, /livez and /readyz say ok to anybody", func(t *T) {
		scheduler := t.shared()
		for _, path := range []string{"/healthz", "/livez", "/readyz"} {
			if text := t.page(scheduler, path, "", 200); text != "ok" {
				t.fail("%s says %q", path, text)
			}
		}
	}},
	{"L-101", "/metrics, /configz and /metrics/resources are closed to anonymous users", func(t *T) {
		scheduler := t.shared()
		for _, path := range []string{"/metrics", "/configz", "/metrics/resources", "/metrics/slis"} {
			t.page(scheduler, path, "", 403)
		}
	}},
	{"L-102", "A token that the API server does not know is refused with 401", func(t *T) {
		t.page(t.shared(), "/metrics", "unknown-token", 401)
	}},
	{"L-103", "A user may read /metrics once a role allows it", func(t *T) {
		scheduler := t.shared()
		t.page(scheduler, "/metrics", lesserToken, 403)
		role := rbac.ClusterRole{ObjectMeta: meta.ObjectMeta{Name: "live-metrics"},
			Rules: []rbac.PolicyRule{{NonResourceURLs: []string{"/metrics/slis"}, Verbs: []string{"get"}}}}
		_, err := t.Client.RbacV1().ClusterRoles().Create(t.Context, &role, meta.CreateOptions{})
		t.must(err)
		binding := rbac.ClusterRoleBinding{ObjectMeta: meta.ObjectMeta{Name: "live-metrics"},
			RoleRef:  rbac.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "live-metrics"},
			Subjects: []rbac.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "live:lesser"}}}
		_, err = t.Client.RbacV1().ClusterRoleBindings().Create(t.Context, &binding, meta.CreateOptions{})
		t.must(err)
		t.cleanups = append(t.cleanups, func() {
			_ = t.Client.RbacV1().ClusterRoleBindings().Delete(t.Context, "live-metrics", meta.DeleteOptions{})
			_ = t.Client.RbacV1().ClusterRoles().Delete(t.Context, "live-metrics", meta.DeleteOptions{})
		})
		t.eventually(15*time.Second, func() string {
			code, text, err := scheduler.Get(t.Context, "/metrics/slis", lesserToken)
			return orWait(err == nil && code == 200, fmt.Sprintf("%d %.200s", code, text))
		})
		t.page(scheduler, "/configz", lesserToken, 403)
	}},
	{"L-104", "Metrics have the names of spec 7.9 after pods were bound, refused and preempted for", func(t *T) {
		scheduler := t.shared()
		t.priority("high", 1000, true)
		t.nodes("a")
		t.filler("victim", "a", "", "4")
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.gone("victim")
		t.boundTo("p", "a")
		t.pod("q", "nodeSelector: {no: where}")
		t.eventually(bindLimit, func() string { return orWait(condition(t.get("q")).Status == "False", "q is not refused") })
		t.node("b", "metadata: {labels: {some: where}}") // a hint is asked whether it helps q
		for i := range 40 {                              // durations of plugins are sampled, one attempt in ten
			t.pod(fmt.Sprint("more", i), "")
			t.bound(fmt.Sprint("more", i))
		}
		t.eventually(5*time.Second, func() string {
			text := t.page(scheduler, "/metrics", adminToken, 200)
			var missing []string
			for _, name := range append(append([]string{}, schedulerMetrics...), otherMetrics...) {
				if t.Kind != "kube" && slices.Contains(absentMetrics, name) {
					continue
				}
				if _, found := cluster.Metric(text, name); !found {
					missing = append(missing, name)
				}
			}
			return orWait(len(missing) == 0, "no "+strings.Join(missing, ", "))
		})
	}},
	{"L-105", "schedule_attempts_total and the latency of pods count every pod once", func(t *T) {
		scheduler := t.shared()
		t.nodes("a")
		scheduled := t.metric(scheduler, "scheduler_schedule_attempts_total", `result="scheduled"`)
		latency := t.metric(scheduler, "scheduler_pod_scheduling_sli_duration_seconds_count")
		for i := range 7 {
			t.pod(fmt.Sprint("p", i), "")
			t.bound(fmt.Sprint("p", i))
		}
		t.eventually(5*time.Second, func() string {
			more := t.metric(scheduler, "scheduler_schedule_attempts_total", `result="scheduled"`) - scheduled
			seen := t.metric(scheduler, "scheduler_pod_scheduling_sli_duration_seconds_count") - latency
			return orWait(more == 7 && seen == 7, fmt.Sprintf("%v scheduled and %v latencies of 7", more, seen))
		})
	}},
	{"L-106", "pending_pods counts gated and unschedulable pods while they wait", func(t *T) {
		scheduler := t.shared()
		t.nodes("a")
		t.pod("gated", "schedulingGates: [{name: live.berth.dev/wait}]")
		t.pod("refused", "nodeSelector: {no: where}")
		count := func(gated, refused float64) {
			t.eventually(10*time.Second, func() string {
				g, u := t.metric(scheduler, "scheduler_pending_pods", `queue="gated"`), t.metric(scheduler, "scheduler_pending_pods", `queue="unschedulable"`)
				return orWait(g == gated && u == refused, fmt.Sprintf("%v gated and %v unschedulable pods, not %v and %v", g, u, gated, refused))
			})
		}
		count(1, 1)
		t.deletePod("gated")
		t.deletePod("refused")
		count(0, 0)
	}},
	{"L-107", "/configz shows the profiles and backoffs of the file", func(t *T) {
		var pages map[string]struct {
			PodMaxBackoffSeconds int64 `json:"PodMaxBackoffSeconds"`
			Profiles             []struct {
				SchedulerName string `json:"SchedulerName"`
			} `json:"Profiles"`
		}
		text := t.page(t.shared(), "/configz", adminToken, 200)
		t.must(json.Unmarshal([]byte(text), &pages))
		config := pages["componentconfig"]
		if config.PodMaxBackoffSeconds != 1 || len(config.Profiles) != 2 || config.Profiles[1].SchedulerName != "second-scheduler" {
			t.fail("%s", text)
		}
	}},
	{"L-108", "?verbose lists the checks of a health path and ?exclude leaves one out", func(t *T) {
		scheduler := t.shared()
		text := t.page(scheduler, "/readyz?verbose", adminToken, 200)
		for _, line := range []string{"[+]shutdown ok", "[+]sched-handler-sync ok", "readyz check passed"} {
			if !strings.Contains(text, line) {
				t.fail("no %q in %q", line, text)
			}
		}
		if text := t.page(scheduler, "/readyz?verbose&exclude=shutdown", adminToken, 200); !strings.Contains(text, "[+]shutdown excluded: ok") {
			t.fail("%q", text)
		}
		t.page(scheduler, "/livez/ping", adminToken, 200)
	}},
	{"L-109", "/metrics/resources has what pods request and on which node", func(t *T) {
		scheduler := t.shared()
		t.nodes("a")
		t.pod("p", requests("cpu: 1500m"))
		t.boundTo("p", "a")
		t.eventually(5*time.Second, func() string {
			text := t.page(scheduler, "/metrics/resources", adminToken, 200)
			value, _ := cluster.Metric(text, "kube_pod_resource_request", `namespace="`+t.Namespace+`"`, `pod="p"`, `node="a"`, `resource="cpu"`, `unit="cores"`)
			return orWait(value == 1.5, fmt.Sprintf("%v cores in %.500s", value, text))
		})
	}},
	{"L-10A", "An unknown path is 404 for those who may ask, and the port speaks TLS alone", func(t *T) {
		t.page(t.shared(), "/nothing-here", adminToken, 404)
	}},
	{"L-10B", "Every query of kube-prometheus' scheduler dashboard, rules and alerts finds a series, or is listed with the reason", func(t *T) {
		scheduler := t.shared()
		t.nodes("a")
		t.pod("p", `containers: [{name: c, image: pause, resources: {requests: {cpu: 100m}, limits: {cpu: 200m}}}]`)
		t.boundTo("p", "a")
		t.pod("q", "nodeSelector: {no: where}")
		t.eventually(bindLimit, func() string { return orWait(condition(t.get("q")).Status == "False", "q is not refused") })
		queries, err := os.ReadFile("tests/unit/serving/testdata/dashboard_series.txt")
		t.must(err)
		t.eventually(5*time.Second, func() string {
			text := t.page(scheduler, "/metrics", adminToken, 200) + t.page(scheduler, "/metrics/resources", adminToken, 200)
			var problems []string
			asked := 0
			for _, line := range strings.Split(string(queries), "\n") {
				if line == "" || line[0] == '#' {
					continue
				}
				asked++
				fields := strings.Split(line, " | ")
				_, found := cluster.Metric(text, fields[0])
				excused := len(fields) == 3
				if excused == found && (t.Kind != "kube" || !found) { // kube-scheduler has what is Go's
					problems = append(problems, line)
				}
			}
			for _, verb := range []string{"GET", "POST"} { // the dashboard asks for both
				if _, found := cluster.Metric(text, "rest_client_request_duration_seconds_bucket", `verb="`+verb+`"`); !found {
					problems = append(problems, "no latency of "+verb)
				}
			}
			if asked < 20 {
				problems = append(problems, fmt.Sprint("only ", asked, " series are listed"))
			}
			return strings.Join(problems, "; ")
		})
	}},
	{"L-10C", "/explain of Berth says why a waiting pod fits nowhere, of a bound one what every node says, and is closed to anonymous users", func(t *T) {
		scheduler := t.shared()
		if t.Kind == "kube" {
			t.page(scheduler, "/explain", adminToken, 404)
			return
		}
		t.node("a", "spec: {taints: [{key: k, effect: NoSchedule}]}")
		t.node("b", `status: {allocatable: {cpu: "1", memory: 8Gi, pods: "110"}}`)
		t.pod("p", requests("cpu: 2"))
		t.pod("q", requests("cpu: 500m"))
		t.boundTo("q", "b")
		t.eventually(bindLimit, func() string { return orWait(condition(t.get("p")).Status == "False", "p is not refused") })
		type record struct {
			State, Node, Message string
			Verdicts             []struct {
				Plugin  string
				Reasons []string
				Nodes   int
			}
			Nodes []struct {
				Node     string
				Feasible bool
			}
		}
		explain := func(pod string) (answer record) {
			text := t.page(scheduler, "/explain?pod="+t.Namespace+"/"+pod, adminToken, 200)
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				t.fail("%v in %s", err, text)
			}
			return answer
		}
		p := explain("p")
		said := condition(t.get("p")).Message
		if p.State != "Pending" || len(p.Nodes) != 2 || len(p.Verdicts) != 2 || !strings.HasPrefix(said, strings.TrimSuffix(p.Message, ".")) {
			t.fail("%+v of a pod with the condition %q", p, said)
		}
		if q := explain("q"); q.State != "Running" || q.Node != "b" || !slices.ContainsFunc(q.Verdicts, func(v struct {
			Plugin  string
			Reasons []string
			Nodes   int
		}) bool {
			return v.Plugin == "" && v.Nodes == 1
		}) {
			t.fail("%+v", q)
		}
		if text := t.page(scheduler, "/explain?format=text&pod="+t.Namespace+"/p", adminToken, 200); !strings.Contains(text, "Insufficient cpu") ||
			!strings.Contains(text, "Nearest miss") {
			t.fail("%s", text)
		}
		t.page(scheduler, "/explain?pod="+t.Namespace+"/nobody", adminToken, 404)
		t.page(scheduler, "/explain?pod=nobody", adminToken, 400)
		t.page(scheduler, "/explain?pod="+t.Namespace+"/p", "", 403)
		t.page(scheduler, "/explain?pod="+t.Namespace+"/p", lesserToken, 403)
		if node := t.get("p").Spec.NodeName; node != "" {
			t.fail("p is on %s", node)
		}
	}},
	{"L-10D", "A plugin of Berth (--plugin) reads the annotations of nodes and pods that it declared, and a pod that it refused is placed once a node has others", func(t *T) {
		if t.Kind == "kube" {
			return // whose plugins are compiled in
		}
		library := t.Cluster.File("licenses.so")
		if text, err := exec.CommandContext(t.Context, "cc", "-shared", "-fPIC", "-I", "include", "-o", library,
			"examples/plugin/licenses.c").CombinedOutput(); err != nil {
			t.fail("examples/plugin does not compile: %v\n%s", err, text)
		}
		t.own(cluster.SchedulerOptions{Flags: []string{"--plugin=" + library}, Plugins: `  plugins: {multiPoint: {enabled: [{name: Licenses, weight: 5}]}}
  pluginConfig: [{name: Licenses, args: {prefer: many}}]
`})
		t.node("a", `metadata: {annotations: {example.com/licenses: "1"}}`)
		t.node("b", "")
		licensed := func(name string) { t.podAs(name, `annotations: {example.com/licenses: "1"}`, requests("cpu: 100m")) }
		licensed("p")
		t.boundTo("p", "a")
		licensed("q")
		t.eventually(bindLimit, func() string {
			return orWait(strings.Contains(condition(t.get("q")).Message, "had no free license"), "q is not refused")
		})
		t.patchNode("b", `metadata: {annotations: {example.com/licenses: "1"}}`)
		t.boundTo("q", "b")
	}},
}
