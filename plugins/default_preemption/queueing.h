// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "host/config/feature_gates.h"
#include "host/config/scheduler_config.h"
#include "host/framework/queueing_hints.h"

namespace berth {

/// Deletions of pods pass the gating filter, and queue nothing: docs/behaviour/scheduler-core.md 1.13.
std::unique_ptr<QueueingHints> make_default_preemption_hints(const Profile& profile, const FeatureGates& gates);

}  // namespace berth
