// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

/// Refuses nodes with a taint the pod does not tolerate, and counts those that only ask to be avoided:
/// docs/behaviour/plugins-node.md 7. Taint sets are few, so a class carries its answer per set.
struct TaintToleration {
  static constexpr std::string_view name = "TaintToleration";
  static constexpr std::string_view reason = "node(s) had untolerated taint(s)";
  static constexpr Touches touches = Touches::kNothing;
  static constexpr bool reverse = true;  ///< of the normalisation

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
