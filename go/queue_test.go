// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sizes are the numbers of pods in each place.
func sizes(t testing.TB, q *Queue) []uint64 {
	t.Helper()
	var all []uint64
	for place := QueueActive; place <= QueueTried; place++ {
		all = append(all, must(q.Size(place))(t))
	}
	return all
}

func expectSizes(t testing.TB, q *Queue, want ...uint64) {
	t.Helper()
	if got := sizes(t, q); !slices.Equal(got, want) {
		t.Errorf("sizes %v, wanted %v", got, want)
	}
}

// tryAll tries the pods that are ready, and gives those that have a node now.
func tryAll(t testing.TB, q *Queue, fork *Fork) []*Pod {
	t.Helper()
	var placed []*Pod
	for {
		pod := must(q.Pop())(t)
		if pod == nil {
			return placed
		}
		r := must(fork.Schedule(t.Context(), []*Pod{pod}, &ScheduleOptions{Rejectors: true}))(t)
		if r.Fits[0] {
			ok(t, q.Done(pod))
			ok(t, q.PodCame(fork, must(pod.UID())(t)))
			placed = append(placed, pod)
		} else {
			ok(t, q.Fail(pod, must(r.Rejectors.At(0))(t), must(r.PendingRejectors.At(0))(t)))
		}
		ok(t, r.Close())
	}
}

func openedFork(t testing.TB, cluster *Cluster) *Fork {
	t.Helper()
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	return closing(t, must(snapshot.Fork())(t))
}

func newTestQueue(t testing.TB, cluster *Cluster) *Queue {
	t.Helper()
	return closing(t, must(cluster.NewQueue(nil))(t))
}

func TestAQueueSaysWhoIsTriedNext(t *testing.T) {
	cluster := world(t)
	fork := openedFork(t, cluster)
	q := closing(t, must(cluster.NewQueue(&QueueOptions{Now: 100 * time.Second}))(t))
	small, huge, late := newTestPod(t, cluster, "small", 3), newTestPod(t, cluster, "huge", 14), newTestPod(t, cluster, "late", 4)
	for _, pod := range []*Pod{small, huge, late} {
		ok(t, q.Add(pod))
	}
	expectSizes(t, q, 3, 0, 0, 0, 0)
	if placed := tryAll(t, q, fork); !slices.Equal(placed, []*Pod{small}) {
		t.Errorf("%v", placed)
	}
	expectSizes(t, q, 0, 0, 2, 0, 0)
	ok(t, q.Remove(late))

	large := nodeText("d", "16", "")
	must(fork.AddNode(large))(t)
	ok(t, q.NodeChanged(nil, large))
	expectSizes(t, q, 0, 1, 0, 0, 0)
	now, next, waits, err := q.Times()
	if err != nil || now != 100*time.Second || next <= now || !waits {
		t.Errorf("%v %v %v %v", now, next, waits, err)
	}
	ok(t, q.Advance(next+time.Second))
	if placed := tryAll(t, q, fork); !slices.Equal(placed, []*Pod{huge}) {
		t.Errorf("%v", placed)
	}
	if _, next, waits, err := q.Times(); err != nil || next != 0 || waits {
		t.Errorf("%v %v %v", next, waits, err)
	}

	ok(t, q.Add(late))
	if placed := tryAll(t, q, fork); len(placed) != 0 {
		t.Errorf("%v", placed)
	}
	ok(t, q.PodLeaves(fork, "uid-small"))
	ok(t, fork.RemovePod("uid-small"))
	ok(t, q.Advance(next+10*time.Second))
	if placed := tryAll(t, q, fork); !slices.Equal(placed, []*Pod{late}) {
		t.Errorf("%v", placed)
	}
	expectSizes(t, q, 0, 0, 0, 0, 0)
}

