// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/tile_cache.h"

#include <algorithm>

namespace berth {
namespace {

/// Keys, their tournament and the node-side totals of one slot on one node.
constexpr std::uint64_t kBytesPerSlotAndNode = 8 + 8 / 3 + 4 + 1;

}  // namespace

std::vector<std::int32_t> TileCache::choose_classes(std::int32_t pod_class, std::span<const PodToPlace> upcoming,
                                                    std::int32_t node_count) const {
  const std::uint64_t per_slot = kBytesPerSlotAndNode * static_cast<std::uint64_t>(std::max(node_count, 1));
  const std::uint64_t affordable = bytes_max_ / 2 / per_slot / kSlotStep * kSlotStep;
  const auto slots = static_cast<std::size_t>(
      std::min(std::max<std::uint64_t>(affordable, kSlotStep), static_cast<std::uint64_t>(tuning_.slots_max)));
  std::vector<std::int32_t> classes{pod_class};
  for (const PodToPlace& pod : upcoming.first(std::min(upcoming.size(), tuning_.lookahead_pods))) {
    if (classes.size() == slots) break;
    const std::int32_t c = pod.class_index;
    if (c < 0 || table_[c].profile != table_[pod_class].profile) continue;
    const bool has_row = static_cast<std::size_t>(c) < place_of_class_.size() &&
                         place_of_class_[static_cast<std::size_t>(c)].tile != nullptr;
    if (!has_row && std::find(classes.begin(), classes.end(), c) == classes.end()) classes.push_back(c);
  }
  return classes;
}

std::unique_ptr<RowTile> TileCache::make_room(std::uint64_t bytes_needed, std::int32_t node_count) {
  std::unique_ptr<RowTile> retired;
  const std::size_t tiles_max = tuning_.tiles_max(node_count);
  while (!tiles_.empty() && (tiles_.size() >= tiles_max || bytes() + bytes_needed > bytes_max_)) {
    const auto oldest = std::min_element(tiles_.begin(), tiles_.end(), [](const auto& a, const auto& b) {
      return a->last_used < b->last_used;
    });
    for (const std::int32_t c : (*oldest)->classes()) place_of_class_[static_cast<std::size_t>(c)] = {};
    dropped_evaluations_ += (*oldest)->refresh_count;
    retired = std::move(*oldest);
    tiles_.erase(oldest);
  }
  return retired;
}

TileCache::Place TileCache::build(std::int32_t pod_class, std::span<const PodToPlace> upcoming,
                                  const Snapshot& snapshot, const CommitLog& log) {
  const std::vector<std::int32_t> classes = choose_classes(pod_class, upcoming, snapshot.node_count());
  const std::uint64_t slots = (classes.size() + kSlotStep - 1) / kSlotStep * kSlotStep;
  const std::unique_ptr<RowTile> retired = make_room(
      slots * kBytesPerSlotAndNode * static_cast<std::uint64_t>(snapshot.node_count()), snapshot.node_count());
  tiles_.push_back(std::make_unique<RowTile>(classes, table_, snapshot, draws_, retired.get()));
  RowTile& tile = *tiles_.back();
  tile.build(snapshot);
  tile.position = log.position();
  rows_built_ += static_cast<std::int64_t>(classes.size());
  place_of_class_.resize(static_cast<std::size_t>(table_.size()));
  for (std::size_t s = 0; s < classes.size(); ++s)
    place_of_class_[static_cast<std::size_t>(classes[s])] = {&tile, static_cast<int>(s)};
  return {&tile, 0};
}

void TileCache::replay(RowTile& tile, const Snapshot& snapshot, const CommitLog& log) {
  const std::span<const LogEntry> entries = log.since(tile.position);
  if (entries.empty()) return;
  if (entries.size() == 1) {
    tile.refresh(snapshot, entries.front().node);
  } else {
    // Columns hold the latest state, so one refresh a node is enough, however often it changed.
    seen_at_.resize(static_cast<std::size_t>(snapshot.node_count()));
    ++replay_mark_;
    for (const LogEntry& entry : entries) {
      std::uint64_t& seen = seen_at_[static_cast<std::size_t>(entry.node)];
      if (seen != replay_mark_) tile.refresh(snapshot, entry.node);
      seen = replay_mark_;
    }
  }
  tile.finish_refresh(snapshot);
  tile.position = log.position();
}

TileCache::Place TileCache::find(std::int32_t pod_class, std::span<const PodToPlace> upcoming, const Snapshot& snapshot,
                                 const CommitLog& log) {
  const auto c = static_cast<std::size_t>(pod_class);
  Place place = c < place_of_class_.size() ? place_of_class_[c] : Place{};
  if (place.tile == nullptr) {
    place = build(pod_class, upcoming, snapshot, log);
  } else {
    replay(*place.tile, snapshot, log);
  }
  place.tile->last_used = ++clock_;
  return place;
}

void TileCache::clear() {
  dropped_evaluations_ = node_evaluations();
  tiles_.clear();
  place_of_class_.clear();
  seen_at_.clear();
}

std::uint64_t TileCache::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& tile : tiles_) bytes += tile->bytes();
  return bytes;
}

std::int64_t TileCache::node_evaluations() const {
  std::int64_t count = dropped_evaluations_;
  for (const auto& tile : tiles_) count += tile->refresh_count;
  return count;
}

}  // namespace berth
