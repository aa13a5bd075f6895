// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mergeLabelKeys does what the API server does when a pod is created: matchLabelKeys and mismatchLabelKeys of each
// (anti-)affinity term become requirements of its selector. A pod that an API server has returned stays as it is.
func mergeLabelKeys(pod *v1.Pod) {
	if pod.Spec.Affinity == nil {
		return
	}
	if a := pod.Spec.Affinity.PodAffinity; a != nil {
		mergeTerms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
	if a := pod.Spec.Affinity.PodAntiAffinity; a != nil {
		mergeTerms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
}

func mergeTerms(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm, labels map[string]string) {
	for i := range required {
		mergeTerm(&required[i], labels)
	}
	for i := range preferred {
		mergeTerm(&preferred[i].PodAffinityTerm, labels)
	}
}

// mergeTerm does not change a null selector: it matches no pod, whatever the keys.
func mergeTerm(term *v1.PodAffinityTerm, labels map[string]string) {
	if term.LabelSelector == nil {
		return
	}
	mergeKeys(term.LabelSelector, term.MatchLabelKeys, metav1.LabelSelectorOpIn, labels)
	mergeKeys(term.LabelSelector, term.MismatchLabelKeys, metav1.LabelSelectorOpNotIn, labels)
}

func mergeKeys(selector *metav1.LabelSelector, keys []string, operator metav1.LabelSelectorOperator, labels map[string]string) {
	for _, key := range keys {
		value, ok := labels[key]
		merged := slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return r.Key == key && r.Operator == operator
		})
		if ok && !merged {
			requirement := metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}}
			selector.MatchExpressions = append(selector.MatchExpressions, requirement)
		}
	}
}