func TestAPendingPodComesBackWithoutBackoffAndAGatedOneStaysOut(t *testing.T) {
	cluster := world(t)
	q := newTestQueue(t, cluster)
	pod := newTestPod(t, cluster, "p", 5)
	gated := closing(t, must(cluster.NewPod([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"g"},
"spec":{"schedulingGates":[{"name":"later"}],"containers":[{"name":"c"}]}}`), nil))(t))
	ok(t, q.Add(pod))
	ok(t, q.Add(gated))
	for _, pending := range []string{"", "NodeResourcesFit"} {
		if must(q.Pop())(t) != pod {
			t.Fatal("another pod")
		}
		ok(t, q.Fail(pod, "NodeResourcesFit", pending))
		expectSizes(t, q, 0, 0, 1, 1, 0)
		ok(t, q.NodeChanged(nil, nodeText("d", "8", "")))
		if pending == "" {
			expectSizes(t, q, 0, 1, 0, 1, 0)
		} else {
			expectSizes(t, q, 1, 0, 0, 1, 0)
		}
	}
}

func TestRejectorsAreThereWhereTheyWereAskedFor(t *testing.T) {
	cluster := world(t)
	fork := openedFork(t, cluster)
	pods := []*Pod{newTestPod(t, cluster, "large", 9), newTestPod(t, cluster, "small", 1)}
	r := must(fork.Schedule(t.Context(), pods, &ScheduleOptions{Rejectors: true}))(t)
	if must(r.Rejectors.At(0))(t) != "NodeResourcesFit, NodeUnschedulable" || must(r.Rejectors.At(1))(t) != "" ||
		must(r.PendingRejectors.At(0))(t) != "" || r.PendingRejectors.Len() != 2 {
		t.Errorf("%+v", r.ScheduleColumns)
	}
	ok(t, r.Close())
	if r.Rejectors.Len() != 0 {
		t.Error("columns outlive their result")
	}
	plain := closing(t, must(fork.Schedule(t.Context(), pods[:1], nil))(t))
	if plain.Rejectors.Len() != 0 || plain.PendingRejectors.Len() != 0 {
		t.Errorf("%+v", plain.ScheduleColumns)
	}
}

func TestPopGivesAnotherHandleOfAPodThatWasClosedWhileItWaited(t *testing.T) {
	cluster := world(t)
	q := newTestQueue(t, cluster)
	added := must(cluster.NewPod(podText("p", 1, ""), nil))(t)
	ok(t, q.Add(added))
	ok(t, added.Close())
	if err := q.Remove(added); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	popped := closing(t, must(q.Pop())(t))
	if popped == added || must(popped.UID())(t) != "uid-p" {
		t.Fatal("not a handle of the pod")
	}
	ok(t, q.Fail(popped, "", ""))
	ok(t, q.Advance(time.Minute))
	if again := must(q.Pop())(t); again != popped {
		t.Error("one that is open was not given again")
	}
	kept := closing(t, must(popped.Retain())(t))
	ok(t, popped.Close())
	ok(t, q.Done(kept)) // any handle of the pod
	expectSizes(t, q, 0, 0, 0, 0, 0)
}

func TestAQueueKeepsNoShareOfAPodThatIsDone(t *testing.T) {
	counted(t)
	engine := closing(t, must(NewEngine(&EngineOptions{MaxMemoryBytes: 1 << 30}))(t))
	cluster := closing(t, must(engine.NewCluster())(t))
	q := newTestQueue(t, cluster)
	round := func(closeEarly bool) uint64 {
		pod := must(cluster.NewPod(podText("p", 1, ""), nil))(t)
		ok(t, q.Add(pod))
		if closeEarly {
			ok(t, pod.Close())
		}
		popped := must(q.Pop())(t)
		ok(t, q.Done(popped))
		ok(t, popped.Close())
		return must(engine.Memory())(t)
	}
	first := round(false)
	for _, closeEarly := range []bool{false, true} {
		if after := round(closeEarly); after != first {
			t.Errorf("closed early %v: %d bytes, and %d before", closeEarly, after, first)
		}
	}
}

func TestWhatAQueueRefusesChangesNothing(t *testing.T) {
	cluster := world(t)
	fork := openedFork(t, cluster)
	q := newTestQueue(t, cluster)
	pod := newTestPod(t, cluster, "p", 1)
	foreign := closing(t, must(cluster.NewPod([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"f"},
"spec":{"schedulerName":"another","containers":[{"name":"c"}]}}`), nil))(t))
	ok(t, q.Add(pod))
	ok(t, q.Advance(5*time.Second))
	_, sizeErr := q.Size(9)
	_, newErr := cluster.NewQueue(&QueueOptions{Now: -time.Second})
	for i, each := range []struct{ err, want error }{
		{q.Add(pod), Exists}, {q.Add(foreign), Argument}, {q.Add(nil), Argument}, {q.Remove(foreign), NotFound},
		{q.Done(pod), NotFound}, {q.Fail(pod, "NodeName", ""), NotFound}, {q.Fail(pod, "a\x00b", ""), Argument},
		{q.Advance(4 * time.Second), Argument}, {q.PodCame(fork, "uid-p"), NotFound}, {q.PodLeaves(fork, "uid-p"), NotFound},
		{q.PodCame(nil, "uid-p"), Argument}, {q.NodeChanged(nil, nil), Argument},
		{q.NodeChanged(nodeText("x", "1", ""), nodeText("y", "1", "")), Argument}, {q.NodeChanged(nil, []byte("{")), Input},
		{sizeErr, Argument}, {newErr, Argument},
	} {
		if !errors.Is(each.err, each.want) {
			t.Errorf("%d: %v, wanted %v", i, each.err, each.want)
		}
	}
	if must(q.Pop())(t) != pod {
		t.Error("another pod")
	}
	var names strings.Builder
	for i := range 70 {
		fmt.Fprintf(&names, "Plugin%d, ", i)
	}
	if err := q.Fail(pod, names.String(), ""); !errors.Is(err, Argument) {
		t.Error(err)
	}
	expectSizes(t, q, 0, 0, 0, 0, 1)
}

