// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	berth "berth.dev/go"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"
)

var (
	histories = flag.Int("histories", 300, "random histories; 10,000 are the full count")
	seed      = flag.Uint64("seed", 1, "of the first history")
)

type event struct {
	gone   bool
	object metav1.Object
}

// server is an API server, the watch of each kind, and what the informer of each kind has seen.
type server struct {
	t       *testing.T
	draw    *rand.Rand
	version int
	objects map[string]map[string]metav1.Object // kind, key
	watch   map[string][]event
	seen    map[string]map[string]metav1.Object
	feeder  *Feeder
	cluster *berth.Cluster
	assumed map[types.UID]*berth.Pod
}

var kinds = []string{"Namespace", "Node", "Pod", "PodDisruptionBudget", "Service"}

func (s *server) put(kind string, object metav1.Object) {
	s.version++
	object.SetResourceVersion(fmt.Sprint(s.version))
	s.objects[kind][keyOf(object)] = object
	s.watch[kind] = append(s.watch[kind], event{false, object})
}

func (s *server) drop(kind, key string) {
	if object, there := s.objects[kind][key]; there {
		delete(s.objects[kind], key)
		s.watch[kind] = append(s.watch[kind], event{true, object})
	}
}

// deliver tells the feeder of an event, as a shared informer does.
func (s *server) deliver(kind string, e event) {
	handler, key := s.feeder.Handler(kind), keyOf(e.object)
	old, known := s.seen[kind][key]
	switch {
	case e.gone:
		if known {
			delete(s.seen[kind], key)
			handler.OnDelete(e.object)
		}
		return
	case known:
		handler.OnUpdate(old, e.object)
	default:
		handler.OnAdd(e.object, false)
	}
	s.seen[kind][key] = e.object
}

// relist is an informer whose watch broke: what it did not see comes as a list.
func (s *server) relist(kind string) {
	s.watch[kind] = nil
	for _, key := range slices.Sorted(maps.Keys(s.seen[kind])) {
		if _, there := s.objects[kind][key]; !there {
			unknown := cache.DeletedFinalStateUnknown{Key: key, Obj: s.seen[kind][key]}
			if unknown.Key[0] == '/' {
				unknown.Key = key[1:]
			}
			if s.draw.IntN(3) == 0 {
				unknown.Obj = nil
			}
			delete(s.seen[kind], key)
			s.feeder.Handler(kind).OnDelete(unknown)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.objects[kind])) {
		s.deliver(kind, event{false, s.objects[kind][key]})
	}
}

func (s *server) pick(kind string) metav1.Object {
	keys := slices.Sorted(maps.Keys(s.objects[kind]))
	if len(keys) == 0 {
		return nil
	}
	return s.objects[kind][keys[s.draw.IntN(len(keys))]]
}

func (s *server) chance(of int) bool { return s.draw.IntN(of) == 0 }

func (s *server) drawNode() {
	name := fmt.Sprintf("n%d", s.draw.IntN(5))
	n := node(name, int64(2+s.draw.IntN(7)))
	n.Labels["zone"] = fmt.Sprintf("z%d", s.draw.IntN(3))
	n.Spec.Unschedulable = s.chance(6)
	if s.chance(6) {
		n.Spec.Taints = []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule}}
	}
	s.put("Node", n)
}

func (s *server) drawPod() {
	p := pod(fmt.Sprintf("p%d", s.draw.IntN(10)), fmt.Sprint(s.version), "", int64(1+s.draw.IntN(3)))
	p.Namespace = []string{"a", "b"}[s.draw.IntN(2)]
	if old, there := s.objects["Pod"][keyOf(p)]; there && !s.chance(3) {
		before := old.(*corev1.Pod)
		p = before.DeepCopy()
		switch {
		case p.Spec.NodeName == "" && s.chance(2):
			p.Status.NominatedNodeName = []string{"", "n0", "n1"}[s.draw.IntN(3)]
		case p.Spec.NodeName != "" && s.chance(4):
			p.Status.Phase = corev1.PodSucceeded
		default:
			p.Labels = map[string]string{"app": []string{"x", "y"}[s.draw.IntN(2)]}
		}
	} else {
		if there {
			s.drop("Pod", keyOf(p))
		}
		p.Labels = map[string]string{"app": []string{"x", "y"}[s.draw.IntN(2)]}
		// Of pods of one priority that started at one time, the earlier one of the node's list is the more important.
		started := metav1.Unix(int64(s.version), 0)
		p.Status.StartTime = &started
		priority := int32(s.draw.IntN(2) * 100)
		p.Spec.Priority = &priority
		if s.chance(4) {
			// Of two pods of a node that have one port, which no kubelet runs, kube-scheduler's cache forgets the port when
			// one goes, and so does Berth: then the history counts. Here no two have the same.
			port := int32(80 + p.Name[1] - '0')
			if p.Namespace == "b" {
				port += 10
			}
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port, ContainerPort: port}}
		}
		if s.chance(4) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term("zone", "y")}}}
		}
		if s.chance(2) {
			p.Spec.NodeName = fmt.Sprintf("n%d", s.draw.IntN(5))
		}
	}
	s.put("Pod", p)
}

