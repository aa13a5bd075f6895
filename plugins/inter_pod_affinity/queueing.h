// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "host/config/feature_gates.h"
#include "host/config/scheduler_config.h"
#include "host/framework/queueing_hints.h"

namespace berth {

/// Events that may help a pod that wanted other neighbours: docs/behaviour/plugins-topology.md 3.11.
std::unique_ptr<QueueingHints> make_inter_pod_affinity_hints(const Profile& profile, const FeatureGates& gates);

}  // namespace berth
