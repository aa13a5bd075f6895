// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth {

/// The start-up settings of a scheduler.
struct RandomConfiguration {
  std::string json;                          ///< a KubeSchedulerConfiguration, with a line end
  std::string feature_gates;                 ///< for --feature-gates, which no configuration can hold; may be empty
  std::vector<std::string> scheduler_names;  ///< of the profiles; "default-scheduler" is the first
};

/// Draws a configuration that kube-scheduler 1.35 and 1.36 accept: several profiles, plugins disabled, re-weighted and
/// re-ordered at multiPoint and at single points, arguments of all plugins that are built, and the feature gates that
/// these read. The same seed gives the same bytes on every platform.
RandomConfiguration random_configuration(std::uint64_t seed);

}  // namespace berth
