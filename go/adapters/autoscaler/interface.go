// SPDX-License-Identifier: Apache-2.0

// Package autoscaler has the verbs of cluster-autoscaler's ClusterSnapshot over Berth.
//
// That interface lies in pkg/simulator/clustersnapshot of kubernetes-sigs/cluster-autoscaler, which no module proxy
// serves, so that it is declared here as it was at commit 33c3f97bf274, without what concerns dynamic resource
// allocation, CSI nodes and the scheduler framework's SharedLister. A program that imports the autoscaler wraps a
// *Snapshot in a few lines: its NodeInfo and errors have the same methods.
package autoscaler

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
)

// ErrNodeNotFound means that a node is not in the snapshot.
var ErrNodeNotFound = errors.New("node not found")

// NodeInfo is a node with its pods. It does not change: a snapshot that changes makes another one.
type NodeInfo struct {
	node *corev1.Node
	pods []*corev1.Pod
}

// NewNodeInfo is a node with pods, which are the caller's and must not change while a snapshot has them.
func NewNodeInfo(node *corev1.Node, pods ...*corev1.Pod) *NodeInfo { return &NodeInfo{node, pods} }

// Node is the node.
func (n *NodeInfo) Node() *corev1.Node { return n.node }

// Pods are the pods of the node, in the order in which they came.
func (n *NodeInfo) Pods() []*corev1.Pod { return n.pods }

// NodeOrderMapping is the order in which nodes are tried.
type NodeOrderMapping interface {
	// Reset is called with the nodes of the snapshot each time that a pod is tried.
	Reset(nodes []*NodeInfo)
	// At is the position of the i-th node; -1: there is none any more.
	At(i int) int
	// MarkMatch says which node was taken.
	MarkMatch(position int)
}

// SchedulingOptions say where a pod may go.
type SchedulingOptions struct {
	NodeOrdering     NodeOrderMapping     // nil: from behind the node that was taken last, round the end
	IsNodeAcceptable func(*NodeInfo) bool // nil: every node; asked once for each node and call
}

// ClusterSnapshot is what *Snapshot does.
type ClusterSnapshot interface {
	Fork()
	Revert()
	Commit() error
	Clear()
	SetClusterState(nodes []*corev1.Node, scheduledPods []*corev1.Pod) error
	AddNodeInfo(nodeInfo *NodeInfo) error
	RemoveNodeInfo(nodeName string) error
	GetNodeInfo(nodeName string) (*NodeInfo, error)
	ListNodeInfos() ([]*NodeInfo, error)
	ForceAddPod(pod *corev1.Pod, nodeName string) error
	ForceRemovePod(namespace, podName, nodeName string) error
	SchedulePod(pod *corev1.Pod, nodeName string) SchedulingError
	SchedulePodOnAnyNodeMatching(pod *corev1.Pod, opts SchedulingOptions) (string, SchedulingError)
	UnschedulePod(namespace, podName, nodeName string) error
	CheckPredicates(pod *corev1.Pod, nodeName string) SchedulingError
}

var _ ClusterSnapshot = &Snapshot{}
