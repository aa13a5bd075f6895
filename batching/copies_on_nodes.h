// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace berth {

/// How many pods of a run go to each node.
class CopiesOnNodes {
 public:
  void add(std::int32_t node) {
    const auto slot = static_cast<std::size_t>(node);
    if (copies_.size() <= slot) copies_.resize(slot + 1);
    if (copies_[slot]++ == 0) nodes_.push_back(node);
  }
  /// Calls use(node, copies) in the order of the nodes' first copies, and forgets them.
  template <class Use>
  void take(Use use) {
    for (const std::int32_t node : nodes_) use(node, std::exchange(copies_[static_cast<std::size_t>(node)], 0));
    nodes_.clear();
  }

 private:
  std::vector<std::int32_t> copies_;  ///< [slot]
  std::vector<std::int32_t> nodes_;   ///< with a copy
};

}  // namespace berth
