// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestACallOnAClosedHandleIsAnError(t *testing.T) {
	cluster := world(t)
	pod := newTestPod(t, cluster, "p", 1)
	gone := must(cluster.NewPod(podText("gone", 1, ""), nil))(t)
	a := node(t, cluster, "a")
	snapshot := must(cluster.NewSnapshot())(t)
	fork := must(snapshot.Fork())(t)
	result := must(snapshot.Verdict(pod, a, nil))(t)
	set := must(cluster.NewNodeSet([]NodeID{a}))(t)
	plugins := result.Plugins
	for _, handle := range []interface{ Close() error }{snapshot, fork, result, set, gone, (*CheckResult)(nil)} {
		ok(t, handle.Close())
		ok(t, handle.Close())
	}
	second := closing(t, must(cluster.NewSnapshot())(t))
	_, checkErr := snapshot.Check(pod, a, nil)
	_, goneErr := second.Check(gone, a, nil)
	_, commitErr := fork.Commit()
	_, scheduleErr := fork.Schedule(t.Context(), []*Pod{pod}, nil)
	_, setErr := second.CheckBulk(t.Context(), []*Pod{pod}, &CheckOptions{Nodes: set})
	_, goneBulkErr := second.CheckBulk(t.Context(), []*Pod{pod, gone}, nil)
	_, textErr := plugins.At(0)
	_, originErr := result.Origin()
	_, zeroErr := (&Snapshot{}).Version()
	for _, err := range []error{checkErr, goneErr, commitErr, scheduleErr, setErr, goneBulkErr, textErr, originErr, zeroErr} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	}
	if result.Fits != nil || result.Reasons.Numbers != nil {
		t.Error("columns outlive their result")
	}
	if _, err := second.CheckBulk(t.Context(), []*Pod{nil}, nil); !errors.Is(err, Argument) {
		t.Errorf("%v", err)
	}
}

func TestCloseWhileCallsRunFreesOnceBehindThem(t *testing.T) {
	cluster := world(t)
	pod := newTestPod(t, cluster, "p", 1)
	a := node(t, cluster, "a")
	for range 200 {
		snapshot := must(cluster.NewSnapshot())(t)
		var group sync.WaitGroup
		var answered atomic.Int64
		for range 4 {
			group.Go(func() {
				for {
					fits, err := snapshot.Check(pod, a, nil)
					if errors.Is(err, ErrClosed) {
						return
					}
					if err != nil || !fits {
						t.Errorf("fits %v: %v", fits, err)
						return
					}
					answered.Add(1)
				}
			})
		}
		for answered.Load() == 0 {
			runtime.Gosched()
		}
		group.Go(func() { ok(t, snapshot.Close()) })
		ok(t, snapshot.Close())
		group.Wait()
	}
}

func TestASecondGoroutineInAForkIsBusy(t *testing.T) {
	cluster := world(t)
	pod := newTestPod(t, cluster, "p", 1)
	a := node(t, cluster, "a")
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	fork := closing(t, must(snapshot.Fork())(t))
	var busy, answered atomic.Int64
	var group sync.WaitGroup
	end := time.Now().Add(5 * time.Second)
	for range 4 {
		group.Go(func() {
			for busy.Load() == 0 && time.Now().Before(end) {
				switch _, err := fork.Check(pod, a, nil); {
				case errors.Is(err, Busy):
					busy.Add(1)
				case err != nil:
					t.Error(err)
				default:
					answered.Add(1)
				}
			}
		})
	}
	group.Wait()
	if busy.Load() == 0 || answered.Load() == 0 {
		t.Errorf("%d busy, %d answered", busy.Load(), answered.Load())
	}
}

func TestALeakIsReportedWithTheStackThatMadeIt(t *testing.T) {
	cluster := world(t)
	leaks.Lock()
	before := len(leaks.found)
	leaks.Unlock()
	var lost handle
	func() {
		set := must(cluster.NewNodeSet(nil))(t)
		lost = set.handle
	}()
	for range 100 {
		runtime.GC()
		leaks.Lock()
		found := leaks.found[before:]
		leaks.Unlock()
		if len(found) > 0 {
			if !strings.Contains(found[0], "NodeSet made by") || !strings.Contains(found[0], "handle_test.go") {
				t.Error(found[0])
			}
			ok(t, lost.close()) // given back, so that the count of this test is right
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("no leak was reported")
	ok(t, lost.close())
}
