// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/tile_cache.h"

#include <algorithm>

namespace berth {
namespace {

/// Keys, their tournament and the node-side totals of one slot on one node.
constexpr std::uint64_t kBytesPerSlotAndNode = 8 + 8 / 3 + 4 + 1;
/// Entries of a replay that are prefetched; more would evict each other from the first-level cache.
constexpr std::size_t kPrefetched = 8;

}  // namespace

std::vector<std::int32_t> TileCache::choose_classes(std::int32_t pod_class, std::span<const PodToPlace> upcoming,
                                                    std::span<const std::int32_t> expected,
                                                    std::int32_t node_count) const {
  const std::uint64_t per_slot = kBytesPerSlotAndNode * static_cast<std::uint64_t>(std::max(node_count, 1));
  const std::uint64_t affordable = bytes_max_ / 2 / per_slot / kSlotStep * kSlotStep;
  const auto slots = static_cast<std::size_t>(
      std::min(std::max<std::uint64_t>(affordable, kSlotStep), static_cast<std::uint64_t>(tuning_.slots_max)));
  std::vector<std::int32_t> classes{pod_class};
  const auto take = [&](std::int32_t c) {
    if (c < 0 || table_[c].profile != table_[pod_class].profile || !table_.host_only_refuses(c)) return;
    const bool has_row = static_cast<std::size_t>(c) < place_of_class_.size() &&
                         place_of_class_[static_cast<std::size_t>(c)].tile != nullptr;
    if (!has_row && std::find(classes.begin(), classes.end(), c) == classes.end()) classes.push_back(c);
  };
  for (const PodToPlace& pod : upcoming.first(std::min(upcoming.size(), tuning_.lookahead_pods))) {
    if (classes.size() == slots) return classes;
    take(pod.class_index);
  }
  for (const std::int32_t c : expected) {
    if (classes.size() == slots) break;
    take(c);
  }
  return classes;
}

void TileCache::begin_batch(std::span<const PodToPlace> pods) {
  batch_began_ = clock_;
  pods_left_.assign(static_cast<std::size_t>(table_.size()), 0);
  classes_in_batch_ = 0;
  for (const PodToPlace& pod : pods)
    if (pod.class_index >= 0 && ++pods_left_[static_cast<std::size_t>(pod.class_index)] == 1) ++classes_in_batch_;
  for (const auto& tile : tiles_) tile->pods_left = count_pods_left(tile->classes());
}

std::int64_t TileCache::count_pods_left(std::span<const std::int32_t> classes) const {
  std::int64_t count = 0;
  for (const std::int32_t c : classes)
    if (static_cast<std::size_t>(c) < pods_left_.size()) count += pods_left_[static_cast<std::size_t>(c)];
  return count;
}

void TileCache::answered(std::int32_t pod_class, std::int64_t count) {
  const auto c = static_cast<std::size_t>(pod_class);
  if (c < pods_left_.size()) pods_left_[c] -= count;
  if (c < place_of_class_.size() && place_of_class_[c].tile != nullptr) place_of_class_[c].tile->pods_left -= count;
}

std::unique_ptr<RowTile> TileCache::drop(std::vector<std::unique_ptr<RowTile>>::iterator at) {
  for (const std::int32_t c : (*at)->classes()) place_of_class_[static_cast<std::size_t>(c)] = {};
  dropped_evaluations_ += (*at)->refresh_count;
  std::unique_ptr<RowTile> dropped = std::move(*at);
  tiles_.erase(at);
  return dropped;
}

std::unique_ptr<RowTile> TileCache::make_room(std::uint64_t bytes_needed, std::int32_t node_count) {
  const std::size_t tiles_max = tuning_.tiles_max(node_count);
  // A tile that the batch has used and does not need any more is still in the CPU caches: reuse its memory first.
  const auto done = std::find_if(tiles_.begin(), tiles_.end(), [&](const auto& tile) {
    return tile->pods_left <= 0 && tile->last_used > batch_began_;
  });
  std::unique_ptr<RowTile> retired = done == tiles_.end() ? nullptr : drop(done);
  while (!tiles_.empty() && (tiles_.size() >= tiles_max || bytes() + bytes_needed > bytes_max_))
    retired = drop(std::min_element(tiles_.begin(), tiles_.end(),
                                    [](const auto& a, const auto& b) { return a->last_used < b->last_used; }));
  return retired;
}

TileCache::Place TileCache::build(std::int32_t pod_class, std::span<const PodToPlace> upcoming,
                                  const Snapshot& snapshot, const CommitLog& log,
                                  std::span<const std::int32_t> expected) {
  const std::vector<std::int32_t> classes = choose_classes(pod_class, upcoming, expected, snapshot.slot_count());
  const std::uint64_t slots = (classes.size() + kSlotStep - 1) / kSlotStep * kSlotStep;
  const std::unique_ptr<RowTile> retired = make_room(
      slots * kBytesPerSlotAndNode * static_cast<std::uint64_t>(snapshot.slot_count()), snapshot.node_count());
  tiles_.push_back(std::make_unique<RowTile>(classes, table_, snapshot, retired.get()));
  RowTile& tile = *tiles_.back();
  tile.build(snapshot);
  tile.position = log.position();
  tile.pods_left = count_pods_left(classes);
  rows_built_ += static_cast<std::int64_t>(classes.size());
  place_of_class_.resize(static_cast<std::size_t>(table_.size()));
  for (std::size_t s = 0; s < classes.size(); ++s)
    place_of_class_[static_cast<std::size_t>(classes[s])] = {&tile, static_cast<int>(s)};
  return {&tile, 0};
}

/// Builds a tile again in whose classes the node side of any node may have changed, or that the log has left behind.
RowTile* TileCache::bring_up_to_date(RowTile& known, const Snapshot& snapshot, const CommitLog& log) {
  if (log.reaches(known.position) && !known.has_outdated_node_side()) {
    known.node_sides_version = table_.node_sides_version();
    replay(known, snapshot, log);
    return &known;
  }
  std::unique_ptr<RowTile>& tile =
      *std::find_if(tiles_.begin(), tiles_.end(), [&](const auto& listed) { return listed.get() == &known; });
  const std::vector<std::int32_t> classes(tile->classes().begin(), tile->classes().end());
  // The old one stays in the list until there is another: memory may run out in between.
  auto renewed = std::make_unique<RowTile>(classes, table_, snapshot, tile.get());
  renewed->build(snapshot);
  renewed->position = log.position();
  renewed->pods_left = tile->pods_left;
  dropped_evaluations_ += tile->refresh_count;
  tile = std::move(renewed);
  rows_built_ += static_cast<std::int64_t>(classes.size());
  for (std::size_t s = 0; s < classes.size(); ++s)
    place_of_class_[static_cast<std::size_t>(classes[s])].tile = tile.get();
  return tile.get();
}

void TileCache::replay(RowTile& tile, const Snapshot& snapshot, const CommitLog& log) {
  const std::span<const LogEntry> entries = log.since(tile.position);
  if (entries.empty()) return;
  for (const LogEntry& entry : entries)
    if (entry.sign == 0) tile.reload_base(snapshot, entry.node);
  if (entries.size() == 1) {
    tile.refresh(snapshot, entries.front().node);
  } else {
    // Columns hold the latest state, so one refresh a node is enough, however often it changed.
    seen_at_.resize(static_cast<std::size_t>(snapshot.slot_count()));
    ++replay_mark_;
    for (const LogEntry& entry : entries.first(std::min(entries.size(), kPrefetched))) tile.prefetch(entry.node);
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
                                 const CommitLog& log, std::span<const std::int32_t> expected) {
  const auto c = static_cast<std::size_t>(pod_class);
  Place place = c < place_of_class_.size() ? place_of_class_[c] : Place{};
  if (place.tile == nullptr) {
    place = build(pod_class, upcoming, snapshot, log, expected);
  } else if (place.tile->node_sides_version == table_.node_sides_version() && log.reaches(place.tile->position)) {
    replay(*place.tile, snapshot, log);
  } else {
    place.tile = bring_up_to_date(*place.tile, snapshot, log);
  }
  place.tile->last_used = ++clock_;
  return place;
}

TileCache::Place TileCache::find_current(std::int32_t pod_class, const CommitLog& log) const {
  const auto c = static_cast<std::size_t>(pod_class);
  const Place place = c < place_of_class_.size() ? place_of_class_[c] : Place{};
  const bool is_current = place.tile != nullptr && place.tile->position == log.position() &&
                          place.tile->node_sides_version == table_.node_sides_version();
  return is_current ? place : Place{};
}

bool TileCache::is_close(std::int32_t pod_class, const CommitLog& log, std::uint64_t changes) const {
  const auto c = static_cast<std::size_t>(pod_class);
  const RowTile* const tile = c < place_of_class_.size() ? place_of_class_[c].tile : nullptr;
  return tile != nullptr && tile->node_sides_version == table_.node_sides_version() && log.reaches(tile->position) &&
         log.position() - tile->position <= changes;
}

void TileCache::drop_classes(std::span<const std::int32_t> classes) {
  for (const std::int32_t c : classes)
    if (static_cast<std::size_t>(c) < place_of_class_.size() &&
        place_of_class_[static_cast<std::size_t>(c)].tile != nullptr)
      drop(std::find_if(tiles_.begin(), tiles_.end(), [&](const auto& listed) {
        return listed.get() == place_of_class_[static_cast<std::size_t>(c)].tile;
      }));
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
