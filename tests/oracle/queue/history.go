// SPDX-License-Identifier: Apache-2.0

//go:build berth_queue

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	testingclock "k8s.io/utils/clock/testing"

	"berth.dev/tests/oracle/upstream"
)

// header opens a history. Times are microseconds, since the epoch or of a duration.
type header struct {
	History   int64  `json:"history"`
	Release   string `json:"release"`
	Gates     string `json:"gates"`
	Config    string `json:"config"`
	StartUs   int64  `json:"start_us"`
	InitialUs int64  `json:"initial_us"`
	MaxUs     int64  `json:"max_us"`
	StayUs    int64  `json:"stay_us"`
}

// step is one call, and what is seen after it.
type step struct {
	Op      string   `json:"op"`
	ToUs    int64    `json:"to_us,omitempty"`
	OldPod  *v1.Pod  `json:"old_pod,omitempty"`
	NewPod  *v1.Pod  `json:"new_pod,omitempty"`
	OldNode *v1.Node `json:"old_node,omitempty"`
	NewNode *v1.Node `json:"new_node,omitempty"`
	// A storage object's kind and apiVersion, which the objects do not carry.
	Kind       string         `json:"kind,omitempty"`
	API        string         `json:"api,omitempty"`
	OldStorage runtime.Object `json:"old_storage,omitempty"`
	NewStorage runtime.Object `json:"new_storage,omitempty"`

	Name     string   `json:"name,omitempty"`
	Node     *string  `json:"node,omitempty"`
	Rejected []string `json:"rejected,omitempty"`
	Pending  []string `json:"pending,omitempty"`
	On       bool     `json:"on,omitempty"`
	Popped   []string `json:"popped,omitempty"`
	Places   string   `json:"places"`
}

type history struct {
	random     *rand.Rand
	out        *json.Encoder
	head       header
	ctx        context.Context
	logger     klog.Logger
	clock      *testingclock.FakeClock
	queue      *internalqueue.PriorityQueue
	cache      internalcache.Cache
	handlers   *scheduler.Scheduler
	indexer    cache.Indexer
	earlyPop   bool
	async      bool
	nextFlush  time.Time
	nextLeft   time.Time
	preempting map[string]bool // by uid

	pods    map[string]*v1.Pod // the newest versions, by name; pending ones
	bound   map[string]*v1.Pod
	nodes   map[string]*v1.Node
	storage map[string]runtime.Object           // by kind and name
	tries   map[string]*framework.QueuedPodInfo // in the hands of the scheduler, by name
	assumed map[string]*v1.Pod
	created int
	isCut   bool      // what follows is not written
	models  []*v1.Pod // earlier pods: others are like them, so that pods share the answers of hints
}

// gate is a PreEnqueue plugin with the name of DefaultPreemption: whether a preemption runs is drawn.
type gate struct{ h *history }

func (g gate) Name() string { return "DefaultPreemption" }
func (g gate) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if g.h.async && g.h.preempting[string(pod.UID)] {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "waiting for the preemption for this pod to be finished")
	}
	return nil
}

func newHistory(seed int64, out *json.Encoder) (*history, error) {
	h := &history{random: rand.New(rand.NewSource(seed)), out: out, ctx: context.Background(), preempting: map[string]bool{},
		pods: map[string]*v1.Pod{}, bound: map[string]*v1.Pod{}, nodes: map[string]*v1.Node{},
		storage: map[string]runtime.Object{},
		tries:   map[string]*framework.QueuedPodInfo{}, assumed: map[string]*v1.Pod{}}
	h.logger = klog.FromContext(h.ctx)
	var gates []string
	for _, name := range []string{"SchedulerPopFromBackoffQ", "SchedulerAsyncPreemption", "SchedulerAsyncAPICalls",
		"NominatedNodeNameForExpectation", "OpportunisticBatching", "TaintTolerationComparisonOperators"} {
		gates = append(gates, fmt.Sprintf("%s=%t", name, !h.oneIn(3)))
	}
	h.earlyPop = slices.Contains(gates, "SchedulerPopFromBackoffQ=true")
	h.async = slices.Contains(gates, "SchedulerAsyncPreemption=true")
	start := time.UnixMicro(1_700_000_000_000_000 + h.random.Int63n(2_000_000))
	if h.oneIn(3) {
		start = start.Truncate(time.Second)
	}
	h.head = header{History: seed, Release: release, Gates: strings.Join(gates, ","), StartUs: start.UnixMicro(),
		InitialUs: 1_000_000, MaxUs: 10_000_000, StayUs: 300_000_000}
	if h.oneIn(2) {
		h.head.InitialUs = 1 + h.random.Int63n(3_000_000)
		h.head.MaxUs = h.head.InitialUs + h.random.Int63n(20_000_000)
	}
	if h.oneIn(3) {
		h.head.StayUs = 20_000_000
	}
	if h.oneIn(4) {
		h.head.Config = addedAffinity
	}
	h.clock = testingclock.NewFakeClock(start)
	h.nextFlush, h.nextLeft = start.Add(time.Second), start
	if h.earlyPop {
		h.nextFlush = h.nextFlush.Truncate(time.Second)
	}
	if err := upstream.SetFeatureGates(h.head.Gates); err != nil {
		return nil, err
	}
	return h, h.build()
}

// addedAffinity is drawn for some histories. All nodes but one meet it.
const addedAffinity = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: zone, operator: NotIn, values: [c]}]
  - name: PodTopologySpread
    args:
      defaultingType: List
