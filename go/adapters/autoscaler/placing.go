// SPDX-License-Identifier: Apache-2.0

package autoscaler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	berth "berth.dev/go"
	corev1 "k8s.io/api/core/v1"
)

// CheckPredicates is nil if the pod fits the node.
func (s *Snapshot) CheckPredicates(pod *corev1.Pod, nodeName string) SchedulingError {
	_, _, err := s.check(pod, nodeName)
	return err
}

func (s *Snapshot) check(pod *corev1.Pod, nodeName string) (*berth.Pod, berth.NodeID, SchedulingError) {
	number, err := s.number(nodeName)
	if err != nil {
		return nil, 0, internal(pod, fmt.Sprintf("error obtaining NodeInfo for name %q: %v", nodeName, err))
	}
	prepared, err := s.pods.prepared(s.cluster, pod)
	if err != nil {
		return nil, 0, internal(pod, err.Error())
	}
	fits, err := s.top().fork.Check(prepared, number, nil)
	if err != nil {
		return nil, 0, internal(pod, err.Error())
	}
	if !fits {
		return nil, 0, s.refused(pod, prepared, nodeName, number)
	}
	return prepared, number, nil
}

// refused is why a pod does not fit a node.
func (s *Snapshot) refused(
	pod *corev1.Pod, prepared *berth.Pod, nodeName string, number berth.NodeID,
) SchedulingError {
	verdict, err := s.top().fork.Verdict(prepared, number, nil)
	if err != nil {
		return internal(pod, err.Error())
	}
	defer verdict.Close()
	plugin, pluginErr := verdict.Plugins.At(0)
	reasons, reasonsErr := verdict.Reasons.At(0)
	if err := errors.Join(pluginErr, reasonsErr); err != nil {
		return internal(pod, err.Error())
	}
	if verdict.Judged[0] == berth.JudgedNot {
		return internal(pod, plugin+": "+reasons)
	}
	e := &schedulingError{kind: FailingPredicateError, pod: pod, plugin: plugin, reasons: strings.Split(reasons, ", ")}
	if verdict.Phases[0] == berth.PhasePreFilter {
		e.preFilter = !strings.HasPrefix(reasons, namesOthers)
		e.details = []string{"unexpectedError=PreFilter failed"}
		if !e.preFilter {
			e.reasons, e.details = nil, []string{"unexpectedError=PreFilter filtered the Node out"}
		}
		return e
	}
	debug := fmt.Sprintf("debugInfo=nodeName: %q", nodeName)
	if plugin == "TaintToleration" {
		debug += fmt.Sprintf(", nodeTaints: %#v", s.top().nodes[nodeName].node.Spec.Taints)
	}
	e.details = []string{debug}
	return e
}

// namesOthers is how kube-scheduler's message about nodes begins that PreFilter did not name.
const namesOthers = "node(s) didn't satisfy plugin(s)"

// SchedulePod places the pod on the node if it fits.
func (s *Snapshot) SchedulePod(pod *corev1.Pod, nodeName string) SchedulingError {
	prepared, number, refusal := s.check(pod, nodeName)
	if refusal != nil {
		return refusal
	}
	if err := s.top().fork.AddPod(prepared, number); err != nil {
		return internal(pod, err.Error())
	}
	s.stands(pod, nodeName)
	return nil
}

// SchedulePodOnAnyNodeMatching places the pod on the first node that is acceptable, is not cordoned and fits, by one
// call of Berth.
func (s *Snapshot) SchedulePodOnAnyNodeMatching(pod *corev1.Pod, opts SchedulingOptions) (string, SchedulingError) {
	listed, err := s.ListNodeInfos()
	if err != nil {
		return "", internal(pod, fmt.Sprintf("error listing NodeInfos: %v", err))
	}
	prepared, err := s.pods.prepared(s.cluster, pod)
	if err != nil {
		return "", internal(pod, err.Error())
	}
	options := &berth.ScheduleOptions{SkipCordoned: true, Choice: berth.FirstFit, Start: s.next}
	if opts.IsNodeAcceptable != nil {
		accepted := make([]berth.NodeID, 0, len(listed))
		for _, info := range listed {
			if opts.IsNodeAcceptable(info) {
				accepted = append(accepted, s.numbers[info.node.Name])
			}
		}
		set, err := s.cluster.NewNodeSet(accepted)
		if err != nil {
			return "", internal(pod, err.Error())
		}
		defer set.Close()
		options.Nodes = set
	}
	if opts.NodeOrdering != nil {
		opts.NodeOrdering.Reset(listed)
		options.Choice, options.Order = berth.InOrder, make([]berth.NodeID, 0, len(listed))
		for i := range listed {
			position := opts.NodeOrdering.At(i)
			if position < 0 {
				break
			}
			options.Order = append(options.Order, s.numbers[listed[position].node.Name])
		}
	}
	result, err := s.top().fork.Schedule(context.Background(), []*berth.Pod{prepared}, options)
	if err != nil {
		return "", internal(pod, err.Error())
	}
	defer result.Close()
	if !result.Fits[0] {
		if result.Judged[0] == berth.JudgedNot {
			message, _ := result.Messages.At(0)
			return "", internal(pod, message)
		}
		// Where PreFilter refuses the pod, it does on any node.
		if len(listed) > 0 {
			first := listed[0].node.Name
			refusal, _ := s.refused(pod, prepared, first, s.numbers[first]).(*schedulingError)
			if refusal != nil && refusal.preFilter {
				return "", refusal
			}
		}
		return "", &schedulingError{kind: NoNodesPassingPredicatesFoundError, pod: pod}
	}
	position := slices.IndexFunc(listed, func(n *NodeInfo) bool { return s.numbers[n.node.Name] == result.Nodes[0] })
	if opts.NodeOrdering != nil {
		opts.NodeOrdering.MarkMatch(position)
	} else {
		s.next = result.NextStart
	}
	name := listed[position].node.Name
	s.stands(pod, name)
	return name, nil
}
