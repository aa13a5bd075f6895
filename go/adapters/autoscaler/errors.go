// SPDX-License-Identifier: Apache-2.0

package autoscaler

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// SchedulingErrorType is a kind of SchedulingError.
type SchedulingErrorType int

// Kinds of errors.
const (
	SchedulingInternalError            SchedulingErrorType = iota // something went wrong, or Berth cannot judge the pod
	FailingPredicateError                                         // a plugin refuses the node, or the pod
	NoNodesPassingPredicatesFoundError                            // no node takes the pod
)

// SchedulingError is why a pod was not placed.
type SchedulingError interface {
	error
	Type() SchedulingErrorType
	Reasons() []string
	FailingPredicateName() string
	FailingPredicateReasons() []string
}

type schedulingError struct {
	kind    SchedulingErrorType
	pod     *corev1.Pod
	text    string // of SchedulingInternalError
	plugin  string
	reasons []string
	details []string // of FailingPredicateError, behind the reasons
	// preFilter: PreFilter refuses the pod, and not this node alone.
	preFilter bool
}

func (e *schedulingError) Type() SchedulingErrorType { return e.kind }

// Is says that the other error is of the same kind.
func (e *schedulingError) Is(other error) bool {
	of, ok := other.(SchedulingError)
	return ok && of.Type() == e.kind
}

func (e *schedulingError) Error() string {
	text := ""
	switch e.kind {
	case SchedulingInternalError:
		text = "unexpected error: " + e.text
	case FailingPredicateError:
		details := append([]string{"predicateReasons=[" + strings.Join(e.reasons, ", ") + "]"}, e.details...)
		text = fmt.Sprintf("predicate %q didn't pass (%s)", e.plugin, strings.Join(details, "; "))
	default:
		text = "couldn't find a matching Node with passing predicates"
	}
	return fmt.Sprintf("can't schedule pod %s/%s: %s", e.pod.Namespace, e.pod.Name, text)
}

func (e *schedulingError) Reasons() []string {
	if e.kind == FailingPredicateError {
		return e.reasons
	}
	return []string{e.Error()}
}

func (e *schedulingError) FailingPredicateName() string      { return e.plugin }
func (e *schedulingError) FailingPredicateReasons() []string { return e.reasons }

func internal(pod *corev1.Pod, text string) SchedulingError {
	return &schedulingError{kind: SchedulingInternalError, pod: pod, text: text}
}
