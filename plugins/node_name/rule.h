// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

struct CompiledNodeName;  // compile.h

/// Refuses all nodes but the one that spec.nodeName names: docs/behaviour/plugins-node.md 6.
struct NodeName {
  static constexpr RuleDescriptor descriptor{.name = "NodeName", .touches = Touches::kNothing, .filters = true};
  static constexpr std::string_view name = descriptor.name;
  using NodeSide = CompiledNodeName;
  static constexpr std::string_view reason = "node(s) didn't match the requested node name";
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
