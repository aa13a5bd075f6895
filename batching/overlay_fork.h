// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "batching/accepting_nodes.h"
#include "batching/backend.h"
#include "batching/commit_state.h"
#include "batching/engine_fork.h"
#include "batching/excluded_nodes.h"
#include "batching/fork_source.h"
#include "batching/pods_in_order.h"

namespace berth {

/// A fork that reads its engine and copies what it changes: columns of amounts and counts of topology domains by page,
/// and pods by uid. Nodes that come, change or go in the fork are its guests: it answers for them itself
/// (host/cluster/guest_nodes.h, batching/guest_sides.h). When it meets something that it cannot read in the engine, it
/// opens an engine of its own in the same state: nodes that change in the engine, pods whose terms the engine has never
/// seen, and what can_be_guest() and change_image_scores() name.
class OverlayFork : public Fork {
 public:
  /// A fork of the engine as it is now, with its placements folded. Call while nobody changes the engine.
  OverlayFork(std::shared_ptr<ForkSource> source, std::shared_ptr<const ForkParent> parent);
  ~OverlayFork() override;
  OverlayFork(const OverlayFork&) = delete;
  OverlayFork& operator=(const OverlayFork&) = delete;

  BatchResult commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) override;
  void place(const PodToPlace& pod, std::string_view node_name) override;
  Evaluation evaluate(const PodToPlace& pod) override;
  PodVerdicts verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) override;
  PodStatuses statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) override;
  PodTotals totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) override;
  void accepts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes, std::span<std::uint8_t> accepts) override;
  void amounts_on(std::span<const std::string> resources, std::span<const NodeIndex> nodes,
                  std::span<std::int64_t> requested, std::span<std::int64_t> allocatable) override;
  CopiesAnswer copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) override;
  DryRunResult dry_run(const DryRunRequest& request) override;
  std::vector<Status> statuses_without_victims(const DryRunRequest& request) override;
  void apply(std::span<const ClusterChange> changes) override;
  void know(std::span<const PodPtr> pods) override;
  std::unique_ptr<Fork> fork() override;
  bool promote() override;
  void as_one(const std::function<void()>& calls) override;
  std::string_view node_name(NodeIndex index) const override;
  NodeIndex find_node(std::string_view name) override;
  std::shared_ptr<const void> numbering() const override { return engine_ == nullptr ? source_ : nullptr; }
  bool is_left_behind() const override;
  std::string node_of_pod(const std::string& uid) override;
  std::size_t first_standing(std::span<const std::string* const> uids) override;
  NodePtr node_object(const std::string& name) override;
  std::vector<PodPtr> pods_on(const std::string& node_name) override;
  std::vector<NodeIndex> nodes_in_order() override;
  std::vector<PodPtr> pods_below(NodeIndex node, std::int32_t priority) override;
  Backend& as_engine() override { return engine().engine(); }
  std::uint64_t own_bytes() const override;

 private:
  /// Where a pod stands in the fork.
  struct Standing {
    PodPtr pod;  ///< null: on no node
    std::string node_name;
    bool is_assumed = false;
  };
  class Reading;

  OverlayFork(const OverlayFork& from, std::shared_ptr<const ForkParent> parent);

  template <class Body>
  bool on_overlay(Body body);
  template <class NeedsRow, class Look>
  bool look_at(const PodToPlace& pod, NeedsRow needs_row, Look look);
  std::optional<std::vector<PodToPlace>> known_now(std::span<const PodToPlace> pods, Reading& reading);
  const KeptNodes* accepting_now(const PodToPlace& pod);
  bool ask_nodes(const PodToPlace& pod, std::span<const NodeIndex> nodes, std::vector<std::uint8_t>& accepts) const;
  std::vector<PodToPlace> prepared(std::span<const PodToPlace> pods, Reading& reading) const;
  bool asks_hosts(std::span<const PodToPlace> pods, const Reading& reading) const;
  void make_ready(std::span<const PodToPlace> pods, Reading& reading);
  bool follow_new_columns(Reading& reading);
  bool is_current() const;
  void count_new_columns();
  /// TopologyCounts::tables_added() and Snapshot::resources_built() before new ones came.
  struct Known {
    std::uint64_t tables_added;
    std::uint64_t resources_built;
  };
  void count_in_new(const Standing& standing, std::int32_t slot, int sign, const Known& known);
  void count_guests_in_new(const std::vector<GuestPlace>& guests, const Known& known);
  void note_touched();
  void note_placement(std::int32_t node);
  void answer_front(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure);
  void answer(const PodToPlace& pod);
  void note_outcomes(std::span<const PodToPlace> pods, const BatchResult& result);

  void read_journal();
  const ClusterCache& cache_of_source() const;
  Standing in_source(const std::string& uid) const;
  Standing as_opened(const std::string& uid);
  const Standing& standing_of(const std::string& uid, Standing& opened);
  bool stands(const std::string& uid) const;
  bool ensure_moves(std::span<const ClusterChange> changes, Reading& reading);
  void learn_moves(std::span<const PodPtr> unknown, Reading& reading);
  bool follow(std::span<const ClusterChange> changes);
  bool follow_as_one(std::span<const ClusterChange> changes);
  void apply_one(const ClusterChange& change);
  void leave(const std::string& uid);
  void stand(const PodPtr& pod);
  void change_node(const Standing& standing, int sign);

  // Guests.
  bool guests_change_scores(std::span<const PodToPlace> pods);
  bool can_be_guest(const Node& node) const;
  bool follow(const NodeUpsert& change);
  bool follow(const NodeRemoval& change);
  bool come(const NodePtr& node);
  bool change(std::int32_t slot, const NodeUpsert& change);
  /// The pods that stand on the node, now or when the fork was opened.
  enum class When : std::uint8_t { kNow, kAsOpened };
  std::vector<PodPtr> pods_on(const std::string& node_name, When when);
  std::optional<std::vector<CountMove>> moves_of_all(std::span<const PodPtr> pods) const;
  void lay_guest(std::int32_t slot, const NodePtr& node);
  void note_guest(std::int32_t slot);

  // Preemption.
  template <class Ask, class AskEngine>
  auto ask_about_victims(const DryRunRequest& request, Ask ask, AskEngine ask_engine);
  bool has_unknown_victims(std::span<const VictimList> lists);
  std::vector<PodPtr> unchanged_pods_on(const std::string& node_name) const;
  const PodsInOrder& pods_in_order();

  EngineOfFork& engine();
  std::shared_ptr<const ClusterCache> cluster_as_opened();
  NodeIndex own_index(NodeIndex of_engine);
  std::vector<NodeIndex> in_engine(std::span<const NodeIndex> nodes);
  std::vector<bool> among_in_engine(const std::vector<bool>& among);
  CopiesAnswer copies_in_engine(std::span<const PodToPlace> pods, const CopiesLimits& limits);

  std::shared_ptr<ForkSource> source_;
  std::uint64_t journal_position_;  ///< when the fork was opened
  std::unique_ptr<CommitState> state_;
  std::unordered_map<std::string, Standing> own_pods_;  ///< by uid, of pods that came, left or changed in the fork
  bool may_stray_ = false;                              ///< some of these may stand on a node that is not there
  /// By uid: position of the first change in the journal since the fork was opened.
  std::unordered_map<std::string, std::uint64_t> changed_since_;
  std::uint64_t journal_seen_;  ///< up to where changed_since_ is complete
  GuestDomains guest_domains_;
  ExcludedNodes touched_;                       ///< nodes whose load differs from the engine's, or may
  std::uint64_t live_log_seen_ = 0;             ///< position in the engine's log up to which touched_ is complete
  AcceptingNodes accepting_;                    ///< of `state_`
  std::unique_ptr<PodsInOrder> pods_in_order_;  ///< null: nobody asked
  std::size_t changed_in_order_ = 0;            ///< pods of changed_since_ that pods_in_order_ knows
  ForkHistory history_;
  std::shared_ptr<ForkParent> self_ = std::make_shared<ForkParent>();

  std::unique_ptr<EngineOfFork> engine_;  ///< instead of state_
  /// What of the fork's state neither its cluster nor its history says.
  struct Beside {
    std::size_t next_start = 0;
    std::vector<NominationUpsert> nominations;
  };
  Beside beside() const;
  std::optional<Beside> reopen_with_;  ///< where there is neither state_ nor engine_
  /// The nodes that the fork has named so far: a name stays where it is while the engine changes.
  mutable std::unordered_map<std::int32_t, std::string> names_;
  std::unordered_map<std::string, std::int32_t> index_of_name_;  ///< with `engine_`, whose own indices differ
};

}  // namespace berth
