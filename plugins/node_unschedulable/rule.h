// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

/// Refuses cordoned nodes: docs/behaviour/plugins-node.md 5.
struct NodeUnschedulable {
  static constexpr std::string_view name = "NodeUnschedulable";
  static constexpr std::string_view reason = "node(s) were unschedulable";
  static constexpr Touches touches = Touches::kNothing;

  struct Params {
    bool tolerates_unschedulable;  ///< the pod tolerates node.kubernetes.io/unschedulable:NoSchedule
  };
  BERTH_HD static bool feasible(const Params& params, bool node_unschedulable) {
    return !node_unschedulable || params.tolerates_unschedulable;
  }
};

}  // namespace berth
