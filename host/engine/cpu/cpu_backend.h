// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/engine/cpu/tuning.h"
#include "host/objects/cluster_objects.h"

namespace berth {

template <class State>
class EngineState;  // batching/engine_state.h

/// Columns, classes, rows in tiles and the commit log: the results of the serial algorithm for every placement, at the
/// cost of what changed. docs/architecture.md describes it.
class CpuBackend : public Backend {
 public:
  /// `config` must outlive the backend; nobody may change `cache`, and what is needed of `objects` is copied.
  /// @throws InputError when a profile's weights exceed what node-side rows hold (kMaxTotal)
  CpuBackend(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects, const SchedulerConfig& config,
             const EngineConfig& engine, const CpuTuning& tuning = {});
  ~CpuBackend() override;

  /// The same, for a fork. @param next_start  where the next search begins with --node-sampling kube
  static std::unique_ptr<CpuBackend> open_for_fork(std::shared_ptr<const ClusterCache> cache,
                                                   const ClusterObjects& objects, const SchedulerConfig& config,
                                                   const EngineConfig& engine, const CpuTuning& tuning,
                                                   std::size_t next_start);

  std::string_view name() const override { return "cpu"; }
  void compile(std::span<PodToPlace> pods) override;
  void release(std::span<PodToPlace> pods) override;
  void apply(std::span<const ClusterChange> changes) override;
  BatchResult commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) override;
  void refill(std::span<const PodToPlace> pods) override;
  void place(const PodToPlace& pod, std::string_view node_name) override;
  std::unique_ptr<Fork> open_fork(std::shared_ptr<const ForkParent> parent) const override;
  CommitMark mark() const override;
  void rollback(CommitMark mark) override;
  void settle() override;
  using Backend::undo;
  bool undo(const Pod& pod, const NominationUpsert* nomination) override;
  VolumeDecisionsPtr volume_decisions(const Pod& pod) override;
  Evaluation evaluate(const PodToPlace& pod) const override;
  NodeProbe probe(const PodToPlace& pod, std::string_view node_name) const override;
  void prepare(std::span<PodToPlace> pods) override;
  PodVerdicts verdicts(const PodToPlace& pod) const override;
  PodVerdicts verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const override;
  PodStatuses statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const override;
  PodTotals totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const override;
  CopiesAnswer copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) const override;
  bool is_node_local(const PodToPlace& pod) const override;
  AnswerChanges answer_changes(const PodToPlace& pod, AnswerBasis& basis) const override;
  DryRunResult dry_run(const DryRunRequest& request) const override;
  std::vector<Status> statuses_without_victims(const DryRunRequest& request) const override;
  void as_one(const std::function<void()>& calls) override;
  BackendStats stats() const override;
  std::string_view node_name(NodeIndex index) const override;
  NodeIndex find_node(std::string_view name) const override;
  std::int32_t slot_count() const override;
  const EngineCluster& cluster() override;

 private:
  struct State;
  std::unique_ptr<EngineState<State>> state_;
};

}  // namespace berth
