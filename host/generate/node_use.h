// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host/objects/node.h"
#include "host/objects/resources.h"

namespace berth {

/// What the running pods of one node have taken of it so far.
struct NodeUse {
  ResourceAmounts requested;
  std::int64_t pod_count = 0;

  /// Whether one more pod that asks `request` stays within what `node` has. Host ports are not looked at.
  bool has_room(const Node& node, const ResourceAmounts& request) const;
  void add_pod(const ResourceAmounts& request);
};

}  // namespace berth
