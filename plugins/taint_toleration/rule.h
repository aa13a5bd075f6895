// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

struct CompiledTaintToleration;  // compile.h

/// Refuses nodes with a taint the pod does not tolerate, and counts those that only ask to be avoided:
/// docs/behaviour/plugins-node.md 7. Taint sets are few, so a class carries its answer per set.
struct TaintToleration {
  static constexpr RuleDescriptor descriptor{.name = "TaintToleration",
                                             .touches = Touches::kNothing,
                                             .filters = true,
                                             .scores = true,
                                             .normalizer = Normalizer::kByMaximumReversed};
  static constexpr std::string_view name = descriptor.name;
  using NodeSide = CompiledTaintToleration;
  static constexpr std::string_view reason = "node(s) had untolerated taint(s)";

  struct Params {
    const std::uint8_t* refused_of_set;  ///< [taint_set_count] 1: holds an untolerated NoSchedule or NoExecute taint
    const std::int32_t* untolerated_of_set;  ///< [taint_set_count] untolerated PreferNoSchedule taints
  };
  BERTH_HD static bool feasible(const Params& params, std::int32_t taint_set) {
    return params.refused_of_set[taint_set] == 0;
  }
  BERTH_HD static std::int64_t score(const Params& params, std::int32_t taint_set) {
    return params.untolerated_of_set[taint_set];
  }
};

}  // namespace berth
