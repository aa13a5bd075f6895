// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

struct CompiledNodeDeclaredFeatures;  // compile.h

/// Refuses nodes that do not declare a feature the pod's spec needs: docs/behaviour/plugins-node.md 13. Behind its
/// gate.
struct NodeDeclaredFeatures {
  static constexpr RuleDescriptor descriptor{
      .name = "NodeDeclaredFeatures",
      .touches = Touches::kNothing,
      .filters = true,
      .filter_gate = "NodeDeclaredFeatures",
      .missing = "of v1.36's registry only the entries that v1.35 has are known"};
  static constexpr std::string_view name = descriptor.name;
  using NodeSide = CompiledNodeDeclaredFeatures;
  static constexpr std::string_view reason_prefix_1_35 =
      "node declared features check failed - unsatisfied requirements: ";
  static constexpr std::string_view reason_1_36 = "node(s) didn't match Pod's required features";
  static constexpr std::string_view restart_all_containers = "RestartAllContainersOnContainerExits";
};

}  // namespace berth
