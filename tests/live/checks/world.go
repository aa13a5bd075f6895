// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	policy "k8s.io/api/policy/v1"
	scheduling "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// bindLimit is how long a pod that fits may stay pending.
const bindLimit = 15 * time.Second

func (t *T) read(text string, into any) {
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.fail("the check's own YAML: %v: %s", err, text)
	}
}

// node creates a Ready node of 4 cores, 8 GiB and 110 pods. The YAML of a Node changes what it names.
func (t *T) node(name, text string) {
	node := core.Node{}
	t.read(`{status: {conditions: [{type: Ready, status: "True", reason: KubeletReady}],
		allocatable: {cpu: "4", memory: 8Gi, pods: "110", ephemeral-storage: 10Gi}}}`, &node)
	t.read(text, &node)
	node.Name = name
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels["kubernetes.io/hostname"] = name
	node.Status.Capacity = node.Status.Allocatable.DeepCopy()
	node.Status.Conditions[0].LastHeartbeatTime = meta.Now()
	node.Status.Conditions[0].LastTransitionTime = meta.Now()
	_, err := t.Client.CoreV1().Nodes().Create(t.Context, &node, meta.CreateOptions{})
	t.must(err)
	t.changed = true
}

// nodes creates several nodes with nothing special.
func (t *T) nodes(names ...string) {
	for _, name := range names {
		t.node(name, "{}")
	}
}

func (t *T) patchNode(name, patch string) {
	json, err := yaml.YAMLToJSON([]byte(patch))
	t.must(err)
	_, err = t.Client.CoreV1().Nodes().Patch(t.Context, name, types.StrategicMergePatchType, json, meta.PatchOptions{})
	t.must(err)
	t.changed = true
}

// requests is the YAML of one container that requests this much.
func requests(text string) string {
	return `containers: [{name: c, image: pause, resources: {requests: {` + text + `}}}]`
}

// pod creates a pod; the YAML is of its spec's fields, labels are key=value.
func (t *T) pod(name, spec string, labels ...string) *core.Pod {
	return t.podAs(name, "", spec, labels...)
}

// podAs creates a pod whose metadata the YAML changes as well.
func (t *T) podAs(name, metadata, spec string, labels ...string) *core.Pod {
	pod := core.Pod{}
	t.read(`{spec: {containers: [{name: c, image: pause}], terminationGracePeriodSeconds: 0}}`, &pod)
	t.read(`{metadata: {`+metadata+`}, spec: {`+spec+`}}`, &pod)
	pod.Name, pod.Namespace = name, t.Namespace
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		if pod.Labels == nil {
			pod.Labels = map[string]string{}
		}
		pod.Labels[key] = value
	}
	if t.changed {
		time.Sleep(150 * time.Millisecond) // nodes and pods come on different watches
		t.changed = false
	}
	created, err := t.Client.CoreV1().Pods(t.Namespace).Create(t.Context, &pod, meta.CreateOptions{})
	t.must(err)
	return created
}

func (t *T) get(name string) *core.Pod {
	pod, err := t.Client.CoreV1().Pods(t.Namespace).Get(t.Context, name, meta.GetOptions{})
	t.must(err)
	return pod
}

// bound waits until the pod has a node and gives its name.
func (t *T) bound(name string) string { return t.boundWithin(name, bindLimit) }

func (t *T) boundWithin(name string, limit time.Duration) string {
	node := ""
	t.eventually(limit, func() string {
		pod, err := t.Client.CoreV1().Pods(t.Namespace).Get(t.Context, name, meta.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if node = pod.Spec.NodeName; node == "" {
			return fmt.Sprintf("pod %s is not bound: %s", name, condition(pod).Message)
		}
		return ""
	})
	return node
}

func (t *T) boundTo(name, node string) {
	if at := t.bound(name); at != node {
		t.fail("pod %s is bound to %s, not %s", name, at, node)
	}
}

func condition(pod *core.Pod) core.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == core.PodScheduled {
			return c
		}
	}
	return core.PodCondition{}
}

// refused waits for the PodScheduled condition with this message and a FailedScheduling event with the same note.
func (t *T) refused(name, message string) { t.refusedFor(name, "Unschedulable", message) }