func term(key, app string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "t"}},
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
}

func (s *server) drawOther() {
	switch s.draw.IntN(3) {
	case 0:
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: []string{"a", "b"}[s.draw.IntN(2)]}}
		if s.chance(2) {
			n.Labels = map[string]string{"team": "t"}
		}
		s.put("Namespace", n)
	case 1:
		s.put("Service", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "a"},
			Spec: corev1.ServiceSpec{Selector: map[string]string{"app": []string{"x", "y"}[s.draw.IntN(2)]}}})
	default:
		least := intstr.FromInt32(1)
		s.put("PodDisruptionBudget", &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "a"},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}})
	}
}

// assume is a scheduler: it assumes a pending pod, and what it decided is bound, overruled or given up later.
func (s *server) assume() {
	picked := s.pick("Pod")
	if picked == nil {
		return
	}
	p := picked.(*corev1.Pod)
	if _, pending := s.assumed[p.UID]; pending || p.Spec.NodeName != "" {
		return
	}
	// A scheduler knows a pod by its informer, which then tells its end too.
	if seen := s.seen["Pod"][keyOf(p)]; seen == nil || seen.GetUID() != p.UID {
		return
	}
	text, err := Text(p)
	ok(s.t, err)
	handle, err := s.cluster.NewPod(text, nil)
	ok(s.t, err)
	at, err := s.cluster.FindNode(fmt.Sprintf("n%d", s.draw.IntN(5)))
	if err == nil {
		err = s.cluster.Assume(handle, at)
	}
	if err != nil { // no such node yet, or the pod is bound by now
		ok(s.t, handle.Close())
		if !errors.Is(err, berth.NotFound) && !errors.Is(err, berth.Exists) {
			s.t.Fatal(err)
		}
		return
	}
	s.assumed[p.UID] = handle
}

// decide ends one assumption: the pod is bound there, elsewhere, or nowhere.
func (s *server) decide(bind bool) {
	for _, uid := range slices.Sorted(maps.Keys(s.assumed)) {
		handle := s.assumed[uid]
		delete(s.assumed, uid)
		for _, object := range s.objects["Pod"] {
			if object.GetUID() == uid && object.(*corev1.Pod).Spec.NodeName == "" {
				bound := object.(*corev1.Pod).DeepCopy()
				if bind {
					bound.Spec.NodeName, bound.Status.NominatedNodeName = fmt.Sprintf("n%d", s.draw.IntN(5)), ""
				} else if err := s.cluster.Forget(handle); err != nil && !errors.Is(err, berth.NotFound) {
					s.t.Fatal(err)
				}
				// A scheduler that gives up writes a condition, so that the pod comes once more, with its nomination.
				s.put("Pod", bound)
				ok(s.t, handle.Close())
				return
			}
		}
		if err := s.cluster.Forget(handle); err != nil && !errors.Is(err, berth.NotFound) {
			s.t.Fatal(err)
		}
		ok(s.t, handle.Close())
		return
	}
}

func (s *server) step() {
	switch s.draw.IntN(12) {
	case 0:
		s.drawNode()
	case 1, 2, 3:
		s.drawPod()
	case 4:
		s.drawOther()
	case 5:
		kind := kinds[s.draw.IntN(len(kinds))]
		if object := s.pick(kind); object != nil {
			s.drop(kind, keyOf(object))
		}
	case 6:
		s.assume()
	case 7:
		s.decide(!s.chance(3))
	case 8:
		kind := kinds[s.draw.IntN(len(kinds))]
		if s.chance(3) {
			s.relist(kind)
		}
		for _, key := range slices.Sorted(maps.Keys(s.seen[kind])) { // a resync
			s.feeder.Handler(kind).OnUpdate(s.seen[kind][key], s.seen[kind][key])
		}
	default:
		s.flush(kinds[s.draw.IntN(len(kinds))], 1+s.draw.IntN(4))
	}
}

func (s *server) flush(kind string, most int) {
	for ; most > 0 && len(s.watch[kind]) > 0; most-- {
		e := s.watch[kind][0]
		s.watch[kind] = s.watch[kind][1:]
		s.deliver(kind, e)
		if !e.gone && s.chance(5) {
			s.deliver(kind, e)
		}
	}
}

