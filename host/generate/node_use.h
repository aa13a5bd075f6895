// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host/objects/node.h"
#include "host/objects/resources.h"

namespace berth {

/// The resources that the running pods of one node use so far.
struct NodeUse {
  ResourceAmounts requested;
  std::int64_t pod_count = 0;

  /// Whether one more pod that requests `request` fits `node`. Host ports are not checked.
  bool has_room(const Node& node, const ResourceAmounts& request) const;
  void add_pod(const ResourceAmounts& request);
};

}  // namespace berth
