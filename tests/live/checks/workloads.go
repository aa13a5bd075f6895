// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"time"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (t *T) patchStatus(pod, patch string) {
	_, err := t.Client.CoreV1().Pods(t.Namespace).Patch(t.Context, pod, types.StrategicMergePatchType, []byte(patch), meta.PatchOptions{}, "status")
	t.must(err)
}

// second is the same check in another namespace with these labels, which is emptied afterwards.
func (t *T) second(labels string) *T {
	other := *t
	other.Namespace += "-other"
	namespace := core.Namespace{}
	t.read("metadata: {labels: {"+labels+"}}", &namespace)
	namespace.Name = other.Namespace
	_, err := t.Client.CoreV1().Namespaces().Create(t.Context, &namespace, meta.CreateOptions{})
	t.must(err)
	t.cleanups = append(t.cleanups, func() { _ = t.guarded(other.emptyPods) })
	return &other
}

func (t *T) emptyPods() {
	zero := int64(0)
	t.must(t.Client.CoreV1().Pods(t.Namespace).DeleteCollection(t.Context, meta.DeleteOptions{GracePeriodSeconds: &zero}, meta.ListOptions{}))
}

// deployment creates a Deployment whose pods have the label app=NAME.
func (t *T) deployment(name string, replicas int32, spec string) {
	deployment := apps.Deployment{}
	t.read(`{metadata: {name: `+name+`}, spec: {selector: {matchLabels: {app: `+name+`}}, template: {metadata: {labels: {app: `+name+
		`}}, spec: {terminationGracePeriodSeconds: 0, `+spec+`}}}}`, &deployment)
	deployment.Spec.Replicas = &replicas
	if t.changed {
		time.Sleep(150 * time.Millisecond)
		t.changed = false
	}
	_, err := t.Client.AppsV1().Deployments(t.Namespace).Create(t.Context, &deployment, meta.CreateOptions{})
	t.must(err)
}

func (t *T) scale(name string, replicas int32) {
	_, err := t.Client.AppsV1().Deployments(t.Namespace).Patch(t.Context, name, types.MergePatchType,
		[]byte(fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)), meta.PatchOptions{})
	t.must(err)
}

// boundPods waits until exactly `count` pods with the label live and all of them have nodes.
func (t *T) boundPods(selector string, count int) []core.Pod {
	var bound []core.Pod
	t.eventually(30*time.Second, func() string {
		list, err := t.Client.CoreV1().Pods(t.Namespace).List(t.Context, meta.ListOptions{LabelSelector: selector})
		t.must(err)
		bound = bound[:0]
		live := 0
		for _, pod := range list.Items {
			if pod.DeletionTimestamp != nil || pod.Status.Phase == core.PodSucceeded || pod.Status.Phase == core.PodFailed {
				continue
			}
			live++
			if pod.Spec.NodeName != "" {
				bound = append(bound, pod)
			}
		}
		if live != count || len(bound) != count {
			return fmt.Sprintf("%d pods %s live and %d are bound, not %d", live, selector, len(bound), count)
		}
		return ""
	})
	return bound
}

var workloadChecks = []Check{
	{"L-090", "A Deployment is scaled up and down by the real controllers, and its pods become ready", func(t *T) {
		t.shared()
		t.nodes("a", "b", "c")
		t.deployment("web", 5, requests("cpu: 500m"))
		t.boundPods("app=web", 5)
		t.scale("web", 20)
		t.boundPods("app=web", 20)
		t.eventually(20*time.Second, func() string {
			deployment, err := t.Client.AppsV1().Deployments(t.Namespace).Get(t.Context, "web", meta.GetOptions{})
			t.must(err)
			if deployment.Status.ReadyReplicas != 20 {
				return fmt.Sprintf("%d of 20 replicas are ready", deployment.Status.ReadyReplicas)
			}
			return ""
		})
		t.scale("web", 3)
		t.boundPods("app=web", 3)
	}},
	{"L-091", "A Deployment larger than the cluster: what fits is bound, the rest follows when a node comes", func(t *T) {
		t.shared()
		t.nodes("a")
		t.deployment("web", 8, requests("cpu: 1"))
		t.eventually(bindLimit, func() string {
			list, err := t.Client.CoreV1().Pods(t.Namespace).List(t.Context, meta.ListOptions{})
			t.must(err)
			bound, refused := 0, 0
			for i := range list.Items {
				if list.Items[i].Spec.NodeName != "" {
					bound++
				} else if condition(&list.Items[i]).Reason == "Unschedulable" {
					refused++
				}
			}
			if bound != 4 || refused != 4 {
				return fmt.Sprintf("%d bound, %d refused", bound, refused)
			}
			return ""
		})
		t.nodes("b")
		t.boundPods("app=web", 8)
	}},
	{"L-092", "A rollout replaces every pod of a Deployment on nodes that are nearly full", func(t *T) {
		t.shared()
		t.nodes("a", "b")
		t.deployment("web", 7, requests("cpu: 1"))
		t.boundPods("app=web", 7)
		_, err := t.Client.AppsV1().Deployments(t.Namespace).Patch(t.Context, "web", types.StrategicMergePatchType,
			[]byte(`{"spec":{"template":{"metadata":{"labels":{"version":"2"}}}}}`), meta.PatchOptions{})
		t.must(err)
		t.boundPods("app=web,version=2", 7)
		t.boundPods("app=web", 7)
	}},
	{"L-093", "A Job's pods are bound, finish and make room for the next", func(t *T) {
		t.shared()
		t.node("a", `status: {allocatable: {pods: "3"}}`)
		job := batch.Job{}
		t.read(`{metadata: {name: job}, spec: {completions: 6, parallelism: 6, template: {metadata: {labels: {app: job}}, spec: {restartPolicy: Never, containers: [{name: c, image: pause}]}}}}`, &job)
		_, err := t.Client.BatchV1().Jobs(t.Namespace).Create(t.Context, &job, meta.CreateOptions{})
		t.must(err)
		t.eventually(40*time.Second, func() string {
			list, err := t.Client.CoreV1().Pods(t.Namespace).List(t.Context, meta.ListOptions{LabelSelector: "app=job"})
			t.must(err)
			done := 0
			for _, pod := range list.Items {
				if pod.Status.Phase == core.PodRunning {
					t.patchStatus(pod.Name, `{"status":{"phase":"Succeeded"}}`)
				}
				if pod.Status.Phase == core.PodSucceeded {
					done++
				}
			}
			if done < 6 {
				return fmt.Sprintf("%d of 6 pods finished", done)
			}
			return ""
		})
	}},
	{"L-094", "Five hundred pods on fifty nodes at once: all bound, none twice, one Scheduled event each", func(t *T) {
		t.shared()
		for i := range 50 {
			t.node(fmt.Sprint("n", i), `status: {allocatable: {cpu: "16", memory: 64Gi}}`)
		}
		t.deployment("web", 500, requests("cpu: 1, memory: 1Gi"))
		t.boundPods("app=web", 500)
		t.eventually(20*time.Second, func() string {
			if missing := t.Observer.WithoutEvent(); len(missing) > 0 {
				return fmt.Sprint(len(missing), " pods have no Scheduled event")
			}
			return ""
		})
	}},
}
