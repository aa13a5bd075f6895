// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

const firstOfEqual = "apiVersion: berth.dev/v1alpha1\nkind: BerthEngineConfiguration\ntieBreak: first\n"

func nodeText(name, cpu, more string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"labels":{"kubernetes.io/hostname":%q,
"zone":"z-%s"}},%s"status":{"allocatable":{"cpu":%q,"memory":"8Gi","pods":"10"}}}`, name, name, name, more, cpu)
}

func podText(name string, cpus int, node string) []byte {
	bound := ""
	if node != "" {
		bound = fmt.Sprintf(`"nodeName":%q,`, node)
	}
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"default","uid":"uid-%s",
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"r","controller":true}]},
"spec":{%s"containers":[{"name":"c","resources":{"requests":{"cpu":"%d","memory":"1Gi"}}}]}}`, name, name, bound, cpus)
}

// must is a value, or the end of the test.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// closing closes at the end of the test.
func closing[T interface{ Close() error }](t testing.TB, handle T) T {
	t.Cleanup(func() { ok(t, handle.Close()) })
	return handle
}

// counted fails a test that leaves a handle.
func counted(t testing.TB) {
	t.Helper()
	before := fmt.Sprint(OpenHandles())
	t.Cleanup(func() {
		if after := fmt.Sprint(OpenHandles()); after != before {
			t.Errorf("open handles: %s before, %s after", before, after)
		}
	})
}

// world is a cluster of nodes a (4 cores), b (4, cordoned) and c (2).
func world(t testing.TB) *Cluster {
	t.Helper()
	counted(t)
	engine := must(NewEngine(&EngineOptions{EngineConfig: firstOfEqual, Threads: 2}))(t)
	defer engine.Close()
	cluster := closing(t, must(engine.NewCluster())(t))
	nodes := &Bulk{}
	nodes.Append(nodeText("a", "4", ""))
	nodes.Append(nodeText("b", "4", `"spec":{"unschedulable":true},`))
	nodes.Append(nodeText("c", "2", ""))
	ok(t, cluster.UpsertBulk(nodes))
	return cluster
}

func newTestPod(t testing.TB, cluster *Cluster, name string, cpus int) *Pod {
	t.Helper()
	return closing(t, must(cluster.NewPod(podText(name, cpus, ""), nil))(t))
}

func node(t testing.TB, cluster *Cluster, name string) NodeID {
	t.Helper()
	return must(cluster.FindNode(name))(t)
}

var leaks struct {
	sync.Mutex
	found []string
}

// Every handle that a test opens is closed at its end; what is not is told with the stack that made it.
// Benchmarks go without the stacks, which cost more than a call.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		ReportLeaks(func(kind, stack string) {
			leaks.Lock()
			defer leaks.Unlock()
			leaks.found = append(leaks.found, kind+" made by\n"+stack)
		})
	}
	status := m.Run()
	if open := OpenHandles(); len(open) > 0 && status == 0 {
		leaks.Lock()
		fmt.Fprintln(os.Stderr, "handles left open:", open, strings.Join(leaks.found, "\n"))
		status = 1
	}
	os.Exit(status)
}
