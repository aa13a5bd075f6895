// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/pod_topology_spread/queueing.h"

namespace berth {

/// What the plugins of a profile say about events: those that take part in PreEnqueue, PreFilter, Filter, Reserve or
/// Permit (docs/behaviour/scheduler-core.md 1.8), in the order of their first appearance. A plugin of kube-scheduler
/// that is not built has none: pods that need it are refused before they are tried.
/// @param of_outside  asked about any other plugin, by its name
std::vector<std::unique_ptr<QueueingHints>> make_queueing_hints(
    const Profile& profile, const FeatureGates& gates, const DefaultSelectorOf& default_selector_of,
    const std::function<std::unique_ptr<QueueingHints>(const std::string& plugin)>& of_outside =
        default_queueing_hints);

}  // namespace berth
