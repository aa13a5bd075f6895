// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

/// Refuses nodes on which a wanted host port is taken: docs/behaviour/plugins-node.md 9.
struct NodePorts {
  static constexpr RuleDescriptor descriptor{.name = "NodePorts", .touches = Touches::kColumnOfNode, .filters = true};
  static constexpr std::string_view name = descriptor.name;
  static constexpr std::string_view reason = "node(s) didn't have free ports for the requested pod ports";

  /// Only the IPv4 wildcard is one; "::" is an address like any other.
  BERTH_HD static bool conflict(bool same_protocol_and_port, bool wanted_is_wildcard, bool used_is_wildcard,
                                bool same_ip) {
    return same_protocol_and_port && (wanted_is_wildcard || used_is_wildcard || same_ip);
  }
};

}  // namespace berth
