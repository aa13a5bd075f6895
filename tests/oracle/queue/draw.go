// SPDX-License-Identifier: Apache-2.0

//go:build berth_queue

package main

import (
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// renew gives a version of a pod a resourceVersion of its own.
func (h *history) renew(pod *v1.Pod) {
	h.created++
	pod.ResourceVersion = fmt.Sprint(h.created)
}

func (h *history) pick(from ...string) string { return from[h.random.Intn(len(from))] }

func (h *history) labels() map[string]string {
	labels := map[string]string{"app": h.pick("web", "db", "cache")}
	if h.oneIn(2) {
		labels["rev"] = h.pick("1", "2")
	}
	return labels
}

// drawPod makes a pod of a few parts, each of few values, so that pods meet.
func (h *history) drawPod(name string) *v1.Pod {
	h.created++
	pod := &v1.Pod{}
	pod.Name, pod.Namespace = name, h.pick("default", "default", "default", "other")
	pod.UID = types.UID(fmt.Sprintf("uid-%d", h.created))
	h.renew(pod)
	pod.Labels = h.labels()
	pod.Spec.SchedulerName = "default-scheduler"
	pod.Spec.Priority = ptr.To(int32(h.random.Intn(3)))
	pod.Spec.Containers = []v1.Container{{Name: "c", Image: "i"}}
	parts := []func(*v1.Pod){h.requests, h.requests, h.selector, h.affinity, h.ports, h.toleration, h.spread, h.spread, h.podAffinity,
		h.podAffinity, h.gates, h.nominated, h.restarts, h.volume, h.volume, h.volume, h.volume}
	for count := h.random.Intn(4); count > 0; count-- {
		parts[h.random.Intn(len(parts))](pod)
	}
	if len(h.models) > 0 && h.oneIn(2) {
		model := h.models[h.random.Intn(len(h.models))].DeepCopy()
		pod.Spec, pod.Labels = model.Spec, model.Labels
	}
	h.models = append(h.models, pod.DeepCopy())
	return pod
}

func (h *history) requests(pod *v1.Pod) {
	list := v1.ResourceList{}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, "example.com/gpu"} {
		if h.oneIn(2) {
			list[name] = resource.MustParse(h.pick("1", "2", "4"))
		}
	}
	pod.Spec.Containers[0].Resources.Requests = list
	pod.Spec.Containers[0].Resources.Limits = nil
}

func (h *history) selector(pod *v1.Pod) {
	pod.Spec.NodeSelector = map[string]string{"disk": h.pick("ssd", "hdd")}
}

func (h *history) affinity(pod *v1.Pod) {
	requirement := v1.NodeSelectorRequirement{Key: h.pick("disk", "zone"), Operator: v1.NodeSelectorOpIn, Values: []string{h.pick("ssd", "a")}}
	if h.oneIn(5) {
		requirement = v1.NodeSelectorRequirement{Key: "disk", Operator: v1.NodeSelectorOpGt, Values: []string{"x"}} // does not parse
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	pod.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{requirement}}}}}
}

func (h *history) ports(pod *v1.Pod) {
	port := v1.ContainerPort{HostPort: int32(80 + h.random.Intn(2)), ContainerPort: 80, Protocol: v1.ProtocolTCP}
	if h.oneIn(3) {
		port.HostIP = h.pick("10.0.0.1", "10.0.0.2")
	}
	pod.Spec.Containers[0].Ports = []v1.ContainerPort{port}
}

func (h *history) toleration(pod *v1.Pod) {
	toleration := v1.Toleration{Key: h.pick("a", "b", v1.TaintNodeUnschedulable, v1.TaintNodeUnschedulable), Operator: v1.TolerationOpExists}
	if h.oneIn(2) {
		toleration.Effect = v1.TaintEffect(h.pick("NoSchedule", "NoExecute"))
	}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
}

func (h *history) match() *metav1.LabelSelector {
	switch h.random.Intn(5) {
	case 0:
		return &metav1.LabelSelector{}
	case 1:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rev", Operator: metav1.LabelSelectorOpExists}}}
	default:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": h.pick("web", "db")}}
	}
}

