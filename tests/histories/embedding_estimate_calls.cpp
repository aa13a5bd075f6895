// SPDX-License-Identifier: Apache-2.0
// Calls of scale-up estimates.

#include <deque>

#include "tests/histories/embedding_calls.h"
#include "tests/histories/embedding_columns.h"
#include "tests/histories/given_shape.h"

namespace berth::test {
std::vector<EstimatedShape> EmbeddingCalls::scale_up(berth_fork* fork, const std::vector<OwnedPod>& pods,
                                                     const std::vector<ShapeQuestion>& shapes,
                                                     const NodeChoice& existing) {
  const std::vector<const berth_pod*> all = pointers(pods);
  std::deque<GivenShape> given;
  std::vector<const berth_shape*> list;
  for (const ShapeQuestion& shape : shapes) list.push_back(given.emplace_back(*this, shape).get());
  const OwnedNodeSet set = node_set(existing);
  berth_scale_up_options options = BERTH_SCALE_UP_OPTIONS_INIT;
  options.flags = existing.flags;
  options.nodes = set.get();
  berth_result* made = nullptr;
  must(berth_fork_scale_up(fork, all.data(), all.size(), list.data(), list.size(), &options, &made, &error_), &error_);
  const OwnedResult result(made);
  const auto nodes = column<std::uint32_t>(*result, BERTH_COLUMN_NODE);
  const auto new_nodes = column<std::uint32_t>(*result, BERTH_COLUMN_NEW_NODE);
  const auto reasons = texts(*result, BERTH_COLUMN_REASONS);
  const auto same_as = column<std::uint32_t>(*result, BERTH_COLUMN_SHAPE);
  const auto node_counts = column<std::uint32_t>(*result, BERTH_COLUMN_NODE_COUNT);
  const auto placed = column<std::uint32_t>(*result, BERTH_COLUMN_PLACED);
  const auto resources = texts(*result, BERTH_COLUMN_RESOURCE);
  const auto requested = column<std::int64_t>(*result, BERTH_COLUMN_REQUESTED);
  const auto allocatable = column<std::int64_t>(*result, BERTH_COLUMN_ALLOCATABLE);
  std::vector<EstimatedShape> estimated;
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    EstimatedShape& shape = estimated.emplace_back();
    shape.same_as = same_as[s];
    shape.node_count = node_counts[s];
    shape.placed = placed[s];
    for (std::size_t p = s * pods.size(); p < (s + 1) * pods.size(); ++p)
      shape.pods.push_back({node_name(nodes[p]), new_nodes[p], reasons[p]});
    for (std::size_t r = 0; r < resources.size(); ++r) {
      shape.requested[resources[r]] = requested[s * resources.size() + r];
      shape.allocatable[resources[r]] = allocatable[s * resources.size() + r];
    }
  }
  return estimated;
}

}  // namespace berth::test