`

func (h *history) configPath() (string, error) {
	if h.head.Config == "" {
		return "", nil
	}
	path := filepath.Join(os.TempDir(), fmt.Sprintf("oracle-queue-%d.yaml", os.Getpid()))
	return path, os.WriteFile(path, []byte(h.head.Config), 0o600)
}

func (h *history) build() error {
	path, err := h.configPath()
	if err != nil {
		return err
	}
	config, err := upstream.ReadConfig(path)
	if err != nil {
		return err
	}
	client := fake.NewSimpleClientset()
	factory := scheduler.NewInformerFactory(client, 0)
	h.indexer = factory.Core().V1().Pods().Informer().GetIndexer()
	recorder := metrics.NewMetricsAsyncRecorder(1000, time.Hour, h.ctx.Done())
	h.cache = upstream.NewCache(h.ctx)
	more, err := upstream.PluginOptions(h.ctx, client, factory, h.cache)
	if err != nil {
		return err
	}
	options := append([]frameworkruntime.Option{
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithParallelism(1),
		frameworkruntime.WithMetricsRecorder(recorder),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
		frameworkruntime.WithSnapshotSharedLister(internalcache.NewEmptySnapshot()),
		frameworkruntime.WithLogger(h.logger),
	}, more...)
	f, err := frameworkruntime.NewFramework(h.ctx, plugins.NewInTreeRegistry(), &config.Profiles[0], options...)
	if err != nil {
		return err
	}
	hints, err := scheduler.BerthHints(h.ctx, f.EnqueueExtensions())
	if err != nil {
		return err
	}
	countVisits(hints)
	preEnqueue := map[string]fwk.PreEnqueuePlugin{}
	for _, plugin := range f.PreEnqueuePlugins() {
		if plugin.Name() != "DynamicResources" {
			preEnqueue[plugin.Name()] = plugin
		}
	}
	preEnqueue["DefaultPreemption"] = gate{h}
	h.queue = newQueue(f, factory, h, recorder, preEnqueue, hints)
	h.handlers = scheduler.BerthHandlers(h.cache, h.queue, profile.Map{"default-scheduler": f}, h.logger)
	return h.out.Encode(h.head)
}

func newQueue(f framework.Framework, factory informers.SharedInformerFactory, h *history, recorder *metrics.MetricAsyncRecorder,
	preEnqueue map[string]fwk.PreEnqueuePlugin, hints internalqueue.QueueingHintMap) *internalqueue.PriorityQueue {
	return internalqueue.NewPriorityQueue(f.QueueSortFunc(), factory,
		internalqueue.WithClock(h.clock),
		internalqueue.WithPodInitialBackoffDuration(time.Duration(h.head.InitialUs)*time.Microsecond),
		internalqueue.WithPodMaxBackoffDuration(time.Duration(h.head.MaxUs)*time.Microsecond),
		internalqueue.WithPodMaxInUnschedulablePodsDuration(time.Duration(h.head.StayUs)*time.Microsecond),
		internalqueue.WithPodLister(factory.Core().V1().Pods().Lister()),
		internalqueue.WithMetricsRecorder(recorder),
		internalqueue.WithPreEnqueuePluginMap(map[string]map[string]fwk.PreEnqueuePlugin{"default-scheduler": preEnqueue}),
		internalqueue.WithQueueingHintMapPerProfile(internalqueue.QueueingHintMapPerProfile{"default-scheduler": hints}))
}

func countVisits(hints internalqueue.QueueingHintMap) {
	for event, functions := range hints {
		for _, function := range functions {
			row := function.PluginName + " " + event.Label()
			if event.Label() == string(event.Resource) {
				row = fmt.Sprintf("%s %s %d", function.PluginName, event.Resource, event.ActionType)
			}
			if visits[row] == nil {
				visits[row] = &[3]int{}
			}
			counts, ask := visits[row], function.QueueingHintFn
			function.QueueingHintFn = func(logger klog.Logger, pod *v1.Pod, before, after interface{}) (fwk.QueueingHint, error) {
				hint, err := ask(logger, pod, before, after)
				switch {
				case err != nil:
					counts[2]++
				case hint == fwk.Queue:
					counts[1]++
				default:
					counts[0]++
				}
				return hint, err
			}
		}
	}
}

func (h *history) oneIn(n int) bool { return h.random.Intn(n) == 0 }

// isTwice: upstream leaves a pod in backoffQ and in the unschedulable set when an update raises several events and
// SchedulerPopFromBackoffQ is off. Berth keeps it in backoffQ, and the history ends there.
func (h *history) isTwice() bool {
	waits := h.queue.UnschedulablePods()
	return slices.ContainsFunc(h.queue.PodsInBackoffQ(), func(pod *v1.Pod) bool {
		return slices.ContainsFunc(waits, func(other *v1.Pod) bool { return other.UID == pod.UID })
	})
}

// write writes a step with where every pod is now.
func (h *history) write(s step) error {
	if h.isCut = h.isCut || h.isTwice(); h.isCut {
		return nil
	}
	names := func(pods []*v1.Pod) string {
		var out []string
		for _, pod := range pods {
			out = append(out, pod.Name)
		}
		slices.Sort(out)
		return strings.Join(out, ",")
	}
	s.Places = "active " + names(h.queue.PodsInActiveQ()) + " backoff " + names(h.queue.PodsInBackoffQ()) +
		" unschedulable " + names(h.queue.UnschedulablePods())
	for _, node := range []string{"n0", "n1"} {
		var nominated []string
		for _, pod := range h.queue.NominatedPodsForNode(node) {
			nominated = append(nominated, pod.GetPod().Name)
		}
		s.Places += " " + node + " " + strings.Join(nominated, ",")
	}
	return h.out.Encode(s)
}
