// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	berth "berth.dev/go"
	"berth.dev/go/adapters/informer"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

var (
	speedNodes = flag.Int("nodes", 1000, "of the tests of speed")
	speedPods  = flag.Int("pods", 0, "that are scheduled with and without the plugin; 0: that test is skipped")
	percentage = flag.Int("percentage", 0, "percentageOfNodesToScore; 0: upstream's choice")
)

// plainNodes have room for ten pods of one core each, and have half of them.
func plainNodes(count int) []runtime.Object {
	draw := rand.New(rand.NewPCG(1, 1))
	var objects []runtime.Object
	for i := range count {
		n := node(i%10, draw)
		n.Name, n.Spec.Taints = fmt.Sprintf("n%05d", i), nil
		n.Labels["kubernetes.io/hostname"] = n.Name
		n.Status.Allocatable["cpu"], n.Status.Allocatable["pods"] = *resource.NewQuantity(10, resource.DecimalSI), resource.MustParse("110")
		objects = append(objects, n)
		for j := range 5 {
			objects = append(objects, plainPod(fmt.Sprintf("old-%d-%d", i, j), n.Name))
		}
	}
	return objects
}

func plainPod(name, on string) *v1.Pod {
	p := pod(0, on, rand.New(rand.NewPCG(1, 1)))
	p.Name, p.UID, p.Labels = name, types.UID("uid-of-"+name), map[string]string{"app": "plain"}
	p.Spec.Affinity, p.Spec.TopologySpreadConstraints, p.Spec.Tolerations = nil, nil, nil
	p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("1")
	return p
}

// A check through Go beside upstream's: PreFilter and Filter of a plain pod on one node, in one run, in turns. The
// fastest of the rounds counts, which other builds disturb the least.
func TestACheckIsThreeTimesAsFastAsUpstreams(t *testing.T) {
	objects := plainNodes(*speedNodes)
	r, stop := start(t, false, objects)
	defer stop()
	f := r.scheduler.Profiles["default-scheduler"]
	snapshot := f.SnapshotSharedLister().(*internalcache.Snapshot)
	ok(t, r.scheduler.Cache.UpdateSnapshot(klog.FromContext(r.ctx), snapshot))
	asked := plainPod("asked", "")
	on, err := snapshot.NodeInfos().Get("n00007")
	ok(t, err)
	theirs := func(count int) {
		for range count {
			state := framework.NewCycleState()
			if _, status, _ := f.RunPreFilterPlugins(r.ctx, state, asked); !status.IsSuccess() {
				t.Fatal(status)
			}
			if status := f.RunFilterPlugins(r.ctx, state, asked, on); !status.IsSuccess() {
				t.Fatal(status)
			}
		}
	}
	engine, err := berth.NewEngine(nil)
	ok(t, err)
	defer engine.Close()
	cluster, err := engine.NewCluster()
	ok(t, err)
	defer cluster.Close()
	bulk := &berth.Bulk{}
	for _, object := range objects {
		text, err := informer.Text(object)
		ok(t, err)
		bulk.Append(text)
	}
	ok(t, cluster.UpsertBulk(bulk))
	text, err := informer.Text(asked)
	ok(t, err)
	handle, err := cluster.NewPod(text, nil)
	ok(t, err)
	defer handle.Close()
	number, err := cluster.FindNode("n00007")
	ok(t, err)
	of, err := cluster.NewSnapshot()
	ok(t, err)
	defer of.Close()
	ours := func(count int) {
		for range count {
			if fits, err := of.Check(handle, number, nil); err != nil || !fits {
				t.Fatal(fits, err)
			}
		}
	}
	const count = 2000
	best := [2]time.Duration{time.Hour, time.Hour}
	for range 15 {
		for i, ask := range []func(int){theirs, ours} {
			begin := time.Now()
			ask(count)
			best[i] = min(best[i], time.Since(begin)/count)
		}
	}
	t.Logf("%d nodes: upstream %v, Berth through Go %v, ratio %.1f", *speedNodes, best[0], best[1], float64(best[0])/float64(best[1]))
	if best[0] < 3*best[1] {
		t.Error("less than three times as fast")
	}
}

// processorTime is that of all threads of the process: on a busy machine it says more than the clock.
func processorTime(t *testing.T) time.Duration {
	var use syscall.Rusage
	ok(t, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// Pods a second of upstream's scheduler over a fake client, without the plugin and with it.
func TestPodsASecond(t *testing.T) {
	if *speedPods == 0 {
		t.Skip("-pods N measures it")
	}
	for _, withBerth := range []bool{false, true} {
		r, stop := start(t, withBerth, plainNodes(*speedNodes))
		begin, used := time.Now(), processorTime(t)
		for created := 0; r.bound.Load() < int64(*speedPods); {
			// The watch of a fake client holds a hundred events.
			for created < *speedPods && created < int(r.bound.Load())+20 {
				_, err := r.client.CoreV1().Pods("default").Create(r.ctx, plainPod(fmt.Sprintf("new-%d", created), ""), metav1.CreateOptions{})
				ok(t, err)
				created++
			}
			time.Sleep(100 * time.Microsecond)
			if time.Since(begin) > 2*time.Minute {
				t.Fatalf("%d of %d pods are bound", r.bound.Load(), *speedPods)
			}
		}
		t.Logf("%d nodes, %d pods, with Berth %v: %.0f pods/s, %v of processor time a pod", *speedNodes, *speedPods, withBerth,
			float64(*speedPods)/time.Since(begin).Seconds(), (processorTime(t)-used)/time.Duration(*speedPods))
		stop()
	}
}
