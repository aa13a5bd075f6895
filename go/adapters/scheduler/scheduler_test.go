// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	berth "berth.dev/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	upstream "k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

var (
	clusters = flag.Int("clusters", 20, "random clusters; 200 are the full count")
	seed     = flag.Uint64("seed", 1, "of the first cluster")
)

func TestMain(m *testing.M) {
	flag.Parse()
	klog.LogToStderr(false)
	metrics.Register()
	// With asynchronous preemption a pod may wait for an event that came too early, in upstream as with Berth.
	if err := utilfeature.DefaultMutableFeatureGate.Set("SchedulerAsyncPreemption=false"); err != nil {
		panic(err)
	}
	status := m.Run()
	if open := berth.OpenHandles(); len(open) > 0 && status == 0 {
		fmt.Fprintln(os.Stderr, "handles left open:", open)
		status = 1
	}
	os.Exit(status)
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const tieName = "FirstOfEqual"

// tie takes the first of equal nodes by name. Its weight is the least.
type tie struct{}

func (tie) Name() string { return tieName }
func (tie) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, on fwk.NodeInfo) (int64, *fwk.Status) {
	return max(0, 100-int64(on.Node().Name[1]-'0')), nil
}
func (tie) ScoreExtensions() fwk.ScoreExtensions                               { return nil }
func (tie) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) { return nil, nil }

// profileOf is the default one with the tie break; with Berth in place of its plugins of the cycle.
func profileOf(t testing.TB, withBerth bool) schedulerapi.KubeSchedulerProfile {
	config, err := latest.Default()
	ok(t, err)
	p := config.Profiles[0]
	if *percentage > 0 {
		value := int32(*percentage)
		p.PercentageOfNodesToScore = &value
	}
	if !withBerth {
		for i := range p.Plugins.MultiPoint.Enabled {
			if weight := &p.Plugins.MultiPoint.Enabled[i].Weight; *weight > 0 {
				*weight *= 1000
			} else {
				*weight = 1000
			}
		}
		p.Plugins.Score.Enabled = append(p.Plugins.Score.Enabled, schedulerapi.Plugin{Name: tieName, Weight: 1})
		return p
	}
	kept := []schedulerapi.Plugin{}
	for _, plugin := range p.Plugins.MultiPoint.Enabled {
		if slices.Contains([]string{"PrioritySort", "DefaultPreemption", "DefaultBinder", "SchedulingGates", "DynamicResources"}, plugin.Name) {
			kept = append(kept, plugin)
		}
	}
	p.Plugins.MultiPoint.Enabled = append(kept, schedulerapi.Plugin{Name: Name, Weight: 1000})
	p.Plugins.Score.Enabled = append(p.Plugins.Score.Enabled, schedulerapi.Plugin{Name: tieName, Weight: 1})
	return p
}

type run struct {
	t         testing.TB
	client    *fake.Clientset
	ctx       context.Context
	scheduler *upstream.Scheduler
	bound     *atomic.Int64 // bindings so far
	refused   *sync.Map     // what the first attempt of a pod said, by name
}

