// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images and the nodes that have them: docs/behaviour/scheduler-core.md 2.3.

#include <cstdint>
#include <map>
#include <string>

#include "host/cluster/cache.h"

namespace berth {

/// A name counts once per node. Its size is the first one reported while any node has it.
class ImageTable {
 public:
  using States = std::map<std::string, ImageState, std::less<>>;

  void add(const Node& node);
  void drop(const Node& node);  ///< takes back exactly what add() of an equal image list did
  const States& states() const { return states_; }
  std::uint64_t memory_bytes() const;

 private:
  States states_;
};

}  // namespace berth