func (t *T) refusedFor(name, reason, message string) {
	var pod *core.Pod
	t.eventually(bindLimit, func() string {
		pod = t.get(name)
		if c := condition(pod); c.Status != core.ConditionFalse || c.Reason != reason || c.Message != message {
			return fmt.Sprintf("pod %s: condition %s %s %q, not %s %q", name, c.Status, c.Reason, c.Message, reason, message)
		}
		return ""
	})
	if pod.Spec.NodeName != "" {
		t.fail("pod %s is bound to %s", name, pod.Spec.NodeName)
	}
	if c := condition(pod); c.ObservedGeneration != pod.Generation {
		t.fail("pod %s: the condition observed generation %d of %d", name, c.ObservedGeneration, pod.Generation)
	}
	t.event(pod, "FailedScheduling", message)
}

// event waits for an event about the pod with this reason and note, written by the pod's scheduler.
func (t *T) event(pod *core.Pod, reason, note string) {
	t.eventually(bindLimit, func() string {
		var notes []string
		for _, event := range t.events(pod.Name) {
			if event.Reason != reason || event.Regarding.UID != pod.UID {
				continue
			}
			if event.Note == note {
				if event.ReportingController != pod.Spec.SchedulerName ||
					!strings.HasPrefix(event.ReportingInstance, pod.Spec.SchedulerName+"-") || event.EventTime.IsZero() {
					t.fail("event %s of %s: reported by %q, %q at %v", reason, pod.Name, event.ReportingController,
						event.ReportingInstance, event.EventTime)
				}
				if event.Regarding.ResourceVersion == "" {
					t.fail("event %s of %s regards no version of the pod", reason, pod.Name)
				}
				return ""
			}
			notes = append(notes, event.Note)
		}
		return fmt.Sprintf("pod %s has no event %s %q but %q", pod.Name, reason, note, notes)
	})
}

func (t *T) events(pod string) []events.Event {
	list, err := t.Client.EventsV1().Events(t.Namespace).List(t.Context, meta.ListOptions{})
	t.must(err)
	var found []events.Event
	for _, event := range list.Items {
		if event.Regarding.Kind == "Pod" && event.Regarding.Name == pod {
			found = append(found, event)
		}
	}
	return found
}

// unbound fails when the pod gets a node within this time.
func (t *T) unbound(name string, while time.Duration) {
	for end := time.Now().Add(while); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if node := t.get(name).Spec.NodeName; node != "" {
			t.fail("pod %s is bound to %s", name, node)
		}
	}
}

func (t *T) deletePod(name string) {
	t.must(t.Client.CoreV1().Pods(t.Namespace).Delete(t.Context, name, meta.DeleteOptions{}))
}

func (t *T) gone(name string) {
	t.eventually(bindLimit, func() string {
		pod, err := t.Client.CoreV1().Pods(t.Namespace).Get(t.Context, name, meta.GetOptions{})
		if errors.IsNotFound(err) {
			return ""
		}
		if err != nil {
			return err.Error()
		}
		if pod.DeletionTimestamp == nil {
			return fmt.Sprintf("pod %s is not even being deleted", name)
		}
		return fmt.Sprintf("pod %s is being deleted since %v", name, pod.DeletionTimestamp)
	})
}

func (t *T) patchPod(name, patch string) {
	json, err := yaml.YAMLToJSON([]byte(patch))
	t.must(err)
	_, err = t.Client.CoreV1().Pods(t.Namespace).Patch(t.Context, name, types.StrategicMergePatchType, json, meta.PatchOptions{})
	t.must(err)
}

// priority creates a PriorityClass of this check.
func (t *T) priority(name string, value int32, preempts bool) {
	policy := core.PreemptLowerPriority
	if !preempts {
		policy = core.PreemptNever
	}
	_, err := t.Client.SchedulingV1().PriorityClasses().Create(t.Context, &scheduling.PriorityClass{
		ObjectMeta: meta.ObjectMeta{Name: name}, Value: value, PreemptionPolicy: &policy}, meta.CreateOptions{})
	t.must(err)
}

