// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"

	berth "berth.dev/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// signatures are numbers of the plugin's own, never given twice: those of classes are given again when the cluster
// changes.
type signatures struct {
	number uint64     // the latest one
	pod    *berth.Pod // a pod that has it; nil: none, so that the next one gets a new number
	// version is the cluster's, which only Reserve has changed since nodes were ranked for that pod.
	version uint64

	// The pod that is being tried, and the version by which its nodes are ranked.
	tried   types.UID
	triedAt uint64
}

func (s *signatures) forget() {
	if s.pod != nil {
		s.pod.Close()
		s.pod = nil
	}
}

// SignPod returns the class of the pod, as a number that pods of one class share while they come one after another and
// nothing else happens to the cluster. kube-scheduler then tries the next best node of the latest ranking first, once
// the best one is full. A pod is not signed where a placed one changes other nodes for the next (berth.Pod.NodeLocal),
// nor outside of its cycle, since it may be of another class in it: kube-scheduler 1.36 signs pods that are queued.
func (p *Plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if err := p.enter(); err != nil {
		return nil, failed(err)
	}
	defer p.leave()
	if !p.isTried(pod) {
		return nil, fwk.NewStatus(fwk.Unschedulable, "the class of a pod is that of its cycle")
	}
	prepared, err := p.prepared(pod)
	if err != nil {
		return nil, failed(err)
	}
	local, err := prepared.NodeLocal()
	if err != nil {
		return nil, failed(err)
	}
	if !local {
		return nil, fwk.NewStatus(fwk.Unschedulable, "a placed pod of this class changes other nodes for the next one")
	}
	number, err := p.signature(prepared)
	if err != nil {
		return nil, failed(err)
	}
	return []fwk.SignFragment{{Key: Name, Value: number}}, nil
}

func (p *Plugin) isTried(pod *v1.Pod) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.signed.tried == pod.UID
}

// try notes whose cycle it is, and the version of the answer that it ranks nodes by.
func (p *Plugin) try(pod *v1.Pod, version uint64) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.signed.tried, p.signed.triedAt = pod.UID, version
}

// signature is the number of the latest signed pod where both are of one class. Both are asked for their classes, no
// pod is prepared meanwhile, and the version is compared afterwards, since classes change with the cluster.
func (p *Plugin) signature(prepared *berth.Pod) (uint64, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	s := &p.signed
	if s.pod != nil && s.version == s.triedAt {
		class, err := prepared.Class()
		if err != nil {
			return 0, err
		}
		other, err := s.pod.Class()
		if err != nil {
			return 0, err
		}
		version, err := p.cluster.Version()
		if err != nil || (class == other && version == s.version) {
			return s.number, err
		}
	}
	retained, err := prepared.Retain()
	if err != nil {
		return 0, err
	}
	s.forget()
	s.pod, s.version = retained, s.triedAt
	s.number++
	return s.number, nil
}

// assumed is Assume. The signature goes on where nothing else has happened.
func (p *Plugin) assumed(prepared *berth.Pod, on berth.NodeID) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	before, err := p.cluster.Version()
	if err != nil {
		return err
	}
	if err := p.cluster.Assume(prepared, on); err != nil {
		return err
	}
	after, err := p.cluster.Version()
	if err == nil && before == p.signed.version && after == before+1 {
		p.signed.version = after
	}
	return err
}

// ranked is told whether the scores of a cycle tell all nodes apart. Where they do not, its ranking is of no use to the
// next pod, which gets another number.
func (p *Plugin) ranked(inOrder bool) {
	if !inOrder {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.signed.forget()
	}
}
