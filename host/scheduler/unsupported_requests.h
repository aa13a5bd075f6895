// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/config/scheduler_config.h"

namespace berth {

/// What a configuration asks for by name and Berth cannot do, a sentence each: plugins that are not in-tree or not
/// built, and extenders. A default plugin that the file does not name is not here: a pod that needs one gets an error.
/// @param config  loaded with OutOfTree::kLeaveOut; otherwise it names no plugin that is not in-tree
std::vector<std::string> unsupported_requests(const SchedulerConfig& config);

}  // namespace berth
