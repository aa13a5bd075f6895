// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

/// Refuses all nodes but the one that spec.nodeName names: docs/behaviour/plugins-node.md 6.
struct NodeName {
  static constexpr std::string_view name = "NodeName";
  static constexpr std::string_view reason = "node(s) didn't match the requested node name";
  static constexpr Touches touches = Touches::kNothing;
  static constexpr std::int32_t kAnyNode = -1;
  static constexpr std::int32_t kUnknownNode = -2;  ///< names a node that the snapshot does not have

  struct Params {
    std::int32_t node;
  };
  BERTH_HD static bool feasible(const Params& params, std::int32_t node) {
    return params.node == kAnyNode || params.node == node;
  }
};

}  // namespace berth
