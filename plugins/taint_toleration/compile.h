// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "host/objects/pod.h"
#include "plugins/node_side.h"
#include "plugins/taint_toleration/rule.h"

namespace berth {

/// docs/behaviour/plugins-node.md 7.1.
/// @param comparison_operators  gate TaintTolerationComparisonOperators: Gt and Lt count
bool tolerates(const Toleration& toleration, const Taint& taint, bool comparison_operators);
bool tolerates_any(std::span<const Toleration> tolerations, const Taint& taint, bool comparison_operators);

/// Owns what TaintToleration::Params points to.
struct CompiledTaintToleration : NodeSideDefaults {
  struct Options {
    bool comparison_operators = false;
  };
  static Options compile_options(const Profile& profile, const FeatureGates& gates, Snapshot& snapshot);
  static CompiledTaintToleration compile(const NodeSidePod& pod, const Options& options, Snapshot& snapshot);

  template <class Refuse>
  void filter(const Options& /*options*/, const Snapshot& snapshot, Refuse refuse) const {
    refuse(TaintToleration::reason, [this, &snapshot](std::int32_t node) {
      return !TaintToleration::feasible(params(), snapshot.taint_set(node));
    });
  }
  std::int64_t score(const Snapshot& snapshot, std::int32_t node) const {
    return TaintToleration::score(params(), snapshot.taint_set(node));
  }

  void extend(const NodeSidePod& pod, const Options& options, const Snapshot& snapshot);

  std::vector<std::uint8_t> refused_of_set;
  std::vector<std::int32_t> untolerated_of_set;
  std::uint64_t known_definitions = 0;  ///< of taint sets

  TaintToleration::Params params() const { return {refused_of_set.data(), untolerated_of_set.data()}; }
};

CompiledTaintToleration compile_taint_toleration(std::span<const Toleration> tolerations,
                                                 std::span<const std::vector<Taint>> taint_sets,
                                                 bool comparison_operators);

}  // namespace berth
