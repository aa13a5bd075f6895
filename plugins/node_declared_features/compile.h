// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/config/feature_gates.h"
#include "host/objects/pod.h"
#include "plugins/node_declared_features/rule.h"

namespace berth {

/// Features that the pod's spec needs, by the registry of the release.
std::vector<std::string> needed_features(const PodSpec& spec);
/// Needed features that the node does not declare.
std::vector<std::string> missing_features(const std::vector<std::string>& needed, const Node& node);
std::string missing_features_reason(const std::vector<std::string>& missing, Release release);

}  // namespace berth
