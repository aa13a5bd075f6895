// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "batching/backend.h"
#include "batching/commit_log.h"
#include "batching/pod_class.h"
#include "host/engine/cpu/row_tile.h"
#include "host/engine/cpu/tuning.h"

namespace berth {

/// Keeps tiles of rows between pods and batches, within a byte limit. Dropping a tile never changes a result: its rows
/// are rebuilt when they are needed.
class TileCache {
 public:
  TileCache(ClassTable& table, std::uint64_t bytes_max, const CpuTuning& tuning)
      : table_(table), bytes_max_(bytes_max), tuning_(tuning) {}

  /// Counts the pods of a batch by class, so that rows that it no longer needs are dropped first.
  void begin_batch(std::span<const PodToPlace> pods);
  /// Call after `count` pods of the class were answered.
  void answered(std::int32_t pod_class, std::int64_t count);

  /// Classes of the pods of the batch.
  std::int32_t classes_in_batch() const { return classes_in_batch_; }

  struct Place {
    RowTile* tile = nullptr;
    int slot = 0;
  };
  /// The row of a class whose profile has keys, current to the end of `log`; valid until the next call. A class without
  /// a row gets one in a new tile, together with the next classes of `upcoming`, and with `expected` ones.
  Place find(std::int32_t pod_class, std::span<const PodToPlace> upcoming, const Snapshot& snapshot,
             const CommitLog& log, std::span<const std::int32_t> expected = {});
  /// The same of a row that is current already; tile null otherwise. Changes nothing.
  Place find_current(std::int32_t pod_class, const CommitLog& log) const;
  /// Brings a tile that find() gave in the same batch to the end of the log.
  void replay(RowTile& tile, const Snapshot& snapshot, const CommitLog& log);
  /// The class has a row that missed at most `changes` of the log, and of node objects none.
  bool is_close(std::int32_t pod_class, const CommitLog& log, std::uint64_t changes) const;
  /// Drops the tiles of classes that are gone. @param classes  their numbers, which new classes may have by now
  void drop_classes(std::span<const std::int32_t> classes);
  void clear();

  std::uint64_t bytes() const;
  std::int64_t rows_built() const { return rows_built_; }
  std::int64_t node_evaluations() const;

 private:
  Place build(std::int32_t pod_class, std::span<const PodToPlace> upcoming, const Snapshot& snapshot,
              const CommitLog& log, std::span<const std::int32_t> expected);
  std::vector<std::int32_t> choose_classes(std::int32_t pod_class, std::span<const PodToPlace> upcoming,
                                           std::span<const std::int32_t> expected, std::int32_t node_count) const;
  /// @return the tile dropped last, for reuse of its memory; null when none was dropped
  std::unique_ptr<RowTile> make_room(std::uint64_t bytes_needed, std::int32_t node_count);
  std::unique_ptr<RowTile> drop(std::vector<std::unique_ptr<RowTile>>::iterator at);
  std::int64_t count_pods_left(std::span<const std::int32_t> classes) const;
  RowTile* bring_up_to_date(RowTile& known, const Snapshot& snapshot, const CommitLog& log);

  ClassTable& table_;
  std::uint64_t bytes_max_;
  CpuTuning tuning_;
  std::vector<std::unique_ptr<RowTile>> tiles_;
  std::vector<Place> place_of_class_;
  std::vector<std::int64_t> pods_left_;  ///< of the batch, by class
  std::int32_t classes_in_batch_ = 0;
  std::vector<std::uint64_t> seen_at_;  ///< per node: mark of the replay that last refreshed it
  std::uint64_t replay_mark_ = 0;
  std::uint64_t clock_ = 0;
  std::uint64_t batch_began_ = 0;  ///< clock_ then
  std::int64_t rows_built_ = 0;
  std::int64_t dropped_evaluations_ = 0;
};

}  // namespace berth