// budget creates a PodDisruptionBudget over app=APP and waits until its controller has counted.
func (t *T) budget(name, app string, available int, allowed int32) {
	min := intstr.FromInt32(int32(available))
	_, err := t.Client.PolicyV1().PodDisruptionBudgets(t.Namespace).Create(t.Context, &policy.PodDisruptionBudget{
		ObjectMeta: meta.ObjectMeta{Name: name},
		Spec: policy.PodDisruptionBudgetSpec{MinAvailable: &min,
			Selector: &meta.LabelSelector{MatchLabels: map[string]string{"app": app}}}}, meta.CreateOptions{})
	t.must(err)
	t.eventually(20*time.Second, func() string {
		budget, err := t.Client.PolicyV1().PodDisruptionBudgets(t.Namespace).Get(t.Context, name, meta.GetOptions{})
		t.must(err)
		if budget.Status.ObservedGeneration == 0 || budget.Status.DisruptionsAllowed != allowed ||
			budget.Status.CurrentHealthy < int32(available) {
			return fmt.Sprintf("budget %s allows %d disruptions with %d healthy pods, not %d", name,
				budget.Status.DisruptionsAllowed, budget.Status.CurrentHealthy, allowed)
		}
		return ""
	})
}

// empty removes what checks create, and waits until nodes, pods and volumes are gone.
func (t *T) empty() {
	ctx, all, zero := context.WithoutCancel(t.Context), meta.ListOptions{}, int64(0)
	background := meta.DeletePropagationBackground
	now := meta.DeleteOptions{GracePeriodSeconds: &zero, PropagationPolicy: &background}
	c := t.Client
	must := func(err error) {
		if err != nil && !errors.IsNotFound(err) {
			t.fail("%v", err)
		}
	}
	must(c.AppsV1().Deployments(t.Namespace).DeleteCollection(ctx, now, all))
	must(c.AppsV1().ReplicaSets(t.Namespace).DeleteCollection(ctx, now, all))
	must(c.AppsV1().StatefulSets(t.Namespace).DeleteCollection(ctx, now, all))
	must(c.BatchV1().Jobs(t.Namespace).DeleteCollection(ctx, now, all))
	must(c.PolicyV1().PodDisruptionBudgets(t.Namespace).DeleteCollection(ctx, now, all))
	must(c.CoreV1().Pods(t.Namespace).DeleteCollection(ctx, now, all))
	must(c.CoreV1().PersistentVolumeClaims(t.Namespace).DeleteCollection(ctx, now, all))
	must(c.CoreV1().PersistentVolumes().DeleteCollection(ctx, now, all))
	must(c.StorageV1().StorageClasses().DeleteCollection(ctx, now, all))
	must(c.StorageV1().CSINodes().DeleteCollection(ctx, now, all))
	must(c.StorageV1().CSIDrivers().DeleteCollection(ctx, now, all))
	must(c.CoreV1().Nodes().DeleteCollection(ctx, now, all))
	classes, err := c.SchedulingV1().PriorityClasses().List(ctx, all)
	must(err)
	for _, class := range classes.Items {
		if !strings.HasPrefix(class.Name, "system-") {
			must(c.SchedulingV1().PriorityClasses().Delete(ctx, class.Name, now))
		}
	}
	t.eventually(20*time.Second, func() string {
		pods, err := c.CoreV1().Pods(t.Namespace).List(ctx, all)
		must(err)
		for _, pod := range pods.Items {
			if len(pod.Finalizers) > 0 {
				_, _ = c.CoreV1().Pods(t.Namespace).Patch(ctx, pod.Name, types.MergePatchType,
					[]byte(`{"metadata":{"finalizers":null}}`), meta.PatchOptions{})
			}
			must(c.CoreV1().Pods(t.Namespace).Delete(ctx, pod.Name, now))
		}
		nodes, err := c.CoreV1().Nodes().List(ctx, all)
		must(err)
		claims, err := c.CoreV1().PersistentVolumeClaims(t.Namespace).List(ctx, all)
		must(err)
		volumes, err := c.CoreV1().PersistentVolumes().List(ctx, all)
		must(err)
		for _, volume := range volumes.Items { // made by the stand-in after the first round
			_ = c.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, now)
		}
		if left := len(pods.Items) + len(nodes.Items) + len(claims.Items) + len(volumes.Items); left > 0 {
			return fmt.Sprintf("%d objects are left", left)
		}
		return ""
	})
}
