// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"fmt"
	"testing"
)

// What a call costs through Go. BenchmarkCall is the binding alone: the library looks at a number. BenchmarkColumns is
// a result with all its columns, of one pod and one node.
func benched(b *testing.B) (*Cluster, *Snapshot, *Pod, NodeID) {
	cluster := world(b)
	pod := newTestPod(b, cluster, "p", 1)
	snapshot := closing(b, must(cluster.NewSnapshot())(b))
	return cluster, snapshot, pod, node(b, cluster, "a")
}

func BenchmarkCall(b *testing.B) {
	_, snapshot, _, _ := benched(b)
	for b.Loop() {
		if _, err := snapshot.Version(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	_, snapshot, pod, a := benched(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := snapshot.Check(pod, a, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkColumns(b *testing.B) {
	_, snapshot, pod, a := benched(b)
	b.ReportAllocs()
	for b.Loop() {
		r, err := snapshot.Verdict(pod, a, nil)
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

func BenchmarkForkScheduleAndClose(b *testing.B) {
	_, snapshot, pod, _ := benched(b)
	pods := []*Pod{pod}
	b.ReportAllocs()
	for b.Loop() {
		fork, err := snapshot.Fork()
		if err != nil {
			b.Fatal(err)
		}
		r, err := fork.Schedule(b.Context(), pods, nil)
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
		fork.Close()
	}
}

func BenchmarkUpsertPod(b *testing.B) {
	cluster, _, _, _ := benched(b)
	i := 0
	for b.Loop() {
		i++
		if err := cluster.Upsert(podText(fmt.Sprintf("b%d", i%8), 1, "a")); err != nil {
			b.Fatal(err)
		}
	}
}
