// SPDX-License-Identifier: Apache-2.0
// One shape of an estimate: first fit, pod by pod, with one node more where none fits.

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "host/capi/scale_up.h"

namespace berth::capi {
namespace {

class Packing {
 public:
  Packing(Fork& fork, const NodeShape& shape, std::size_t pod_count, std::span<const NodeIndex> existing,
          bool has_nominations)
      : fork_(fork), shape_(shape), new_nodes_(shape, fork), search_(fork), existing_count_(existing.size()) {
    for (const NodeIndex node : existing) search_.add(std::string(fork.node_name(node)), node, has_nominations);
    answer_.node.assign(pod_count, ShapeAnswer::kNone);
    answer_.new_node = answer_.left_over = answer_.node;
  }

  void try_pod(std::size_t i, const WaitingPod& pod) {
    std::string error;
    if (const auto position = search_.find(*pod.to_place, pod.kind, error)) return place(i, pod, *position);
    if (!error.empty()) return leave_over(i, {StatusCode::kError, BERTH_PHASE_NONE, "", std::move(error)});
    Refused& known = refused_[pod.kind];
    if (known.reason == ShapeAnswer::kNone || (!known.is_for_good && known.at != placements_)) {
      std::optional<LeftOver> refusal = try_new_node(pod, known);
      if (!refusal) return place(i, pod, search_.size() - 1);
      known.reason = number_of(std::move(*refusal));
      known.at = placements_;
    }
    answer_.left_over[i] = known.reason;
  }

  ShapeAnswer finish() {
    answer_.node_count = static_cast<std::uint32_t>(new_nodes_.count());
    return std::move(answer_);
  }

 private:
  /// Why an empty new node does not take pods of a kind. It does not change unless a pod is placed.
  struct Refused {
    std::uint32_t reason = ShapeAnswer::kNone;
    std::uint64_t at = 0;  ///< placements_
    bool is_for_good = false;
  };

  void place(std::size_t i, const WaitingPod& pod, std::size_t position) {
    const bool is_new = position >= existing_count_;
    const std::size_t at = is_new ? position - existing_count_ : position;
    fork_.place(*pod.to_place, search_.name(position));
    (is_new ? answer_.new_node : answer_.node)[i] = static_cast<std::uint32_t>(at);
    ++answer_.placed;
    ++placements_;
  }
  void leave_over(std::size_t i, LeftOver reason) { answer_.left_over[i] = number_of(std::move(reason)); }
  std::uint32_t number_of(LeftOver reason) {
    const auto at = std::ranges::find(answer_.reasons, reason);
    const auto number = static_cast<std::uint32_t>(at - answer_.reasons.begin());
    if (at == answer_.reasons.end()) answer_.reasons.push_back(std::move(reason));
    return number;
  }

  /// Adds a node and keeps it if it takes the pod. @return why it was not kept
  std::optional<LeftOver> try_new_node(const WaitingPod& pod, Refused& known) {
    const NodeIndex node = new_nodes_.add();
    std::optional<LeftOver> refusal = verdict_on(pod, node, known);
    if (!refusal) refusal = cap_reached();
    if (refusal) {
      new_nodes_.remove_last();
    } else {
      search_.add(new_nodes_.name(new_nodes_.count() - 1), node, false);
    }
    search_.follow_nodes();
    return refusal;
  }
  std::optional<LeftOver> verdict_on(const WaitingPod& pod, NodeIndex node, Refused& known) {
    const PodVerdicts verdicts = fork_.verdicts_on(*pod.to_place, {&node, 1});
    if (!verdicts.error.empty()) return LeftOver{StatusCode::kError, BERTH_PHASE_NONE, "", verdicts.error};
    if (verdicts.nodes.front().accepts()) return std::nullopt;
    known.is_for_good = is_for_good(verdicts.nodes.front(), false);
    const PodStatuses statuses = fork_.statuses_on(*pod.to_place, {&node, 1});
    const auto& [status, is_of_pre_filter] = statuses.nodes.front();
    const std::uint8_t phase = is_of_pre_filter ? BERTH_PHASE_PRE_FILTER : BERTH_PHASE_FILTER;
    return LeftOver{status.code, phase, status.plugin, status.message()};
  }
  /// Call with the node that would be one too many.
  std::optional<LeftOver> cap_reached() {
    const auto count = static_cast<std::int64_t>(new_nodes_.count());
    if (shape_.nodes_max != 0 && count > shape_.nodes_max)
      return capped(BERTH_CAP_NODES, "", "the cap of " + std::to_string(shape_.nodes_max) + " nodes is reached");
    for (const ResourceCap& cap : shape_.caps)
      if (const std::int64_t each = offered(*shape_.node, cap.resource); each > 0 && count > cap.amount / each)
        return capped(BERTH_CAP_RESOURCE, cap.resource,
                      "the cap of " + std::to_string(cap.amount) + " " + cap.resource + " is reached");
    return std::nullopt;
  }
  LeftOver capped(std::uint8_t cap, const std::string& resource, std::string reason) {
    if (answer_.cap == BERTH_CAP_NONE) {
      answer_.cap = cap;
      answer_.cap_resource = resource;
    }
    return {StatusCode::kUnschedulable, BERTH_PHASE_NODE, "", std::move(reason)};
  }

  Fork& fork_;
  const NodeShape& shape_;
  NewNodes new_nodes_;
  FirstFit search_;
  std::size_t existing_count_;
  std::unordered_map<std::uint64_t, Refused> refused_;  ///< by kind
  std::uint64_t placements_ = 0;
  ShapeAnswer answer_;
};

}  // namespace

std::optional<ShapeAnswer> pack(Fork& fork, const NodeShape& shape, std::span<const WaitingPod> pods,
                                std::span<const std::uint32_t> order, std::span<const NodeIndex> existing,
                                bool has_nominations, const StopWatch& watch) {
  const auto packed = unless_interrupted(watch, true, [&]() -> std::optional<ShapeAnswer> {
    Packing packing(fork, shape, pods.size(), existing, has_nominations);
    for (const std::uint32_t i : order) {
      if (watch.is_over()) return std::nullopt;
      if (pods[i].to_place != nullptr) packing.try_pod(i, pods[i]);
    }
    return packing.finish();
  });
  return packed ? *packed : std::nullopt;
}

}  // namespace berth::capi
