// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

func TestALoadThatIsEndedChangesNothing(t *testing.T) {
	cluster := world(t)
	var pods Bulk
	for i := range 20000 {
		pods.Append(podText(fmt.Sprintf("load-%d", i), 1, "a"))
	}
	before := must(cluster.Version())(t)
	late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := cluster.UpsertBulkContext(late, &pods)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if after := must(cluster.Version())(t); after != before {
		t.Errorf("version %d became %d", before, after)
	}
	if made, err := cluster.NewPodsContext(late, &pods, nil); made != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d pods, %v", len(made), err)
	}
}

func TestLoadsWithAContextThatDoesNotEnd(t *testing.T) {
	ctx := t.Context()
	cluster := world(t)
	ok(t, cluster.UpsertContext(ctx, podText("one", 1, "a")))
	var pods Bulk
	pods.Append(podText("two", 1, "a"))
	ok(t, cluster.UpsertBulkContext(ctx, &pods))
	if statuses := must(cluster.UpsertEachContext(ctx, &pods))(t); len(statuses) != 1 || statuses[0] != OK {
		t.Errorf("%v", statuses)
	}
	ok(t, cluster.ReplaceContext(ctx, "Pod", podText("three", 1, "a")))
	for _, pod := range must(cluster.NewPodsContext(ctx, &pods, nil))(t) {
		ok(t, pod.Close())
	}
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	written := must(snapshot.BytesContext(ctx))(t)
	path := filepath.Join(t.TempDir(), "snapshot")
	ok(t, snapshot.WriteContext(ctx, path))
	engine := closing(t, must(NewEngine(nil))(t))
	version := must(cluster.Version())(t)
	for _, open := range []func() (*Cluster, *Snapshot, error){
		func() (*Cluster, *Snapshot, error) { return engine.OpenSnapshotBytesContext(ctx, written) },
		func() (*Cluster, *Snapshot, error) { return engine.OpenSnapshotContext(ctx, path) },
	} {
		opened, its, err := open()
		ok(t, err)
		if found := must(opened.Version())(t); found != version {
			t.Errorf("version %d, wanted %d", found, version)
		}
		ok(t, its.Close())
		ok(t, opened.Close())
	}
}
