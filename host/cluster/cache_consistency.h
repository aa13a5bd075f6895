// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares the aggregates of the cache with the sums over its pods.
// docs/behaviour/scheduler-core.md 2.7.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/cluster/image_table.h"
#include "host/cluster/node_tree.h"

namespace berth {

/// Collects differences as lines "node n1: requested cpu is 5, counted 7".
class Differences {
 public:
  void expect(const std::string& what, std::int64_t kept, std::int64_t counted) {
    if (kept == counted) return;
    lines_.push_back(what + " is " + std::to_string(kept) + ", counted " + std::to_string(counted));
  }
  void add(std::string line) { lines_.push_back(std::move(line)); }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

/// Recounts the sums and ports of a node from its pods, and checks its zone.
void check_node(const NodeEntry& entry, Differences& differences);

/// @param counted  of the node objects
void compare_images(const ImageTable& kept, const ImageTable& counted, Differences& differences);

}  // namespace berth
