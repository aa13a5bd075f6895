// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "host/config/feature_gates.h"
#include "host/config/scheduler_config.h"
#include "host/framework/queueing_hints.h"
#include "plugins/pod_query.h"

namespace berth {

/// DefaultSelectors::of() of the cluster as it is now.
using DefaultSelectorOf = std::function<PodLabelSelector(const Pod&)>;

/// Events that may help a pod that would have skewed its spread: docs/behaviour/plugins-topology.md 2.13.
/// @param default_selector_of  asked where the profile has hard default constraints. What was prepared with an answer
/// is void when Services or workloads change.
std::unique_ptr<QueueingHints> make_pod_topology_spread_hints(const Profile& profile, const FeatureGates& gates,
                                                              DefaultSelectorOf default_selector_of);

}  // namespace berth
