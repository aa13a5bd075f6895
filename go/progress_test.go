// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"context"
	"errors"
	"testing"
)

// asked calls each question that takes a Progress; some of them twice, of a snapshot and of a fork.
func asked(t *testing.T, progress Progress, each func(name string, ask func() error)) {
	cluster := world(t)
	pods := []*Pod{newTestPod(t, cluster, "p0", 1), newTestPod(t, cluster, "p1", 1)}
	nodes := []NodeID{node(t, cluster, "a"), node(t, cluster, "b")}
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	fork := closing(t, must(snapshot.Fork())(t))
	ctx := context.Background() // without an end: the call makes its own token
	closed := func(result interface{ Close() error }, err error) error { return errors.Join(err, result.Close()) }
	each("MaxReplicas", func() error {
		return closed(snapshot.MaxReplicas(ctx, pods, &MaxReplicasOptions{Progress: progress}))
	})
	each("MaxReplicas in a fork", func() error {
		return closed(fork.MaxReplicas(t.Context(), pods, &MaxReplicasOptions{Progress: progress}))
	})
	each("ScaleUp", func() error {
		return closed(snapshot.ScaleUp(ctx, pods, []Shape{{CopyOf: nodes[0]}}, &ScaleUpOptions{Progress: progress}))
	})
	each("Drain", func() error { return closed(snapshot.Drain(ctx, nodes, &DrainOptions{Progress: progress})) })
	each("Schedule", func() error {
		return closed(fork.Schedule(ctx, pods, &ScheduleOptions{AsMoved: true, Progress: progress}))
	})
}

func TestProgressIsToldAndEndsWithAll(t *testing.T) {
	var calls int
	var last [2]uint64
	progress := func(done, total uint64) {
		if done < last[0] {
			t.Errorf("%d after %d", done, last[0])
		}
		calls++
		last = [2]uint64{done, total}
	}
	asked(t, progress, func(name string, ask func() error) {
		calls, last = 0, [2]uint64{}
		ok(t, ask())
		if calls == 0 || last[0] != last[1] || last[1] == 0 {
			t.Errorf("%s: %d calls, the last one %v", name, calls, last)
		}
	})
}

func TestAPanicOfProgressGoesOnBehindTheCall(t *testing.T) {
	asked(t, func(done, total uint64) { panic("stop") }, func(name string, ask func() error) {
		defer func() {
			if found := recover(); found != "stop" {
				t.Errorf("%s: %v", name, found)
			}
		}()
		t.Errorf("%s: %v", name, ask())
	})
}

func TestProgressDoesNotAskItsEngine(t *testing.T) {
	cluster := world(t)
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	var found error
	progress := func(done, total uint64) { _, found = cluster.Version() }
	result := must(snapshot.MaxReplicas(t.Context(), []*Pod{newTestPod(t, cluster, "p", 1)}, &MaxReplicasOptions{Progress: progress}))(t)
	ok(t, result.Close())
	if !errors.Is(found, Reentry) {
		t.Errorf("%v", found)
	}
}
