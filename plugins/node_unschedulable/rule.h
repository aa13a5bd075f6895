// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

struct CompiledNodeUnschedulable;  // compile.h

/// Refuses cordoned nodes: docs/behaviour/plugins-node.md 5.
struct NodeUnschedulable {
  static constexpr RuleDescriptor descriptor{
      .name = "NodeUnschedulable", .touches = Touches::kNothing, .filters = true};
  static constexpr std::string_view name = descriptor.name;
  using NodeSide = CompiledNodeUnschedulable;
  static constexpr std::string_view reason = "node(s) were unschedulable";

  struct Params {
    bool tolerates_unschedulable;  ///< the pod tolerates node.kubernetes.io/unschedulable:NoSchedule
  };
  BERTH_HD static bool feasible(const Params& params, bool node_unschedulable) {
    return !node_unschedulable || params.tolerates_unschedulable;
  }
};

}  // namespace berth
