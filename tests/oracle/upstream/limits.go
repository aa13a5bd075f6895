// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
)

// firstDriver is NodeVolumeLimits with one answer where VolumeLimitScaling leaves several: of the drivers that a node lacks
// it names the one that a map yields first. Here that is the first one by name, which Berth names too.
type firstDriver struct{ *nodevolumelimits.CSILimits }

// tries is how often a refusal is asked for again, so that each of a few drivers is named at least once.
const tries = 30

func (p firstDriver) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	first := p.CSILimits.Filter(ctx, state, pod, node)
	for i := 0; i < tries && lacksDriver(first) && len(pod.Spec.Volumes) > 1; i++ {
		if again := p.CSILimits.Filter(ctx, state, pod, node); again.Message() < first.Message() {
			first = again
		}
	}
	return first
}

func lacksDriver(status *fwk.Status) bool {
	return status != nil && strings.HasSuffix(status.Message(), "CSI driver is not installed on the node")
}
