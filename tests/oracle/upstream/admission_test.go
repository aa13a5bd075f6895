// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func requirement(key string, operator metav1.LabelSelectorOperator, value string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}}
}

func TestKeysOfEveryKindOfTermBecomeRequirements(t *testing.T) {
	term := func() v1.PodAffinityTerm {
		return v1.PodAffinityTerm{
			LabelSelector:     &metav1.LabelSelector{},
			MatchLabelKeys:    []string{"app", "absent"},
			MismatchLabelKeys: []string{"tenant"},
		}
	}
	pod := &v1.Pod{}
	pod.Labels = map[string]string{"app": "web", "tenant": "a"}
	pod.Spec.Affinity = &v1.Affinity{
		PodAffinity: &v1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{term()},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{PodAffinityTerm: term()}},
		},
		PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{term()},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{PodAffinityTerm: term()}},
		},
	}
	mergeLabelKeys(pod)
	want := []metav1.LabelSelectorRequirement{requirement("app", "In", "web"), requirement("tenant", "NotIn", "a")}
	a, b := pod.Spec.Affinity.PodAffinity, pod.Spec.Affinity.PodAntiAffinity
	for _, got := range []v1.PodAffinityTerm{
		a.RequiredDuringSchedulingIgnoredDuringExecution[0],
		a.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm,
		b.RequiredDuringSchedulingIgnoredDuringExecution[0],
		b.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm,
	} {
		if !reflect.DeepEqual(got.LabelSelector.MatchExpressions, want) {
			t.Errorf("got %v, want %v", got.LabelSelector.MatchExpressions, want)
		}
	}
}

func TestATermThatAnAPIServerHasMergedStaysAsItIs(t *testing.T) {
	merged := []metav1.LabelSelectorRequirement{requirement("app", "In", "old")}
	term := v1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchExpressions: merged}, MatchLabelKeys: []string{"app"}}
	mergeTerm(&term, map[string]string{"app": "new"})
	if !reflect.DeepEqual(term.LabelSelector.MatchExpressions, merged) {
		t.Errorf("got %v, want %v", term.LabelSelector.MatchExpressions, merged)
	}
}

func TestAnotherOperatorOnTheKeyDoesNotCountAsMerged(t *testing.T) {
	exists := metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpExists}
	term := v1.PodAffinityTerm{
		LabelSelector:  &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{exists}},
		MatchLabelKeys: []string{"app"},
	}
	mergeTerm(&term, map[string]string{"app": "web"})
	want := []metav1.LabelSelectorRequirement{exists, requirement("app", "In", "web")}
	if !reflect.DeepEqual(term.LabelSelector.MatchExpressions, want) {
		t.Errorf("got %v, want %v", term.LabelSelector.MatchExpressions, want)
	}
}

func TestANullSelectorStaysNull(t *testing.T) {
	term := v1.PodAffinityTerm{MatchLabelKeys: []string{"app"}}
	mergeTerm(&term, map[string]string{"app": "web"})
	if term.LabelSelector != nil {
		t.Errorf("got %v, want null", term.LabelSelector)
	}
}