// start runs upstream's scheduler over a fake client.
func start(t testing.TB, withBerth bool, objects []runtime.Object) (*run, func()) {
	t.Helper()
	client := fake.NewSimpleClientset(objects...) // without managed fields, which cost more than a cycle
	// The tracker gives no versions; the scheduler passes over an update that has the old one.
	var versions atomic.Int64
	bindings, refused := new(atomic.Int64), new(sync.Map)
	next := func() string { return fmt.Sprint(1000 + versions.Add(1)) }
	plain := clienttesting.ObjectReaction(client.Tracker())
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		handled, object, err := plain(action)
		if pod, isPod := object.(*v1.Pod); err == nil && isPod {
			pod = pod.DeepCopy()
			pod.ResourceVersion = next()
			err := client.Tracker().Update(action.GetResource(), pod, pod.Namespace)
			for _, condition := range pod.Status.Conditions {
				if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
					refused.LoadOrStore(pod.Name, condition.Message)
				}
			}
			return true, pod, err
		}
		return handled, object, err
	})
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		found, err := client.Tracker().Get(action.GetResource(), binding.Namespace, binding.Name)
		if err != nil {
			return true, nil, err
		}
		bound := found.(*v1.Pod).DeepCopy()
		bound.Spec.NodeName, bound.ResourceVersion = binding.Target.Name, next()
		bindings.Add(1)
		return true, binding, client.Tracker().Update(action.GetResource(), bound, binding.Namespace)
	})
	ctx, cancel := context.WithCancel(context.Background())
	factory := upstream.NewInformerFactory(client, 0)
	engine, err := berth.NewEngine(&berth.EngineOptions{Threads: 1, Release: release})
	ok(t, err)
	defer engine.Close()
	var plugin *Plugin
	make := Factory(engine)
	registry := frameworkruntime.Registry{
		tieName: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return tie{}, nil },
		Name: func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			p, err := make(ctx, args, handle)
			if err == nil {
				plugin = p.(*Plugin)
			}
			return p, err
		},
	}
	s, err := upstream.New(ctx, client, factory, nil, recorders(), upstream.WithProfiles(profileOf(t, withBerth)),
		upstream.WithFrameworkOutOfTreeRegistry(registry), upstream.WithPodInitialBackoffSeconds(1), upstream.WithPodMaxBackoffSeconds(1),
		upstream.WithParallelism(2))
	ok(t, err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	ok(t, s.WaitForHandlersSync(ctx))
	ended := newDone(func() { s.Run(ctx) })
	return &run{t, client, ctx, s, bindings, refused}, func() {
		cancel()
		<-ended
		factory.Shutdown()
		if plugin != nil {
			ok(t, plugin.Close())
		}
	}
}

func newDone(f func()) chan struct{} {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	return done
}

// schedule creates a pod, and waits until it is bound or given up. A pod that is given up is deleted, and one that waits
// for its victims is tried again without a hint: what the queue does with events is not compared, since Berth registers
// for all of them, and upstream's InterPodAffinity misses the deletion of a pod whose anti-affinity was in the way. Nor are
// texts of attempts between the deletions of two victims, which each of them may start.
func (r *run) schedule(pod *v1.Pod) (said string, bound bool) {
	pods := r.client.CoreV1().Pods(pod.Namespace)
	_, err := pods.Create(r.ctx, pod, metav1.CreateOptions{})
	ok(r.t, err)
	first := ""
	again := time.Now().Add(20 * time.Millisecond)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		first = r.refusal(pod.Name) // before the nomination is read, which is written with it
		now, err := pods.Get(r.ctx, pod.Name, metav1.GetOptions{})
		ok(r.t, err)
		if now.Spec.NodeName != "" {
			return fmt.Sprintf("%s, after: %s", now.Spec.NodeName, r.refusal(pod.Name)), true
		}
		if first != "" && now.Status.NominatedNodeName == "" {
			ok(r.t, pods.Delete(r.ctx, pod.Name, metav1.DeleteOptions{}))
			return first, false
		}
		if first != "" && time.Now().After(again) {
			again = time.Now().Add(20 * time.Millisecond)
			all := fwk.ClusterEvent{Resource: fwk.WildCard, ActionType: fwk.All}
			r.scheduler.SchedulingQueue.MoveAllToActiveOrBackoffQueue(klog.FromContext(r.ctx), all, nil, nil, nil)
		}
	}
	now, err := pods.Get(r.ctx, pod.Name, metav1.GetOptions{})
	ok(r.t, err)
	r.t.Fatalf("%s is neither bound nor given up (%s); now %+v", pod.Name, first, now.Status)
	return "", false
}

// refusal is what the first attempt of a pod said; empty when none was refused yet.
func (r *run) refusal(name string) string {
	text, _ := r.refused.Load(name)
	said, _ := text.(string)
	return said
}

func node(i int, draw *rand.Rand) *v1.Node {
	name := fmt.Sprintf("n%d", i)
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name,
		"topology.kubernetes.io/zone": fmt.Sprintf("z%d", i%2)}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": *resource.NewQuantity(int64(2+draw.IntN(5)), resource.DecimalSI),
			"memory": resource.MustParse("8Gi"), "pods": resource.MustParse("6")}}}
	switch draw.IntN(10) {
	case 0, 1:
		n.Spec.Taints = []v1.Taint{{Key: "t", Effect: v1.TaintEffectNoSchedule}}
	case 2, 3:
		n.Spec.Taints = []v1.Taint{{Key: "s", Effect: v1.TaintEffectPreferNoSchedule}}
	}
	return n
}

