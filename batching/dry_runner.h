// SPDX-License-Identifier: Apache-2.0
#pragma once

// What dry runs of preemption have in common, and one dry run by itself, in integers of any size.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "batching/node_overlay.h"
#include "batching/prepared_pod.h"
#include "batching/victim_moves.h"
#include "batching/victims.h"

namespace berth {

/// What all dry runs of a class have in common.
struct DryRunClass {
  bool reads_tables = false;    ///< Filter reads topology tables
  bool affinity_skips = false;  ///< affinity_pre_filter_skips(), before any pod is removed
  KindMoves* known_moves = nullptr;
  LaneRequest lanes;
  mutable std::once_flag moves_once;
  mutable std::unique_ptr<const VictimMoves> moves;
};

/// A preemptor of a DryRunRequest.
struct Preemptor {
  PreparedPod pod;
  const DryRunClass* of_class = nullptr;  ///< null where the pod has an error
  bool nominations_matter = false;        ///< some pod that is nominated to some node counts against it
  LaneRequest lanes;                      ///< size 0: its dry runs need a DryRunner
};

/// A request with what its dry runs share. Any number of threads may read it.
class PreparedDryRuns {
 public:
  /// All arguments must outlive the object. @throws what Backend::dry_run() throws
  PreparedDryRuns(const DryRunRequest& request, const NodeSides& sides, const Nominations& nominations,
                  const Snapshot& snapshot, VictimMemory& memory);

  const DryRunRequest& request() const { return request_; }
  const Nominations& nominations() const { return nominations_; }
  const Snapshot& snapshot() const { return snapshot_; }
  const Preemptor& preemptor(std::size_t preemptor) const { return preemptors_[preemptor]; }
  const Victims& victims() const { return *victims_; }
  /// Of a class that reads tables; evaluated by the first thread that asks.
  const VictimMoves& moves_of(const Preemptor& preemptor) const;

 private:
  void prepare_preemptors(VictimMemory& memory);

  const DryRunRequest& request_;
  const NodeSides& sides_;
  const Nominations& nominations_;
  const Snapshot& snapshot_;
  std::unordered_map<std::int32_t, DryRunClass> classes_;
  std::vector<Preemptor> preemptors_;
  std::unique_ptr<const Victims> victims_;
  std::unique_ptr<const ListsOfKinds> lists_of_kinds_;  ///< null: few classes read tables
};

/// Answers dry runs one after another, in one thread.
class DryRunner {
 public:
  explicit DryRunner(const PreparedDryRuns& call) : call_(call), overlay_(call.snapshot()), crowded_(call.snapshot()) {}

  /// @param answer  first_kept is given  @param kept  the mask, all bits 0
  void answer(const DryRun& run, DryRunAnswer& answer, std::uint64_t* kept);
  /// What remains of the refusal once every victim of the list is gone, with its reasons.
  Status status_without_victims(const DryRun& run);

 private:
  /// @return false: Filter does not run on the node, and the verdict is known without it
  bool begin_run(const DryRun& run, NodeVerdict& verdict);
  void begin_class();
  /// Of the victim, in the tables that the class reads.
  std::span<const CountMove> moves_of(std::size_t victim) const {
    return moves_ == nullptr ? std::span<const CountMove>() : moves_->of_kind(prepared_->kinds[victim]);
  }
  PodEffect effect_of(std::size_t victim, const Pod& pod) const {
    const Footprint& footprint = call_.victims().footprint(*prepared_, victim);
    return {footprint.delta, footprint.ports, moves_of(victim), &pod};
  }
  void remove_all(const DryRun& run, NodeOverlay& overlay) const;
  bool ports_stay() const;
  bool amounts_decide() const;
  bool add_to_tables(std::size_t victim);
  void reprieve_by_amounts(const VictimList& list, DryRunAnswer& answer, std::uint64_t* kept);
  void reprieve(const VictimList& list, DryRunAnswer& answer, std::uint64_t* kept);
  /// Filter with and without the nominated pods that count against the preemptor: filter_node_with(node), of a verdict
  /// or a status, as it comes for the first of both that does not accept.
  template <class Filter>
  auto filter_twice(Filter filter_node_with);
  NodeVerdict filter();

  const PreparedDryRuns& call_;
  NodeOverlay overlay_;
  NodeOverlay crowded_;  ///< overlay_ with the nominated pods that count against the preemptor, where loads_crowd_
  // Of the current class:
  std::int32_t class_index_ = -1;
  std::vector<std::int64_t> requests_;  ///< [NodeOverlay::columns]
  const VictimMoves* moves_ = nullptr;  ///< null: the class reads no table
  // Of the current run:
  const Preemptor* preemptor_ = nullptr;
  const PreparedList* prepared_ = nullptr;
  std::optional<NodeSideView> side_;
  /// A resource that the class requests, with what is in use on the node and by the victims that may stay.
  struct Column {
    std::int64_t request = 0;
    std::int64_t allocatable = 0;
    std::int64_t requested = 0;
    std::size_t of_victim = 0;  ///< PreparedList::index_of()
  };
  /// A node as it fills up again: with nominated pods or without.
  struct Filling {
    std::vector<Column> columns;
    std::int64_t pod_count = 0;
  };
  void begin(const NodeOverlay& from, Filling& node) const;
  Filling plain_filling_;
  Filling crowded_filling_;
  bool nominations_matter_ = false;
  bool loads_crowd_ = false;    ///< the nominated pods change amounts and ports alone, and no victim has ports
  bool tables_matter_ = false;  ///< some victim changes a table that the class reads
};

}  // namespace berth
