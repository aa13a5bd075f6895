// SPDX-License-Identifier: Apache-2.0
#pragma once

// The list of all rules that filter or score nodes. Which of them run, and which of several refusals is reported,
// depends on the profile at run time (batching/profile_rules.h).

#include "plugins/image_locality/rule.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/node_affinity/rule.h"
#include "plugins/node_declared_features/rule.h"
#include "plugins/node_name/rule.h"
#include "plugins/node_ports/rule.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/node_resources_fit/rule.h"
#include "plugins/node_unschedulable/rule.h"
#include "plugins/pod_topology_spread/rule.h"
#include "plugins/rule_list.h"
#include "plugins/taint_toleration/rule.h"

#if !defined(__CUDACC__)
// Headers of the node sides, which use strings and objects: not for device code.
#include "plugins/image_locality/compile.h"
#include "plugins/node_affinity/compile.h"
#include "plugins/node_declared_features/compile.h"
#include "plugins/node_name/compile.h"
#include "plugins/node_unschedulable/compile.h"
#include "plugins/taint_toleration/compile.h"
#endif

namespace berth {

/// In the order of kube-scheduler's default list; no result depends on it.
using Rules =
    RuleList<NodeUnschedulable, NodeName, TaintToleration, NodeAffinityRule, NodePorts, NodeResourcesFit,
             PodTopologySpread, InterPodAffinity, NodeResourcesBalancedAllocation, ImageLocality, NodeDeclaredFeatures>;

}  // namespace berth