func pod(i int, on string, draw *rand.Rand) *v1.Pod {
	priority := int32(0)
	if on == "" {
		priority = int32(100 * draw.IntN(3))
	}
	started := metav1.Unix(int64(1000+i), 0)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%02d", i), Namespace: "default", UID: types.UID(fmt.Sprintf("uid-%02d", i)),
		ResourceVersion: "1", Labels: map[string]string{"app": []string{"x", "y"}[draw.IntN(2)]}},
		Status: v1.PodStatus{StartTime: &started},
		Spec: v1.PodSpec{NodeName: on, SchedulerName: "default-scheduler", Priority: &priority, Containers: []v1.Container{{Name: "c",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": *resource.NewQuantity(int64(1+draw.IntN(3)), resource.DecimalSI),
				"memory": resource.MustParse("1Gi")}}}}}}
	match := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	switch draw.IntN(9) {
	case 0:
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: "kubernetes.io/hostname", LabelSelector: match}}}}
	case 1:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone",
			WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: match}}
	case 2:
		p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	case 3: // PreFilter names the nodes
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name",
				Operator: v1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("n%d", draw.IntN(4))}}}}}}}}
	case 4:
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
			Weight: int32(1 + draw.IntN(100)), Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{
				Key: "topology.kubernetes.io/zone", Operator: v1.NodeSelectorOpIn, Values: []string{"z1"}}}}}}},
			PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 50,
				PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: "kubernetes.io/hostname", LabelSelector: match}}}}}
	}
	return p
}

// outcome is what becomes of a drawn cluster: each pod's node and condition, and the pods that are left.
func outcome(t testing.TB, seed uint64, withBerth bool) ([]string, int) {
	draw := rand.New(rand.NewPCG(seed, 9))
	var objects []runtime.Object
	nodes := 3 + draw.IntN(3)
	for i := range nodes {
		objects = append(objects, node(i, draw))
	}
	for i := range 2 * nodes {
		objects = append(objects, pod(i, fmt.Sprintf("n%d", draw.IntN(nodes)), draw))
	}
	r, stop := start(t, withBerth, objects)
	defer stop()
	said := map[string]string{}
	standing := 2 * nodes
	for i := range 8 {
		p := pod(20+i, "", draw)
		text, bound := r.schedule(p)
		said[p.Name] = text
		if bound {
			standing++
		}
	}
	left, err := r.client.CoreV1().Pods("default").List(r.ctx, metav1.ListOptions{})
	ok(t, err)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(said)) {
		lines = append(lines, name+": "+said[name])
	}
	for _, p := range left.Items {
		lines = append(lines, fmt.Sprintf("%s stands on %q", p.Name, p.Spec.NodeName))
	}
	return lines, standing - len(left.Items)
}

func TestWithBerthUpstreamsSchedulerDoesTheSame(t *testing.T) {
	evicted, again := 0, 0
	for i := range *clusters {
		seed := *seed + uint64(i)
		want, victims := outcome(t, seed, false)
		got, _ := outcome(t, seed, true)
		evicted += victims
		if !slices.Equal(got, want) {
			again++
			// A pod that is tried between the deletions of two victims may go elsewhere, and upstream differs from itself.
			for tries := 0; tries < 40 && !slices.Equal(got, want); tries++ {
				want, _ = outcome(t, seed, false)
			}
			if !slices.Equal(got, want) {
				got, _ = outcome(t, seed, true)
			}
		}
		if !slices.Equal(got, want) {
			for j := range max(len(got), len(want)) {
				if j < len(got) && j < len(want) && got[j] == want[j] {
					continue
				}
				if j < len(want) {
					t.Logf("upstream: %s", want[j])
				}
				if j < len(got) {
					t.Logf("Berth:    %s", got[j])
				}
			}
			t.Errorf("cluster %d differs", seed)
		}
	}
	t.Logf("%d clusters, %d victims; %d were compared more than once", *clusters, evicted, again)
	if evicted == 0 {
		t.Error("no pod was evicted")
	}
}

// silent takes events.
type silent struct{ events.FakeRecorder }

func (s *silent) WithLogger(klog.Logger) events.EventRecorderLogger { return s }
