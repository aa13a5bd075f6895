// SPDX-License-Identifier: Apache-2.0
// Calls of scale-up estimates.

#include <deque>

#include "tests/histories/embedding_calls.h"
#include "tests/histories/embedding_columns.h"

namespace berth::test {
namespace {

/// A shape of berth.h, with what it refers to.
class GivenShape {
 public:
  GivenShape(EmbeddingCalls& calls, const ShapeQuestion& question) : text_(question.node.dump()) {
    for (const nlohmann::json& pod : question.pods) pods_.push_back(calls.pod(pod));
    pod_pointers_ = pointers(pods_);
    for (const std::string& key : question.startup_taints) taints_.push_back(key.c_str());
    for (const auto& [resource, amount] : question.caps) caps_.push_back({resource.c_str(), amount});
    if (question.name.empty()) {
      shape_.node = text_.data();
      shape_.node_size = text_.size();
    } else {
      shape_.copy_of = calls.node_number(question.name);
      shape_.flags = question.with_pods_of_node ? std::uint32_t{BERTH_SHAPE_WITH_PODS_OF_NODE} : 0U;
    }
    shape_.max_nodes = question.nodes_max;
    shape_.startup_taints = taints_.data();
    shape_.startup_taint_count = taints_.size();
    shape_.pods = pod_pointers_.data();
    shape_.pod_count = pod_pointers_.size();
    shape_.caps = caps_.data();
    shape_.cap_count = caps_.size();
    shape_.price = question.price;
  }
  GivenShape(const GivenShape&) = delete;
  GivenShape& operator=(const GivenShape&) = delete;

  const berth_shape* get() const { return &shape_; }

 private:
  std::string text_;
  std::vector<OwnedPod> pods_;
  std::vector<const berth_pod*> pod_pointers_;
  std::vector<const char*> taints_;
  std::vector<berth_amount> caps_;
  berth_shape shape_ = BERTH_SHAPE_INIT;
};

}  // namespace

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
