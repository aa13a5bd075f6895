// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plugins/node_name/rule.h"
#include "plugins/node_side.h"

namespace berth {

struct CompiledNodeName : NodeSideDefaults {
  static CompiledNodeName compile(const NodeSidePod& pod, const Options& options, Snapshot& snapshot);

  template <class Refuse>
  void filter(const Options& /*options*/, const Snapshot& /*snapshot*/, Refuse refuse) const {
    if (params.node == NodeName::kAnyNode) return;
    refuse(NodeName::reason, [this](std::int32_t node) { return !NodeName::feasible(params, node); });
  }

  bool mentions_names() const { return is_named; }

  NodeName::Params params{NodeName::kAnyNode};
  bool is_named = false;
};

}  // namespace berth
