// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// What the binding leaves out of berth.h, and why.
var leftOut = map[string]string{
	"berth_cancel_is_triggered":   "a context says it",
	"berth_cancel_reset":          "a token lives as long as its call",
	"berth_cluster_upsert":        "berth_cluster_upsert_until() is the same with a context",
	"berth_cluster_upsert_bulk":   "berth_cluster_upsert_bulk_until() is the same with a context",
	"berth_cluster_replace":       "berth_cluster_replace_until() is the same with a context",
	"berth_pod_create_bulk":       "berth_pod_create_bulk_until() is the same with a context",
	"berth_snapshot_write":        "berth_snapshot_write_until() is the same with a context",
	"berth_snapshot_write_memory": "berth_snapshot_write_memory_until() is the same with a context",
	"berth_snapshot_open":         "berth_snapshot_open_until() is the same with a context",
	"berth_snapshot_open_memory":  "berth_snapshot_open_memory_until() is the same with a context",
	"berth_snapshot_check_bulk":   "berth_snapshot_check_bulk_until() is the same with a context",
	"berth_fork_check_bulk":       "the same of forks",
	"berth_snapshot_explain":      "berth_snapshot_explain_until() is the same with a context",
	"berth_fork_explain":          "the same of forks",
	"berth_snapshot_preempt":      "berth_snapshot_preempt_until() is the same with a context",
	"berth_fork_preempt":          "the same of forks",
	"berth_result_arrow":          "columns are slices",
	"berth_result_dlpack":         "columns are slices",
}

func TestEveryVerbOfTheHeaderIsBound(t *testing.T) {
	header, err := os.ReadFile("../include/berth/berth.h")
	ok(t, err)
	files, err := filepath.Glob("*.go")
	ok(t, err)
	var source strings.Builder
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			text, err := os.ReadFile(file)
			ok(t, err)
			source.Write(text)
		}
	}
	bound := 0
	for _, match := range regexp.MustCompile(`BERTH_API [^;(]*?(berth_\w+)\(`).FindAllStringSubmatch(string(header), -1) {
		called := regexp.MustCompile(`\b` + match[1] + `\b`).MatchString(source.String())
		_, out := leftOut[match[1]]
		if called == out {
			t.Errorf("%s: bound %v, left out %v", match[1], called, out)
		}
		bound++
	}
	if bound < 70 {
		t.Errorf("%d functions were found in the header", bound)
	}
}

func TestManyGoroutinesReadOneSnapshotWhileTheClusterChanges(t *testing.T) {
	cluster := world(t)
	pod := newTestPod(t, cluster, "p", 3)
	a := node(t, cluster, "a")
	snapshot := closing(t, must(cluster.NewSnapshot())(t))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 300 {
				if !must(snapshot.Check(pod, a, nil))(t) {
					t.Error("the snapshot has changed")
					return
				}
				r := must(snapshot.CheckBulk(t.Context(), []*Pod{pod, pod}, nil))(t)
				if reason := must(r.Reasons.At(2))(t); !strings.Contains(reason, "Insufficient cpu") {
					t.Errorf("%q", reason)
				}
				ok(t, r.Close())
			}
		})
	}
	group.Go(func() {
		for i := range 100 {
			ok(t, cluster.Upsert(podText("q", 1+i%3, "a")))
			ok(t, cluster.Delete(Object{Kind: "Pod", UID: "uid-q"}))
		}
	})
	group.Wait()
}
