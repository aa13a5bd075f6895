// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "host/config/feature_gates.h"
#include "host/config/scheduler_config.h"
#include "host/framework/queueing_hints.h"

namespace berth {

/// Events that may help a pod whose volumes were in other zones: docs/behaviour/scheduler-core.md 1.13.
std::unique_ptr<QueueingHints> make_volume_zone_hints(const Profile& profile, const FeatureGates& gates);

}  // namespace berth
