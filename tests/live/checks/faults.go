// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"berth.dev/tests/live/cluster"
	"berth.dev/tests/live/proxy"
)

var fast = cluster.SchedulerOptions{QPS: 2000}

// load creates three nodes and `count` pods, and waits until all are bound.
func (t *T) load(count int) {
	t.nodes("a", "b", "c")
	t.more("p", count)
}

func (t *T) more(prefix string, count int) {
	for i := range count {
		t.pod(fmt.Sprint(prefix, i), requests("cpu: 50m"))
	}
	for i := range count {
		t.boundWithin(fmt.Sprint(prefix, i), 30*time.Second)
	}
}

// bindFault binds twelve pods while a fault strikes their bindings.
func bindFault(rule *proxy.Rule) func(*T) {
	return func(t *T) {
		t.proxied(fast)
		rule.Match = proxy.Call("POST", "/binding")
		t.fault(rule)
		t.load(12)
	}
}

// watchFault binds pods while a fault strikes events of a watch.
func watchFault(resource string, rule *proxy.Rule) func(*T) {
	return func(t *T) {
		t.proxied(fast)
		t.nodes("z")
		rule.Match = proxy.Watch(resource)
		t.fault(rule)
		t.load(12)
	}
}

var faultChecks = []Check{
	{"L-120", "Slow bindings: pods are bound once each", bindFault(&proxy.Rule{Name: "slow binding", Delay: 300 * time.Millisecond})},
	{"L-121", "Connections that break before the binding is passed on", bindFault(&proxy.Rule{Name: "dropped binding", Drop: true, Times: 4})},
	{"L-122", "Answers to bindings that are lost: bound exactly once, counted once, one event each", func(t *T) {
		scheduler := t.proxied(fast)
		t.fault(&proxy.Rule{Name: "lost binding", Match: proxy.Call("POST", "/binding"), Lose: true, Times: 4})
		t.load(12)
		t.eventless = t.Kind == "kube" // a binding whose answer was lost is a failure to kube-scheduler
		if t.Kind != "kube" {
			t.eventually(5*time.Second, func() string {
				bound := t.metric(scheduler, "scheduler_schedule_attempts_total", `result="scheduled"`)
				return orWait(bound == 12, fmt.Sprint(bound, " pods are counted as scheduled"))
			})
		}
	}},
	{"L-123", "Bindings answered 409: the pod is read, and tried again", bindFault(&proxy.Rule{Name: "conflict", Status: 409, Reason: "Conflict", Times: 3})},
	{"L-124", "Bindings answered 429 with Retry-After wait that long and are repeated", func(t *T) {
		t.proxied(fast)
		t.fault(&proxy.Rule{Name: "too many", Match: proxy.Call("POST", "/binding"), Status: 429, Reason: "TooManyRequests", After: 1, Times: 3})
		began := time.Now()
		t.load(3)
		if took := time.Since(began); took < time.Second {
			t.fail("bound after %v", took)
		}
		for i := range 3 {
			if reason := condition(t.get(fmt.Sprint("p", i))).Message; strings.Contains(reason, "fault") {
				t.fail("a repeated binding left the condition %q", reason)
			}
		}
	}},
	{"L-125", "Bindings answered 500", bindFault(&proxy.Rule{Name: "internal error", Status: 500, Reason: "InternalError", Times: 3})},
	{"L-126", "Bindings answered 503", bindFault(&proxy.Rule{Name: "unavailable", Status: 503, Reason: "ServiceUnavailable", Times: 3})},
	{"L-127", "Watches of pods that close before an event", watchFault("pods", &proxy.Rule{Name: "closed watch", Close: true, Times: 4})},
	{"L-128", "Watches of nodes that close before an event", watchFault("nodes", &proxy.Rule{Name: "closed watch", Close: true, Times: 2})},
	{"L-129", "Events of pods that are cut in half", watchFault("pods", &proxy.Rule{Name: "half an event", Cut: true, Times: 3})},
	{"L-12A", "Events of pods that come twice", watchFault("pods", &proxy.Rule{Name: "event twice", Double: true})},
	{"L-12B", "Events of nodes that come after those of the pods that need them", watchFault("nodes", &proxy.Rule{Name: "nodes late", Hold: 300 * time.Millisecond})},
	{"L-12C", "Events of pods that come after those of their nodes", watchFault("pods", &proxy.Rule{Name: "pods late", Hold: 30 * time.Millisecond})},
	{"L-12D", "Watches that are answered 410 are listed again, and nothing assumed is lost", func(t *T) {
		t.proxied(fast)
		t.load(3)
		t.fault(&proxy.Rule{Name: "410 on pods", Match: proxy.Watch("pods"), Status: 410, Reason: "Expired", Times: 2})
		t.fault(&proxy.Rule{Name: "410 on nodes", Match: proxy.Watch("nodes"), Status: 410, Reason: "Expired", Times: 2})
		if closed := t.Proxy.CloseWatches(""); closed == 0 {
			t.fail("no watch was open")
		}
		t.more("later", 12)
	}},
	{"L-12E", "A slow API server: 150 ms before every answer", func(t *T) {
		t.proxied(fast)
		t.fault(&proxy.Rule{Name: "slow server", Match: func(r *request) bool { return true }, Delay: 150 * time.Millisecond})
		t.load(12)
	}},
	{"L-12F", "One of three requests breaks, of whatever kind, drawn from a seed", func(t *T) {
		t.proxied(fast)
		var mutex sync.Mutex
		draw := rand.New(rand.NewPCG(1, 2)) // every third one could be always the binding
		t.fault(&proxy.Rule{Name: "broken", Match: func(r *request) bool {
			mutex.Lock()
			defer mutex.Unlock()
			return !strings.HasSuffix(r.URL.Path, "/events") && draw.IntN(3) == 0
		}, Drop: true})
		t.load(12)
	}},
	{"L-12G", "Status patches that are answered 503 are tried again: the condition is written", func(t *T) {
		t.proxied(fast)
		t.fault(&proxy.Rule{Name: "status unavailable", Match: proxy.Call("PATCH", "/status"), Status: 503, Reason: "ServiceUnavailable", Times: 2})
		t.nodes("a")
		t.pod("p", "nodeSelector: {no: where}")
		t.refused("p", "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."+noVictims("1 nodes are available: 1 Preemption is not helpful for scheduling."))
	}},
	{"L-12H", "Evictions whose answer is lost: the victim goes once and the pod is bound", func(t *T) {
		t.proxied(fast)
		t.priority("high", 1000, true)
		t.nodes("a")
		t.filler("victim", "a", "", "4")
		t.fault(&proxy.Rule{Name: "lost eviction", Match: proxy.Call("DELETE", "/victim"), Lose: true, Times: 1})
		t.pod("p", "priorityClassName: high, "+requests("cpu: 4"))
		t.evicted("victim")
		t.boundTo("p", "a")
	}},
	{"L-12I", "A start while lists are answered 500 waits and then binds", func(t *T) {
		t.fault(&proxy.Rule{Name: "no lists", Match: func(r *request) bool { return strings.HasSuffix(r.URL.Path, "/pods") && r.Method == "GET" },
			Status: 500, Reason: "InternalError", Times: 3})
		t.proxied(fast)
		t.load(3)
	}},
	{"L-12J", "Watch-list is refused: the scheduler lists in the classic way", func(t *T) {
		t.fault(&proxy.Rule{Name: "no watch-list", Match: func(r *request) bool { return r.URL.Query().Get("sendInitialEvents") == "true" },
			Status: 422, Reason: "Invalid"})
		t.proxied(fast)
		t.load(3)
	}},
	{"L-12K", "HTTP/1.1 alone: lists, watches and bindings work", func(t *T) {
		certificate, err := t.Cluster.Authority.Issue("proxy1", "proxy")
		t.must(err)
		pair, err := certificate.Load()
		t.must(err)
		old, err := proxy.Start(t.Cluster.Server, t.Cluster.Authority.Pool(), pair, false)
		t.must(err)
		t.cleanups = append(t.cleanups, old.Close)
		user := t.Cluster.Kubeconfig("proxied1")
		t.must(t.Cluster.WriteKubeconfig(user, old.URL, "token: scheduler-token"))
		t.own(cluster.SchedulerOptions{QPS: 2000, Kubeconfig: user})
		t.load(12)
		if old.Protocol("HTTP/1.1") == 0 || old.Protocol("HTTP/2.0") != 0 {
			t.fail("protocols: %d HTTP/1.1, %d HTTP/2", old.Protocol("HTTP/1.1"), old.Protocol("HTTP/2.0"))
		}
	}},
	{"L-12L", "HTTP/2 carries the watches and the bindings of 40 pods", func(t *T) {
		before := t.Proxy.Protocol("HTTP/2.0")
		t.proxied(fast)
		t.load(40)
		if t.Proxy.Protocol("HTTP/2.0") == before {
			t.fail("no request came by HTTP/2")
		}
	}},
	{"L-12M", "Events that are answered 429 are written later", func(t *T) {
		t.proxied(fast)
		t.fault(&proxy.Rule{Name: "events later", Match: proxy.Call("POST", "/events"), Status: 429, Reason: "TooManyRequests", After: 1, Times: 2})
		t.load(3)
	}},
}
