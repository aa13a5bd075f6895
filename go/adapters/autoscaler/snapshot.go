// SPDX-License-Identifier: Apache-2.0

package autoscaler

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	berth "berth.dev/go"
	corev1 "k8s.io/api/core/v1"
)

// level is one fork: what Berth has of it, and what was given to the autoscaler.
type level struct {
	fork  *berth.Fork
	nodes map[string]*NodeInfo
	// listed is the nodes by ascending number; nil: to be made.
	listed []*NodeInfo
}

// Snapshot is a ClusterSnapshot over Berth. One goroutine uses it at a time. It is closed by Close.
//
// A verdict is kube-scheduler's, as the engine is configured. A pod that Berth cannot judge, such as one with resource
// claims, is a SchedulingInternalError that names plugin and field.
type Snapshot struct {
	cluster *berth.Cluster
	base    *berth.Snapshot
	levels  []*level
	pods    *podCache
	numbers map[string]berth.NodeID
	next    uint32 // where the default order of nodes begins
}

// NewSnapshot is an empty snapshot.
func NewSnapshot(engine *berth.Engine) (*Snapshot, error) {
	cluster, err := engine.NewCluster()
	if err != nil {
		return nil, err
	}
	s := &Snapshot{cluster: cluster, pods: newPodCache(), numbers: map[string]berth.NodeID{}}
	if err := s.open(map[string]*NodeInfo{}); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Cluster is the cluster under the snapshot, for what the interface has no verbs for: Services, namespaces, storage
// objects. What is told to it is seen from the next SetClusterState or Clear on. It is not closed by the caller.
func (s *Snapshot) Cluster() *berth.Cluster { return s.cluster }

// Close gives everything back.
func (s *Snapshot) Close() {
	s.drop(0)
	s.pods.close()
	s.cluster.Close()
}

// drop closes the forks from a level on; with level 0 also the snapshot under them.
func (s *Snapshot) drop(from int) {
	for _, l := range s.levels[from:] {
		l.fork.Close()
	}
	s.levels = s.levels[:from]
	if from == 0 && s.base != nil {
		s.base.Close()
		s.base = nil
	}
}

// open begins without forks, on the cluster as it is.
func (s *Snapshot) open(nodes map[string]*NodeInfo) error {
	base, err := s.cluster.NewSnapshot()
	if err != nil {
		return err
	}
	fork, err := base.Fork()
	if err != nil {
		base.Close()
		return err
	}
	s.drop(0)
	s.base, s.levels, s.next = base, []*level{{fork: fork, nodes: nodes}}, 0
	return nil
}

func (s *Snapshot) top() *level { return s.levels[len(s.levels)-1] }

// Clear leaves an empty snapshot without forks. An error of Berth is a panic, since the interface has no place for it.
func (s *Snapshot) Clear() {
	if err := s.SetClusterState(nil, nil); err != nil {
		panic(err)
	}
}

// SetClusterState makes the snapshot one of these nodes and pods, without forks. Pods stand where spec.nodeName or,
// without it, status.nominatedNodeName says; those on other nodes are left out.
func (s *Snapshot) SetClusterState(nodes []*corev1.Node, scheduledPods []*corev1.Pod) error {
	s.pods.next()
	infos := make(map[string]*NodeInfo, len(nodes))
	var nodeText, podText []byte
	for _, node := range nodes {
		text, err := textOf("Node", node)
		if err != nil {
			return err
		}
		nodeText = append(append(nodeText, text...), '\n')
		infos[node.Name] = &NodeInfo{node: node}
	}
	var nominated []*corev1.Pod
	for _, pod := range scheduledPods {
		name := pod.Spec.NodeName
		if name == "" {
			name = pod.Status.NominatedNodeName
		}
		info, there := infos[name]
		if !there {
			continue
		}
		info.pods = append(info.pods, pod)
		if pod.Spec.NodeName == "" {
			nominated = append(nominated, pod)
			continue
		}
		known, err := s.pods.find(pod)
		if err != nil {
			return err
		}
		podText = append(append(podText, known.text...), '\n')
	}
	if err := s.cluster.Replace("Node", nodeText); err != nil {
		return err
	}
	if err := s.cluster.Replace("Pod", podText); err != nil {
		return err
	}
	if err := s.open(infos); err != nil {
		return err
	}
	for _, pod := range nominated {
		if err := s.put(pod, pod.Status.NominatedNodeName); err != nil {
			return err
		}
	}
	return nil
}

// number is that of a node of the snapshot.
func (s *Snapshot) number(name string) (berth.NodeID, error) {
	if _, there := s.top().nodes[name]; !there {
		return berth.NoNode, ErrNodeNotFound
	}
	if number, known := s.numbers[name]; known {
		return number, nil
	}
	number, err := s.cluster.FindNode(name)
	if err == nil {
		s.numbers[name] = number
	}
	return number, err
}

// Fork begins a fork, which Revert drops and Commit keeps. An error of Berth is a panic, since the interface has no
// place for it: memory ran out.
func (s *Snapshot) Fork() {
	fork, err := s.top().fork.Fork()
	if err != nil {
		panic(err)
	}
	s.levels = append(s.levels, &level{fork: fork, nodes: maps.Clone(s.top().nodes), listed: s.top().listed})
}

// Revert drops the latest fork; without one it does nothing.
func (s *Snapshot) Revert() {
	if last := len(s.levels) - 1; last > 0 {
		s.drop(last)
	}
}

// Commit keeps what was done in the latest fork; without one it does nothing.
func (s *Snapshot) Commit() error {
	last := len(s.levels) - 1
	if last == 0 {
		return nil
	}
	if _, err := s.top().fork.Commit(); err != nil {
		return err
	}
	under := s.levels[last-1]
	under.nodes, under.listed = s.top().nodes, s.top().listed
	s.drop(last)
	return nil
}

// AddNodeInfo adds a node with its pods, without asking any rule. All or nothing.
func (s *Snapshot) AddNodeInfo(nodeInfo *NodeInfo) error {
	text, err := textOf("Node", nodeInfo.node)
	if err != nil {
		return err
	}
	number, err := s.top().fork.AddNode(text)
	if errors.Is(err, berth.Exists) {
		return fmt.Errorf("node %s already in snapshot", nodeInfo.node.Name)
	}
	if err != nil {
		return err
	}
	name := nodeInfo.node.Name
	s.numbers[name] = number
	s.set(&NodeInfo{node: nodeInfo.node})
	for _, pod := range nodeInfo.pods {
		if err := s.ForceAddPod(pod, name); err != nil {
			return errors.Join(err, s.RemoveNodeInfo(name))
		}
	}
	return nil
}

// set replaces what is known of a node.
func (s *Snapshot) set(info *NodeInfo) {
	t := s.top()
	t.nodes[info.node.Name], t.listed = info, nil
}

// RemoveNodeInfo removes a node with its pods.
func (s *Snapshot) RemoveNodeInfo(nodeName string) error {
	number, err := s.number(nodeName)
	if err != nil {
		return err
	}
	t := s.top()
	for _, pod := range t.nodes[nodeName].pods {
		if err := t.fork.RemovePod(uidOf(pod)); err != nil {
			return err
		}
	}
	if err := t.fork.RemoveNode(number); err != nil {
		return err
	}
	delete(t.nodes, nodeName)
	t.listed = nil
	return nil
}

// GetNodeInfo is a node of the snapshot, or ErrNodeNotFound.
func (s *Snapshot) GetNodeInfo(nodeName string) (*NodeInfo, error) {
	if info, there := s.top().nodes[nodeName]; there {
		return info, nil
	}
	return nil, ErrNodeNotFound
}

// ListNodeInfos are the nodes, in the order in which the snapshot's cluster first had their names.
func (s *Snapshot) ListNodeInfos() ([]*NodeInfo, error) {
	t := s.top()
	if t.listed != nil {
		return t.listed, nil
	}
	listed := slices.Collect(maps.Values(t.nodes))
	for _, info := range listed {
		if _, err := s.number(info.node.Name); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(listed, func(a, b *NodeInfo) int {
		return int(s.numbers[a.node.Name]) - int(s.numbers[b.node.Name])
	})
	t.listed = listed
	return listed, nil
}

// ForceAddPod puts a pod on a node without asking any rule.
func (s *Snapshot) ForceAddPod(pod *corev1.Pod, nodeName string) error {
	if err := s.put(pod, nodeName); err != nil {
		return err
	}
	s.stands(pod, nodeName)
	return nil
}

// put tells Berth alone.
func (s *Snapshot) put(pod *corev1.Pod, nodeName string) error {
	number, err := s.number(nodeName)
	if err != nil {
		return err
	}
	prepared, err := s.pods.prepared(s.cluster, pod)
	if err != nil {
		return err
	}
	return s.top().fork.AddPod(prepared, number)
}

// stands adds the pod to what is known of its node.
func (s *Snapshot) stands(pod *corev1.Pod, nodeName string) {
	info := s.top().nodes[nodeName]
	s.set(&NodeInfo{info.node, append(slices.Clone(info.pods), pod)})
}

// ForceRemovePod takes a pod off its node.
func (s *Snapshot) ForceRemovePod(namespace, podName, nodeName string) error {
	info, err := s.GetNodeInfo(nodeName)
	if err != nil {
		return err
	}
	for i, pod := range info.pods {
		if pod.Namespace == namespace && pod.Name == podName {
			if err := s.top().fork.RemovePod(uidOf(pod)); err != nil {
				return err
			}
			s.set(&NodeInfo{info.node, slices.Delete(slices.Clone(info.pods), i, i+1)})
			return nil
		}
	}
	return fmt.Errorf("pod %s/%s not in snapshot", namespace, podName)
}

// UnschedulePod takes a pod off its node, so that it may be scheduled again.
func (s *Snapshot) UnschedulePod(namespace, podName, nodeName string) error {
	return s.ForceRemovePod(namespace, podName, nodeName)
}