func TestQueuesPodsAndTheirClusterAreClosedInAnyOrder(t *testing.T) {
	counted(t)
	handles := func() (*Cluster, *Fork, *Pod, *Queue) {
		engine := must(NewEngine(nil))(t)
		defer engine.Close()
		cluster := must(engine.NewCluster())(t)
		snapshot := must(cluster.NewSnapshot())(t)
		defer snapshot.Close()
		pod := must(cluster.NewPod(podText("p", 1, ""), nil))(t)
		q := must(cluster.NewQueue(nil))(t)
		ok(t, q.Add(pod))
		return cluster, must(snapshot.Fork())(t), pod, q
	}
	cluster, fork, pod, q := handles()
	ok(t, cluster.Close())
	if must(q.Pop())(t) != pod {
		t.Error("another pod")
	}
	ok(t, fork.Close())
	if err := q.PodCame(fork, "uid-p"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	ok(t, pod.Close())
	ok(t, q.Close())

	cluster, fork, pod, q = handles()
	ok(t, q.Close())
	ok(t, q.Close())
	_, popErr := q.Pop()
	_, sizeErr := q.Size(QueueActive)
	_, memoryErr := q.Memory()
	_, _, _, timesErr := q.Times()
	for _, err := range []error{popErr, sizeErr, memoryErr, timesErr, q.Add(pod), q.Advance(0), q.NodeChanged(nil, nil),
		q.PodLeaves(fork, "uid-p"), (&Queue{}).Remove(pod)} {
		if !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	must(pod.UID())(t)
	for _, handle := range []interface{ Close() error }{pod, cluster, fork} {
		ok(t, handle.Close())
	}
}

func TestAQueueThatIsLeftOpenIsCounted(t *testing.T) {
	q := must(world(t).NewQueue(nil))(t)
	if open := OpenHandles()["Queue"]; open != 1 {
		t.Error(open)
	}
	ok(t, q.Close())
	if open := OpenHandles()["Queue"]; open != 0 {
		t.Error(open)
	}
}

func TestASecondGoroutineInAQueueIsBusy(t *testing.T) {
	cluster := world(t)
	q := newTestQueue(t, cluster)
	var busy, answered atomic.Int64
	var group sync.WaitGroup
	end := time.Now().Add(5 * time.Second)
	for i := range 4 {
		pod := newTestPod(t, cluster, fmt.Sprintf("p%d", i), 1)
		until := func(call func() error) { // it is not busy any more
			for {
				err := call()
				if !errors.Is(err, Busy) {
					answered.Add(1)
					ok(t, err)
					return
				}
				busy.Add(1)
				runtime.Gosched()
			}
		}
		group.Go(func() {
			for (busy.Load() == 0 || answered.Load() < 1000) && time.Now().Before(end) {
				until(func() error { return q.Add(pod) })
				until(func() error { _, err := q.Size(QueueActive); return err })
				until(func() error { _, err := q.Pop(); return err })
				until(func() error { return q.Remove(pod) })
			}
		})
	}
	group.Wait()
	if busy.Load() == 0 || answered.Load() == 0 {
		t.Errorf("%d busy, %d answered", busy.Load(), answered.Load())
	}
	expectSizes(t, q, 0, 0, 0, 0, 0)
}