// answers are what a cluster says of a few pods, by the names of nodes.
func answers(t *testing.T, cluster *berth.Cluster) []string {
	t.Helper()
	spread := pod("spread", "probe-3", "", 1)
	spread.Namespace, spread.Labels = "a", map[string]string{"app": "x"}
	spread.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
		WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: spread.Labels}}}
	port := pod("port", "probe-1", "", 1)
	for i := range int32(10) {
		port.Spec.Containers[0].Ports = append(port.Spec.Containers[0].Ports, corev1.ContainerPort{HostPort: 80 + i, ContainerPort: 80})
	}
	near := pod("near", "probe-2", "", 1)
	near.Namespace, near.Labels = "b", map[string]string{"app": "y"}
	near.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term("zone", "x")}}}
	large := pod("large", "probe-0", "", 4)
	priority := int32(50)
	large.Spec.Priority, large.Spec.Tolerations = &priority, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	large.Spec.Containers[0].Resources.Requests["memory"] = resource.MustParse("1Gi")
	snapshot, err := cluster.NewSnapshot()
	ok(t, err)
	defer snapshot.Close()
	var probes []*berth.Pod
	for _, p := range []*corev1.Pod{pod("plain", "probe-4", "", 2), spread, port, near, large} {
		text, err := Text(p)
		ok(t, err)
		probe, err := cluster.NewPod(text, nil)
		ok(t, err)
		defer probe.Close()
		probes = append(probes, probe)
	}
	checks, err := snapshot.CheckBulk(t.Context(), probes, nil)
	ok(t, err)
	defer checks.Close()
	var lines []string
	for i, fits := range checks.Fits {
		name, err := cluster.NodeName(checks.Nodes[i%len(checks.Nodes)])
		ok(t, err)
		reasons, err := checks.Reasons.At(i)
		ok(t, err)
		lines = append(lines, fmt.Sprintf("%s %d %v %s", name, i/len(checks.Nodes), fits, reasons))
	}
	counts, err := snapshot.MaxReplicas(t.Context(), probes, nil)
	ok(t, err)
	defer counts.Close()
	victims, err := snapshot.Preempt(t.Context(), probes[4], false)
	ok(t, err)
	defer victims.Close()
	for i, at := range victims.Nodes {
		name, err := cluster.NodeName(at)
		ok(t, err)
		line := fmt.Sprintf("%s violates %d", name, victims.Violations[i])
		for v := victims.VictimBegin[i]; v < victims.VictimBegin[i+1]; v++ {
			uid, err := victims.Victims.At(int(v))
			ok(t, err)
			line += " " + uid
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return append(lines, fmt.Sprint(counts.Counts))
}

// After any history the cluster answers as one that was loaded afresh.
func TestAfterARandomHistoryTheClusterEqualsAFreshLoad(t *testing.T) {
	engine, err := berth.NewEngine(&berth.EngineOptions{Threads: 1})
	ok(t, err)
	defer engine.Close()
	for i := range *histories {
		seed := *seed + uint64(i)
		cluster, err := engine.NewCluster()
		ok(t, err)
		s := &server{t: t, draw: rand.New(rand.NewPCG(seed, 17)), objects: map[string]map[string]metav1.Object{},
			watch: map[string][]event{}, seen: map[string]map[string]metav1.Object{}, cluster: cluster,
			feeder: NewFeeder(cluster, func(err error) { t.Error(err) }), assumed: map[types.UID]*berth.Pod{}}
		for _, kind := range kinds {
			s.objects[kind], s.seen[kind] = map[string]metav1.Object{}, map[string]metav1.Object{}
		}
		for range 40 + s.draw.IntN(80) {
			s.step()
		}
		for len(s.assumed) > 0 {
			s.decide(s.chance(2))
		}
		fresh, err := engine.NewCluster()
		ok(t, err)
		bulk := &berth.Bulk{}
		for _, kind := range kinds {
			s.flush(kind, len(s.watch[kind]))
			for _, key := range slices.Sorted(maps.Keys(s.objects[kind])) {
				text, err := Text(s.objects[kind][key])
				ok(t, err)
				bulk.Append(text)
			}
		}
		ok(t, fresh.UpsertBulk(bulk))
		if got, want := answers(t, cluster), answers(t, fresh); !slices.Equal(got, want) {
			for _, line := range got {
				if !slices.Contains(want, line) {
					t.Logf("fed, and not loaded: %s", line)
				}
			}
			for _, line := range want {
				if !slices.Contains(got, line) {
					t.Logf("loaded, and not fed: %s", line)
				}
			}
			t.Fatalf("seed %d", seed)
		}
		ok(t, cluster.Close())
		ok(t, fresh.Close())
	}
}
