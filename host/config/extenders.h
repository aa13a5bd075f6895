// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/config/config_reader.h"
#include "host/config/scheduler_config.h"

namespace berth {

/// The "extenders" list: docs/behaviour/scheduler-core.md 7.5. Ignorable extenders are moved to the end.
std::vector<Extender> decode_extenders(const JsonValue& list, const ConfigContext& context);

/// Resource names that extenders handle instead of the scheduler, in order. When there is one, they replace
/// NodeResourcesFit's ignoredResources in every profile.
std::vector<std::string> resources_ignored_by_scheduler(const std::vector<Extender>& extenders);

}  // namespace berth
