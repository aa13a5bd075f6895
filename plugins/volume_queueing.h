// SPDX-License-Identifier: Apache-2.0
#pragma once

// Events that may help pods which the plugins of volumes rejected: docs/behaviour/scheduler-core.md 1.13. Events of
// storage objects, which no queue is told of yet, are registered without a function.

#include <memory>

#include "host/config/feature_gates.h"
#include "host/config/scheduler_config.h"
#include "host/framework/queueing_hints.h"

namespace berth {

std::unique_ptr<QueueingHints> make_volume_restrictions_hints(const Profile& profile, const FeatureGates& gates);
std::unique_ptr<QueueingHints> make_node_volume_limits_hints(const Profile& profile, const FeatureGates& gates);
std::unique_ptr<QueueingHints> make_volume_binding_hints(const Profile& profile, const FeatureGates& gates);
std::unique_ptr<QueueingHints> make_volume_zone_hints(const Profile& profile, const FeatureGates& gates);

}  // namespace berth
