// SPDX-License-Identifier: Apache-2.0
#pragma once

// What CpuBackend stands on: cpu_backend.cpp walks through batches, undoes and syncs, cpu_placing.cpp places single
// pods and runs.

#include <tbb/task_arena.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "batching/commit_log.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/cpu/feasible_list.h"
#include "host/engine/cpu/grouped_rows.h"
#include "host/engine/cpu/reasons.h"
#include "host/engine/cpu/selection.h"
#include "host/engine/cpu/tile_cache.h"

namespace berth {

struct CpuBackend::State {
  State(const ClusterCache& cluster_cache, const ClusterObjects& objects, const SchedulerConfig& scheduler_config,
        const EngineConfig& engine_config, const CpuTuning& cpu_tuning)
      : cache(cluster_cache),
        config(scheduler_config),
        engine(engine_config),
        tuning(cpu_tuning),
        arena(engine.threads > 0 ? engine.threads : tbb::task_arena::automatic),
        snapshot(cluster_cache),
        table(objects, config, engine, snapshot, cache),
        nominations(objects, config, snapshot, table),
        tiles(table, engine.row_bytes_max, engine.tie_break == TieBreak::kRandom, tuning),
        grouped_rows(engine.row_bytes_max, tuning.coarse_domains_max),
        reasons(table, nominations, snapshot, log) {}

  const ClusterCache& cache;
  const SchedulerConfig& config;
  EngineConfig engine;
  CpuTuning tuning;
  tbb::task_arena arena;
  Snapshot snapshot;
  ClassTable table;
  Nominations nominations;
  CommitLog log;
  TileCache tiles;
  GroupedRows grouped_rows;
  Reasons reasons;
  /// What each answered pod changed, newest last. What few pods have is kept aside by position.
  std::vector<AnsweredPod> answered;
  std::size_t in_cache = 0;  ///< of `answered`, how many the cache knows: those up to the last sync()
  std::map<std::size_t, std::vector<HostPort>> ports_before;  ///< by position in `answered`
  std::map<std::size_t, PodPtr> nomination_lost;
  std::map<std::size_t, std::size_t> start_before;
  std::size_t next_start = 0;  ///< --node-sampling kube: where the next search begins
  std::int64_t list_evaluations = 0;

  BatchResult* result = nullptr;
  std::unordered_map<std::string, std::int32_t> message_index;

  bool scores_anything(const PodToPlace& pod) const { return table.profile_of(pod.class_index).scores_anything; }
  /// Rows alone decide: no compatibility mode, and no node whose scores would have to be checked.
  bool plain_mode() const {
    return engine.node_sampling == NodeSampling::kAll && engine.tie_break != TieBreak::kKube && !snapshot.any_wrapped();
  }

  void compile(std::span<PodToPlace> pods);
  /// Compiles anew what a later compile() may have told apart. @return `pods`, or the copy of them in `renewed`
  std::span<const PodToPlace> with_current_classes(std::span<const PodToPlace> pods, std::vector<PodToPlace>& renewed);
  std::span<const AnsweredPod> not_in_cache() const { return std::span(answered).subspan(in_cache); }
  void commit(std::span<const PodToPlace> pods, const BatchLimits& limits);
  void place_next(std::span<const PodToPlace> pods);
  bool place_run(std::span<const PodToPlace> pods, std::size_t run);
  std::size_t run_length(std::span<const PodToPlace> pods, std::size_t limit) const;
  bool try_nominated_node(const PodToPlace& pod, std::int32_t& refused_own);
  std::vector<std::int32_t> refused_by_nominations(const PodToPlace& pod);
  void select_and_place(std::span<const PodToPlace> pods, std::int32_t own_nomination);
  FeasibleList list_feasible(const TileCache::Place& place, const PodToPlace& pod,
                             const std::vector<std::int32_t>& refused, std::int32_t own_nomination);
  void answer_list(const PodToPlace& pod, const TileCache::Place& place, const FeasibleList& list);

  Selection select_in_groups(const PodToPlace& pod, const TileCache::Place& at);
  Selection select_in_row(const PodToPlace& pod, const TileCache::Place& at) const;
  void answer(const PodToPlace& pod, const Selection& selection, std::int32_t own_nomination);

  void place(const PodToPlace& pod, std::int32_t node, std::int64_t score);
  void apply(const PodToPlace& pod, std::int32_t node);
  void fail(const PodToPlace& pod, OutcomeKind kind, const std::string& text);
  void fail_everywhere(const PodToPlace& pod, bool nominations_matter, std::int32_t own_nomination);
  void drop_nomination(const PodToPlace& pod);
  void undo_last();
  void take_back(const AnsweredPod& last, std::size_t position);
};

}  // namespace berth
