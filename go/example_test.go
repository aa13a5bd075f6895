// SPDX-License-Identifier: Apache-2.0

package berth_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	berth "berth.dev/go"
)

const nodes = `
apiVersion: v1
kind: Node
metadata: {name: a, labels: {zone: north}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: b, labels: {zone: south}}
status: {allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}
`

func podOf(name, cpu string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"default","uid":%q},
"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":%q}}}]}}`, name, name, cpu)
}

// open is a cluster of the nodes.
func open() *berth.Cluster {
	engine, err := berth.NewEngine(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close() // the cluster keeps what it needs
	cluster, err := engine.NewCluster()
	if err != nil {
		log.Fatal(err)
	}
	if err := cluster.Upsert([]byte(nodes)); err != nil {
		log.Fatal(err)
	}
	return cluster
}

func Example() {
	cluster := open()
	defer cluster.Close()
	pod, err := cluster.NewPod(podOf("web", "5"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pod.Close()
	snapshot, err := cluster.NewSnapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	checks, err := snapshot.CheckBulk(context.Background(), []*berth.Pod{pod}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer checks.Close() // its columns are valid until then
	for i, node := range checks.Nodes {
		name, _ := cluster.NodeName(node)
		reasons, _ := checks.Reasons.At(i)
		fmt.Println(name, checks.Fits[i], reasons)
	}
	// Output:
	// a false Insufficient cpu
	// b true
}

func ExampleFork() {
	cluster := open()
	defer cluster.Close()
	var pods []*berth.Pod
	for _, name := range []string{"p", "q", "r"} {
		pod, err := cluster.NewPod(podOf(name, "4"), nil)
		if err != nil {
			log.Fatal(err)
		}
		defer pod.Close()
		pods = append(pods, pod)
	}
	snapshot, err := cluster.NewSnapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	fork, err := snapshot.Fork()
	if err != nil {
		log.Fatal(err)
	}
	defer fork.Close()
	placed, err := fork.Schedule(context.Background(), pods, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer placed.Close()
	fmt.Println(placed.Fits)
	if _, err := fork.Commit(); err != nil { // they are assumed in the cluster now
		log.Fatal(err)
	}
	fmt.Println(errors.Is(cluster.Assume(pods[0], placed.Nodes[0]), berth.Exists))
	// Output:
	// [true true true]
	// true
}

// try places a pod in the fork, and tells the queue how that ended.
func try(pod *berth.Pod, fork *berth.Fork, queue *berth.Queue) error {
	options := &berth.ScheduleOptions{Rejectors: true}
	answer, err := fork.Schedule(context.Background(), []*berth.Pod{pod}, options)
	if err != nil {
		return err
	}
	defer answer.Close()
	if !answer.Fits[0] {
		rejectors, _ := answer.Rejectors.At(0)
		pending, _ := answer.PendingRejectors.At(0)
		return queue.Fail(pod, rejectors, pending)
	}
	if err := queue.Done(pod); err != nil {
		return err
	}
	uid, _ := pod.UID()
	return queue.PodCame(fork, uid) // others may have waited for it
}

func ExampleQueue() {
	cluster := open()
	defer cluster.Close()
	snapshot, err := cluster.NewSnapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	fork, err := snapshot.Fork()
	if err != nil {
		log.Fatal(err)
	}
	defer fork.Close()
	queue, err := cluster.NewQueue(nil) // its clock begins at 0
	if err != nil {
		log.Fatal(err)
	}
	defer queue.Close()
	for _, cpu := range []string{"5", "16"} {
		pod, err := cluster.NewPod(podOf("web-"+cpu, cpu), nil)
		if err != nil {
			log.Fatal(err)
		}
		defer pod.Close()
		if err := queue.Add(pod); err != nil {
			log.Fatal(err)
		}
	}
	for {
		pod, err := queue.Pop()
		if err != nil {
			log.Fatal(err)
		}
		if pod == nil {
			break // none is ready
		}
		if err := try(pod, fork, queue); err != nil {
			log.Fatal(err)
		}
	}
	waiting, err := queue.Size(berth.QueueUnschedulable)
	fmt.Println(waiting, err)
	// Output:
	// 1 <nil>
}

func ExampleError() {
	cluster := open()
	defer cluster.Close()
	err := cluster.Upsert([]byte(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{"cpu":"-1"}}}`))
	var e *berth.Error
	if errors.As(err, &e) {
		fmt.Println(e.Call, e.Status.String(), e.Object)
	}
	fmt.Println(errors.Is(err, berth.Input), errors.Is(err, berth.NotFound))
	cluster.Close()
	_, err = cluster.Version()
	fmt.Println(errors.Is(err, berth.ErrClosed))
	// Output:
	// Cluster.Upsert BERTH_E_INPUT Node n
	// true false
	// true
}

func ExampleSnapshot_MaxReplicas() {
	cluster := open()
	defer cluster.Close()
	pod, err := cluster.NewPod(podOf("web", "2"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pod.Close()
	snapshot, err := cluster.NewSnapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	// What was answered when a context ends is exact: the result comes together with the error.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	counts, err := snapshot.MaxReplicas(ctx, []*berth.Pod{pod}, &berth.MaxReplicasOptions{Keys: []string{"zone"}})
	defer counts.Close()
	if err != nil {
		log.Fatal(err)
	}
	for i := range counts.Values.Len() {
		zone, _ := counts.Values.At(i)
		fmt.Println(zone, counts.CountOfValue[i])
	}
	fmt.Println("all", counts.Counts[0])
	// Output:
	// north 2
	// south 4
	// all 6
}

func ExampleSnapshot_Drain() {
	cluster := open()
	defer cluster.Close()
	if err := cluster.Upsert([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"default","uid":"web",
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"r","controller":true}]},
"spec":{"nodeName":"a","containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}}]}}`)); err != nil {
		log.Fatal(err)
	}
	snapshot, err := cluster.NewSnapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	a, err := cluster.FindNode("a")
	if err != nil {
		log.Fatal(err)
	}
	drain, err := snapshot.Drain(context.Background(), []berth.NodeID{a}, &berth.DrainOptions{Preset: berth.ClusterAutoscaler})
	if err != nil {
		log.Fatal(err)
	}
	defer drain.Close()
	for i, target := range drain.Targets {
		pod, _ := drain.Pods.At(i)
		to, _ := cluster.NodeName(target)
		fmt.Println(drain.Removable[0], pod, to)
	}
	// Output:
	// true web b
}
