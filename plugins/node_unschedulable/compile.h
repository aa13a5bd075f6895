// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "host/objects/pod.h"
#include "plugins/node_side.h"
#include "plugins/node_unschedulable/rule.h"
#include "plugins/taint_toleration/compile.h"

namespace berth {

NodeUnschedulable::Params compile_node_unschedulable(std::span<const Toleration> tolerations,
                                                     bool comparison_operators);

struct CompiledNodeUnschedulable : NodeSideDefaults {
  using Options = CompiledTaintToleration::Options;
  static Options compile_options(const Profile& profile, const FeatureGates& gates, Snapshot& snapshot) {
    return CompiledTaintToleration::compile_options(profile, gates, snapshot);
  }
  static CompiledNodeUnschedulable compile(const NodeSidePod& pod, const Options& options, Snapshot& snapshot);

  template <class Refuse>
  void filter(const Options& /*options*/, const Snapshot& snapshot, Refuse refuse) const {
    refuse(NodeUnschedulable::reason, [this, &snapshot](std::int32_t node) {
      return !NodeUnschedulable::feasible(params, snapshot.unschedulable(node));
    });
  }

  NodeUnschedulable::Params params{};
};

}  // namespace berth
