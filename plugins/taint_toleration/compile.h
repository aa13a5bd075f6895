// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "host/objects/pod.h"
#include "plugins/taint_toleration/rule.h"

namespace berth {

/// docs/behaviour/plugins-node.md 7.1.
/// @param comparison_operators  gate TaintTolerationComparisonOperators: Gt and Lt count
bool tolerates(const Toleration& toleration, const Taint& taint, bool comparison_operators);
bool tolerates_any(std::span<const Toleration> tolerations, const Taint& taint, bool comparison_operators);

/// Owns what TaintToleration::Params points to.
struct CompiledTaintToleration {
  std::vector<std::uint8_t> refused_of_set;
  std::vector<std::int32_t> untolerated_of_set;

  TaintToleration::Params params() const { return {refused_of_set.data(), untolerated_of_set.data()}; }
};

CompiledTaintToleration compile_taint_toleration(std::span<const Toleration> tolerations,
                                                 std::span<const std::vector<Taint>> taint_sets,
                                                 bool comparison_operators);

}  // namespace berth
