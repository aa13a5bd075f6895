// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"berth.dev/tests/live/cluster"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// coldAim is how long Berth may take until it is ready.
const coldAim = 10 * time.Second

// Cold measures how long schedulers take from their start to /readyz, in a cluster where every pod already has a node. All
// are started against the same control plane, one after the other.
func Cold(ctx context.Context, o Options) (rows, short int, err error) {
	bin := filepath.Join(o.Build, "bin")
	control, err := cluster.New(cluster.Options{Folder: o.Folder, Bin: bin, APIServer: filepath.Join(bin, "kube-apiserver")})
	if err != nil {
		return 0, 0, err
	}
	defer control.Stop()
	if err := control.Start(ctx); err != nil {
		return 0, 0, err
	}
	client, err := control.Client(true)
	if err != nil {
		return 0, 0, err
	}
	if err := createNodes(ctx, client, o.Nodes); err != nil {
		return 0, 0, err
	}
	err = each(o.Pods, func(i int) error {
		assigned := pod("basic", i)
		assigned.Spec.NodeName = fmt.Sprintf("node-%05d", i%o.Nodes)
		assigned.Status.Phase = core.PodRunning
		_, err := client.CoreV1().Pods(namespace).Create(ctx, assigned, meta.CreateOptions{})
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	fmt.Printf("cold start with %d nodes and %d pods that have nodes\n", o.Nodes, o.Pods)
	if err := lists(ctx, control); err != nil {
		return 0, 0, err
	}
	fmt.Println("| candidate | s to /readyz | CPU s | memory MiB | API server CPU s |")
	fmt.Println("|---|---|---|---|---|")
	for _, candidate := range strings.Split(o.Candidates, ",") {
		options := cluster.SchedulerOptions{Name: candidate, Kubeconfig: control.Kubeconfig("scheduler"), QPS: qps}
		switch candidate {
		case "kube":
			options.Command = []string{filepath.Join(o.Build, "bin", "kube-scheduler")}
		case "berth":
			options.Command = []string{o.Berth, "scheduler"}
		case "berth-json":
			options.Command, options.Content = []string{o.Berth, "scheduler"}, "application/json"
		default: // the other clients have no /readyz
			continue
		}
		scheduler, err := control.NewScheduler(options)
		if err != nil {
			return rows, short, err
		}
		before, err := control.API.CPU()
		if err != nil {
			return rows, short, err
		}
		began := time.Now()
		if err := scheduler.Start(); err != nil {
			return rows, short, err
		}
		err = scheduler.WaitReady(ctx, 5*time.Minute)
		took := time.Since(began)
		cpu, _ := scheduler.CPU()
		after, _ := control.API.CPU()
		memory, _ := scheduler.Memory("VmHWM")
		scheduler.Kill()
		if err != nil {
			return rows, short, err
		}
		rows++
		fmt.Printf("| %s | %.1f | %.1f | %d | %.1f |\n", candidate, took.Seconds(), cpu.Seconds(), memory>>20,
			(after - before).Seconds())
		if candidate == "berth" && took > coldAim {
			short++
			fmt.Printf("short: cold start: %.1f s (%.0f s)\n", took.Seconds(), coldAim.Seconds())
		}
	}
	return rows, short, nil
}

// lists reads all nodes and all pods in one answer each, in both forms, and says what that costs the API server.
func lists(ctx context.Context, control *cluster.Cluster) error {
	fmt.Println("| list | form | MiB | API server CPU s |")
	fmt.Println("|---|---|---|---|")
	client, err := control.Client(true)
	if err != nil {
		return err
	}
	for _, resource := range []string{"nodes", "pods"} {
		for round := 0; round < 3; round++ {
			for _, form := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
				before, err := control.API.CPU()
				if err != nil {
					return err
				}
				body, err := client.CoreV1().RESTClient().Get().Resource(resource).Param("resourceVersion", "0").
					SetHeader("Accept", form).SetHeader("Accept-Encoding", "identity").Do(ctx).Raw()
				if err != nil {
					return err
				}
				after, err := control.API.CPU()
				if err != nil {
					return err
				}
				fmt.Printf("| %s | %s | %.1f | %.2f |\n", resource, form, float64(len(body))/(1<<20), (after - before).Seconds())
			}
		}
	}
	return nil
}
