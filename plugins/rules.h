// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one list of the rules that decide on nodes. It says what exists; which of them run, and which of several refusals
// is reported, follows the profile at run time (batching/profile_rules.h).

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
// What the node sides are compiled from: strings and objects, which device code never sees.
#include "plugins/image_locality/compile.h"
#include "plugins/node_affinity/compile.h"
#include "plugins/node_declared_features/compile.h"
#include "plugins/node_name/compile.h"
#include "plugins/node_unschedulable/compile.h"
#include "plugins/taint_toleration/compile.h"
#endif

namespace berth {

/// In the order of kube-scheduler's default list; no answer depends on it.
using Rules =
    RuleList<NodeUnschedulable, NodeName, TaintToleration, NodeAffinityRule, NodePorts, NodeResourcesFit,
             PodTopologySpread, InterPodAffinity, NodeResourcesBalancedAllocation, ImageLocality, NodeDeclaredFeatures>;

}  // namespace berth
