// SPDX-License-Identifier: Apache-2.0
#pragma once

// The state of CpuBackend: the common state of fast backends, and rows in tiles and groups. cpu_backend.cpp iterates
// over batches, cpu_placing.cpp finds nodes for single pods and runs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/commit_state.h"
#include "batching/selection.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/cpu/dry_run_tasks.h"
#include "host/engine/cpu/grouped_rows.h"
#include "host/engine/cpu/index_selection.h"
#include "host/engine/cpu/level_selection.h"
#include "host/engine/cpu/lone_row.h"
#include "host/engine/cpu/tile_cache.h"
#include "host/objects/work_arena.h"

namespace berth {

struct CpuBackend::State : CommitState {
  State(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
        const SchedulerConfig& scheduler_config, const EngineConfig& engine_config, const CpuTuning& cpu_tuning)
      : CommitState(std::move(cache), objects, scheduler_config, engine_config, "cpu"),
        tuning(cpu_tuning),
        arena(arena_of(engine)),
        tiles(table, engine.row_bytes_max, tuning),
        grouped_rows(engine.row_bytes_max, tuning.coarse_domains_max),
        index(table, nominations, tuning) {
    keep_log(tuning.log_entries_min);
    table.sweep_after(tuning.sweep_additions_min, kSweepShare);
  }

  State(const State& from, Reopened reopened)
      : CommitState(from, reopened),
        tuning(from.tuning),
        arena(arena_of(engine)),
        tiles(table, engine.row_bytes_max, tuning),
        grouped_rows(engine.row_bytes_max, tuning.coarse_domains_max),
        index(table, nominations, tuning) {
    table.sweep_after(tuning.sweep_additions_min, kSweepShare);
    earlier.rows_built = from.rows_built();
    earlier.node_evaluations = from.row_evaluations();
    ways = from.ways;
  }
  std::int64_t rows_built() const { return earlier.rows_built + tiles.rows_built() + lone_row.rows_built(); }
  /// Without those for lists.
  std::int64_t row_evaluations() const {
    return earlier.node_evaluations + tiles.node_evaluations() + lone_row.evaluations() + index.evaluations();
  }

  BackendStats stats() const;

  CpuTuning tuning;
  std::shared_ptr<WorkArena> arena;  ///< const calls run in it too
  TileCache tiles;
  GroupedRows grouped_rows;
  LoneRow lone_row;
  IndexSelection index;
  AnswerWays ways;
  SelectionScratch scratch;
  /// What plugins on the host refused when a class was selected for in a row.
  struct HostLeftOut {
    std::uint64_t version = 0;
    std::vector<std::int32_t> nodes;
  };
  std::unordered_map<std::int32_t, HostLeftOut> host_left_out;  ///< by class

  ForBlocks dry_runs_in_tasks() const { return berth::dry_runs_in_tasks(*arena, tuning.dry_runs_per_task); }

  /// CommitState::close(), and gives back the memory of the rows.
  void close();
  void void_rows(const RowsAfter& after);
  void commit(std::span<const PodToPlace> pods, const BatchLimits& limits);
  void clear_rows_of_old_order(std::size_t pod_count);
  void make_ready_for_forks(std::span<const PodToPlace> pods) override;
  bool is_ready_for_forks(std::span<const PodToPlace> pods) const override;
  bool has_rows(const PodToPlace& pod) const;
  bool has_row_for_fork(const PodToPlace& pod, const CommitState& fork) const;
  bool mark_accepting_for_fork(const PodToPlace& pod, const CommitState& fork,
                               std::span<std::uint8_t> accepts) const override;
  std::optional<Selection> select_for_fork(const PodToPlace& pod, const CommitState& fork,
                                           const ExcludedNodes& touched) const override;
  /// Places the pod at the front, or the run of equal pods that begins with it.
  void answer_front(std::span<const PodToPlace> pods, std::size_t pods_max);
  void place_next(std::span<const PodToPlace> pods);
  bool place_run(std::span<const PodToPlace> pods, std::size_t run);
  std::size_t run_length(std::span<const PodToPlace> pods, std::size_t limit);
  std::size_t run_in_groups(std::span<const PodToPlace> pods, std::size_t limit);
  void place_in_groups(std::span<const PodToPlace> run);
  void select_and_place(std::span<const PodToPlace> pods, std::int32_t own_nomination);
  Selection select_beside_hosts(std::span<const PodToPlace> pods);
  void note_host_refusals(std::int32_t pod_class, const HostRefusing& refusing);
  bool comes_alone(std::span<const PodToPlace> pods) const;
  bool index_pays(std::int32_t pod_class) const;
  std::optional<Selection> select_by_index(std::span<const PodToPlace> pods, bool from_list,
                                           const ExcludedNodes& refused);
  bool fail_by_index(const PodToPlace& pod, std::int32_t own_nomination);
  void build_node_sides_ahead(std::span<const PodToPlace> pods);
  const ExcludedNodes& leave_out_refused(const PodToPlace& pod, const TileCache::Place& at);
  std::optional<Selection> select_beside_nominated(const PodToPlace& pod);
  void note_key_changes(const PodToPlace& pod, const NominationAnswers::Refused& refused);
  void cut_where_a_node_refuses(const PodToPlace& pod, std::vector<RunPick>& picks);
  Selection select_in_groups(const PodToPlace& pod, const SlotKeys& keys);
  Selection select_in_groups(std::int32_t pod_class, GroupedRow& row, const SlotKeys& keys);
  Selection select_in_row(const PodToPlace& pod, const TileCache::Place& at) const;
  Selection select_in_lone_row(const PodToPlace& pod);
};

}  // namespace berth
