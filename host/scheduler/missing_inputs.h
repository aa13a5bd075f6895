// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// What a run needs to know and a dump of a cluster may lack, one sentence each, with the kubectl command that brings
/// it; behind them, where there is any, the one command that brings all that Berth reads. Looks for: Namespaces, where
/// a namespaceSelector reads their labels; ReplicaSets, StatefulSets, ReplicationControllers and Services, where
/// default topology spreading asks which pods belong together; the claims of pods, the volumes that they are
/// bound to and the classes of unbound ones; RuntimeClasses that may have an overhead; PodDisruptionBudgets, where pods
/// may be evicted; the objects behind resource claims.
/// Cost: one pass over the pods; equal specs and owners are looked at once where they follow each other.
/// @param may_evict  false: the run evicts nobody, whatever `config` says
std::vector<std::string> missing_inputs(const ClusterObjects& objects, const SchedulerConfig& config,
                                        bool may_evict = true);

/// The same for a run that asks of `asked` alone, each as if it were pending: what other pods need is not looked for,
/// except the labels of the namespaces of `asked`, which terms of other pods read.
std::vector<std::string> missing_inputs(const ClusterObjects& objects, const SchedulerConfig& config,
                                        const std::vector<PodPtr>& asked);

}  // namespace berth
