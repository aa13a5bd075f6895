// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "batching/device/accelerator.h"
#include "host/cluster/cache.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/engine/device/device_tuning.h"
#include "host/objects/cluster_objects.h"

namespace berth {

template <class State>
class EngineState;  // batching/engine_state.h

/// The device-independent part of the GPU backend: columns, rows and whole batches on a device, with the results of the
/// serial algorithm for every placement. The host updates its own snapshot with every outcome, for reasons and
/// rollback, and places one by one the pods that the device does not support: node sampling, the heap order of ties,
/// plugins on the host, sums that wrapped, totals beyond what a key holds. A nominated pod tries its own node on the
/// host; where that refuses it, and for pods that nominations count against, the device leaves the nodes that refuse
/// out of the row (NominationsOfLaunch).
///
/// A call that throws DeviceError has no effect: outcomes of earlier calls stand, those of this call are rolled back,
/// and the next call uploads the device state again.
class DeviceBackend : public Backend {
 public:
  /// `config` must outlive the backend; nobody may change `cache`, and what is needed of `objects` is copied.
  /// @throws InputError when a profile's weights exceed what node-side rows hold (kMaxTotal)
  DeviceBackend(std::unique_ptr<Accelerator> accelerator, std::shared_ptr<const ClusterCache> cache,
                const ClusterObjects& objects, const SchedulerConfig& config, const EngineConfig& engine,
                const DeviceTuning& tuning = {});
  ~DeviceBackend() override;

  std::string_view name() const override;
  void compile(std::span<PodToPlace> pods) override;
  void release(std::span<PodToPlace> pods) override;
  void apply(std::span<const ClusterChange> changes) override;
  BatchResult commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) override;
  void refill(std::span<const PodToPlace> pods) override;
  std::vector<BatchResult> try_forks(std::span<const std::span<const PodToPlace>> forks,
                                     const BatchLimits& limits) override;
  void place(const PodToPlace& pod, std::string_view node_name) override;
  /// Batches are answered by the device where the fork has the engine's nodes, and no plugins on the host concern them;
  /// DeviceStats::fork_pods_on_host counts the others.
  std::unique_ptr<Fork> open_fork(std::shared_ptr<const ForkParent> parent) const override;
  CommitMark mark() const override;
  void rollback(CommitMark mark) override;
  void settle() override;
  using Backend::undo;
  bool undo(const Pod& pod, const NominationUpsert* nomination) override;
  VolumeDecisionsPtr volume_decisions(const Pod& pod) override;
  /// Uses the device's mirror, so that evaluations run one after another.
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
  /// Answered by the host: DeviceStats::dry_runs_on_host.
  DryRunResult dry_run(const DryRunRequest& request) const override;
  std::vector<Status> statuses_without_victims(const DryRunRequest& request) const override;
  void as_one(const std::function<void()>& calls) override;
  BackendStats stats() const override;
  std::string_view node_name(NodeIndex index) const override;
  NodeIndex find_node(std::string_view name) const override;
  std::int32_t slot_count() const override;
  const EngineCluster& cluster() override;

  const Accelerator& accelerator() const;

 private:
  struct State;
  static BatchResult commit(State& state, std::span<const PodToPlace> pods, const BatchLimits& limits);
  std::unique_ptr<EngineState<State>> state_;
};

}  // namespace berth
