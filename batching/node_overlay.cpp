// SPDX-License-Identifier: Apache-2.0
#include "batching/node_overlay.h"

#include <algorithm>

#include "host/cluster/pod_footprint.h"
#include "plugins/rule.h"

namespace berth {

void OverlaidCounts::apply(std::span<const CountMove> moves, int sign) {
  for (const CountMove& move : moves) {
    if (!counts_.counts_node(move.table, node_)) continue;
    const std::int64_t amount = static_cast<std::int64_t>(sign) * move.amount;
    const auto known = std::find_if(changes_.begin(), changes_.end(),
                                    [&](const Change& change) { return change.table == move.table; });
    if (known == changes_.end()) {
      changes_.push_back({move.table, amount});
    } else {
      known->amount += amount;
    }
  }
}

std::int64_t OverlaidCounts::minimum(std::int32_t table) const {
  const std::int64_t change = change_of(table);
  if (change == 0) return counts_.minimum(table);
  const std::int64_t count = counts_.count_at(table, node_);
  return counts_.minimum_with(table, count, count + change);
}

void NodeOverlay::read_for(const PodClass& pod_class) {
  columns_.clear();
  index_of_column_.assign(static_cast<std::size_t>(snapshot_.resource_count()), kNotRead);
  for (const RequestedResource& request : pod_class.requested) {
    if (request.column == kNoColumn) continue;
    std::int32_t& index = index_of_column_[static_cast<std::size_t>(request.column)];
    if (index != kNotRead) continue;
    index = static_cast<std::int32_t>(columns_.size());
    columns_.push_back(request.column);
  }
  amounts_.resize(columns_.size());
  tracks_ports_ = !pod_class.ports.empty();
  tracks_pods_ = !pod_class.host.empty();
}

void NodeOverlay::reset(std::int32_t node) {
  node_ = node;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    amounts_[i] = {snapshot_.allocatable(columns_[i], node), snapshot_.requested(columns_[i], node)};
  pod_count_ = snapshot_.pod_count(node);
  if (tracks_ports_) ports_ = snapshot_.used_ports(node);
  counts_.reset(node);
  added_pods_.clear();
  removed_pods_.clear();
}

/// A pod that comes back was not removed, and the other way round.
void NodeOverlay::note_pod(const Pod* pod, int sign) {
  if (!tracks_pods_ || pod == nullptr) return;
  std::vector<const Pod*>& undone = sign > 0 ? removed_pods_ : added_pods_;
  if (const auto at = std::find(undone.begin(), undone.end(), pod); at != undone.end()) {
    undone.erase(at);
  } else {
    (sign > 0 ? added_pods_ : removed_pods_).push_back(pod);
  }
}

void NodeOverlay::apply(const PodEffect& pods, std::int64_t pod_count, int sign) {
  for (const auto& [column, amount] : pods.delta.requested) {
    const std::int32_t index = index_of_column_[static_cast<std::size_t>(column)];
    if (index == kNotRead) continue;
    std::int64_t& requested = amounts_[static_cast<std::size_t>(index)].requested;
    requested = sign > 0 ? add_wrapping(requested, amount) : subtract(requested, amount);
  }
  pod_count_ += sign * pod_count;
  if (tracks_ports_ && !pods.ports.empty()) sign > 0 ? add_ports(ports_, pods.ports) : free_ports(ports_, pods.ports);
  counts_.apply(pods.moves, sign);
  note_pod(pods.pod, sign);
}

}  // namespace berth