func (h *history) spread(pod *v1.Pod) {
	constraint := v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: h.pick("zone", "rack"), WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: h.match()}
	if h.oneIn(4) {
		constraint.WhenUnsatisfiable = v1.ScheduleAnyway
	}
	if h.oneIn(2) {
		constraint.NodeTaintsPolicy = ptr.To(v1.NodeInclusionPolicyHonor)
	}
	if h.oneIn(3) {
		constraint.MatchLabelKeys = []string{"rev"}
	}
	pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, constraint)
}

func (h *history) podAffinity(pod *v1.Pod) {
	term := v1.PodAffinityTerm{TopologyKey: h.pick("zone", "rack"), LabelSelector: h.match()}
	if h.oneIn(4) {
		term.NamespaceSelector = &metav1.LabelSelector{}
	}
	if h.oneIn(4) {
		term.Namespaces = []string{"other"}
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	if h.oneIn(2) {
		pod.Spec.Affinity.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}
	} else {
		pod.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}
	}
}

// restarts turns a restart rule on or off that needs a declared feature of the node.
func (h *history) restarts(pod *v1.Pod) {
	container := &pod.Spec.Containers[0]
	if container.RestartPolicyRules != nil {
		container.RestartPolicyRules = nil
		return
	}
	container.RestartPolicy = ptr.To(v1.ContainerRestartPolicyNever)
	container.RestartPolicyRules = []v1.ContainerRestartRule{{Action: "RestartAllContainers",
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{1}}}}
}

func (h *history) gates(pod *v1.Pod) {
	pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/g"}}
}

func (h *history) nominated(pod *v1.Pod) { pod.Status.NominatedNodeName = h.pick("n0", "n1") }

// drawUpdate changes what may change: seldom nothing, mostly one part.
func (h *history) drawUpdate(before *v1.Pod) *v1.Pod {
	pod := before.DeepCopy()
	h.renew(pod)
	pending := pod.Spec.NodeName == ""
	for again := true; again; again = h.oneIn(3) {
		switch n := h.random.Intn(9); {
		case n < 2:
			pod.Labels = h.labels()
		case n < 4:
			h.requests(pod)
		case n == 4:
			h.toleration(pod)
		case n == 8:
			h.restarts(pod)
		case n == 5 && pending:
			pod.Spec.SchedulingGates = nil
		case n == 6 && pending:
			pod.Status.NominatedNodeName = h.pick("", "n0", "n1")
		case n == 7 && h.oneIn(4) && pod.DeletionTimestamp == nil:
			pod.DeletionTimestamp = ptr.To(metav1.Unix(1_700_000_000, 0))
		}
	}
	return pod
}

func (h *history) drawNode(name string) *v1.Node {
	node := &v1.Node{}
	node.Name = name
	node.Labels = map[string]string{}
	node.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse(h.pick("1", "2", "4")),
		v1.ResourceMemory: resource.MustParse("4"), v1.ResourcePods: resource.MustParse(h.pick("0", "10"))}
	for count := h.random.Intn(5); count > 0; count-- {
		h.changeOnePart(node)
	}
	return node
}

func (h *history) drawNodeUpdate(before *v1.Node) *v1.Node {
	node := before.DeepCopy()
	for again := true; again; again = h.oneIn(3) {
		h.changeOnePart(node)
	}
	return node
}

func (h *history) changeOnePart(node *v1.Node) {
	switch h.random.Intn(7) {
	case 0, 1:
		node.Labels = maps.Clone(node.Labels)
		key := h.pick("zone", "rack", "disk")
		value := map[string]string{"zone": h.pick("a", "b", "c"), "rack": h.pick("1", "2"), "disk": h.pick("ssd", "hdd")}[key]
		if delete(node.Labels, key); !h.oneIn(3) {
			node.Labels[key] = value
		}
	case 2, 3:
		node.Spec.Taints = nil
		if h.oneIn(2) {
			node.Spec.Taints = []v1.Taint{{Key: h.pick("a", "b"), Effect: v1.TaintEffect(h.pick("NoSchedule", "NoExecute", "PreferNoSchedule"))}}
		}
	case 4:
		node.Spec.Unschedulable = !node.Spec.Unschedulable
	case 5:
		name := v1.ResourceName(h.pick("cpu", "memory", "example.com/gpu", "pods"))
		node.Status.Allocatable[name] = resource.MustParse(h.pick("1", "2", "4", "10"))
	default:
		node.Status.DeclaredFeatures = nil
		if h.oneIn(2) {
			node.Status.DeclaredFeatures = []string{h.pick("A", "B")}
		}
	}
}
