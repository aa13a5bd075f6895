// SPDX-License-Identifier: Apache-2.0

// Package bench measures schedulers against one API server, beside a client that does the same calls and decides nothing.
package bench

import (
	"context"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// atOnce is how many calls the clients have in flight.
const atOnce = 64

// Client binds every pending pod to the next node until the context ends, and with `record` writes its Scheduled event. It
// holds a watch of pods as a scheduler does: nothing with fewer calls can do a scheduler's work.
func Client(ctx context.Context, kubeconfig string, record bool) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = config.ContentType + ",application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, meta.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	pending := make(chan *core.Pod, 1<<20)
	factory := informers.NewSharedInformerFactory(client, 0)
	_, err = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		if pod := object.(*core.Pod); pod.Spec.NodeName == "" {
			pending <- pod
		}
	}})
	if err != nil {
		return err
	}
	failed := make(chan error, atOnce)
	for worker := range atOnce {
		go func() {
			for i := worker; ; i += atOnce {
				pod := <-pending
				if err := bind(ctx, client, pod, nodes.Items[i%len(nodes.Items)].Name, record); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	factory.Start(ctx.Done())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

func bind(ctx context.Context, client *kubernetes.Clientset, pod *core.Pod, node string, record bool) error {
	err := client.CoreV1().Pods(pod.Namespace).Bind(ctx, &core.Binding{
		ObjectMeta: meta.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     core.ObjectReference{Kind: "Node", Name: node}}, meta.CreateOptions{})
	if err != nil || !record {
		return err
	}
	now := meta.NowMicro()
	_, err = client.EventsV1().Events(pod.Namespace).Create(ctx, &events.Event{
		ObjectMeta: meta.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprintf("%s.%x", pod.Name, time.Now().UnixNano())},
		EventTime:  now, ReportingController: "default-scheduler", ReportingInstance: "default-scheduler-yardstick",
		Action: "Binding", Reason: "Scheduled", Type: "Normal",
		Regarding: core.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
			ResourceVersion: pod.ResourceVersion},
		Note: fmt.Sprintf("Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, node)}, meta.CreateOptions{})
	return err
}
