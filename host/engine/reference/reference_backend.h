// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/engine_cluster.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/engine/reference/cluster_view.h"
#include "host/engine/reference/known_pods.h"
#include "host/engine/reference/node_rules.h"
#include "host/engine/reference/node_state.h"
#include "host/engine/reference/request.h"
#include "host/engine/reference/search.h"
#include "host/framework/draw_bits.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// The second writing of the rules: pod by pod, node by node, straight from docs/behaviour/plugins-node.md and
/// docs/behaviour/plugins-topology.md, with no columns, rows, counters, classes or log of its own kind. Slow and meant
/// to be read; what the fast engines must equal.
class ReferenceBackend : public Backend {
 public:
  /// Nobody may change `cache`; of `objects` it copies the namespaces, services and workloads. `config` is kept by
  /// copy. Pending pods of `objects` that carry a nominatedNodeName are nominated, unless gated or foreign.
  ReferenceBackend(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
                   const SchedulerConfig& config, const EngineConfig& engine);

  std::string_view name() const override { return "reference"; }
  void compile(std::span<PodToPlace> pods) override;
  void release(std::span<PodToPlace> pods) override;
  void apply(std::span<const ClusterChange> changes) override;
  BatchResult commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) override;
  /// It asks plugins on the host as it goes, and knows nothing that could become stale.
  void refill(std::span<const PodToPlace> /*pods*/) override {}
  void place(const PodToPlace& pod, std::string_view node_name) override;
  std::unique_ptr<Fork> open_fork(std::shared_ptr<const ForkParent> parent) const override;
  CommitMark mark() const override { return {settled_ + log_.size()}; }
  void rollback(CommitMark mark) override;
  void settle() override;
  using Backend::undo;
  bool undo(const Pod& pod, const NominationUpsert* nomination) override;
  VolumeDecisionsPtr volume_decisions(const Pod& pod) override {
    return cluster_.cache().storage().decisions_of(pod.uid());
  }
  Evaluation evaluate(const PodToPlace& pod) const override;
  NodeProbe probe(const PodToPlace& pod, std::string_view node_name) const override;
  void prepare(std::span<PodToPlace> pods) override;
  PodVerdicts verdicts(const PodToPlace& pod) const override;
  PodVerdicts verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const override;
  PodStatuses statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const override;
  PodTotals totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const override;
  DryRunResult dry_run(const DryRunRequest& request) const override;
  std::vector<Status> statuses_without_victims(const DryRunRequest& request) const override;
  void as_one(const std::function<void()>& calls) override;
  BackendStats stats() const override;
  std::string_view node_name(NodeIndex index) const override;
  NodeIndex find_node(std::string_view name) const override;
  std::int32_t slot_count() const override { return static_cast<std::int32_t>(nodes_.size()); }
  const EngineCluster& cluster() override;

  /// Where the next search begins with `--node-sampling kube`: spec 2.6.
  std::size_t next_start() const { return next_start_; }

 private:
  /// What becomes of one pod.
  struct Decision {
    OutcomeKind kind = OutcomeKind::kUnschedulable;
    NodeIndex node = kNoNode;
    std::int64_t score = 0;
    Message message = {};
    std::vector<NodeIndex> others = {};  ///< BatchResult::others
  };

  struct Nomination {
    PodPtr pod;
    std::string uid;
    std::string node_name;  ///< of a node that need not exist
  };
  /// What rollback() needs of one pod with an outcome.
  struct LogEntry {
    PodPtr placed;          ///< null: the pod found no node
    std::string node_name;  ///< of the node, and its position and what was used there before
    std::size_t position = 0;
    reference::NodeUsage usage;
    std::size_t start = 0;
    VolumeDecisionsPtr decisions = nullptr;
    std::optional<Nomination> nomination_lost;
  };

  /// What a call may change beside the cluster and the end of the log.
  struct Before {
    std::vector<reference::NodeState> nodes;
    std::map<std::string, std::size_t, std::less<>> index_of;
    std::vector<Nomination> nominations;
    std::size_t next_start = 0;
    std::size_t answered = 0;
    std::size_t folded = 0;
    std::uint64_t version = 0;
  };
  template <class Body>
  void all_or_nothing(Body body);
  template <class Body>
  void place_or_nothing(Body body);
  void begin_call() noexcept;
  void keep_call() noexcept;
  void take_back_call() noexcept;

  void know(std::span<const PodToPlace> pods, bool prepared);
  void fold();
  void fold_for_hosts();
  void take_back(LogEntry& entry) noexcept;
  void read_nodes();
  void read_node(const NodeInfo& info, reference::NodeState& state) const;
  void reload_node(std::string_view name);
  void nominate(const PodPtr& pod, const std::string& node_name);
  std::optional<Nomination> end_nomination(std::string_view uid);
  void change_nomination(const ClusterEffect& effect);
  NodeIndex nomination_of(const Pod& pod) const;  ///< kNoNode: none, or none any more

  Decision decide(const PodToPlace& pod, const BatchLimits& limits);
  Decision choose(const PodToPlace& pod, const reference::Request& request, const reference::Search& search,
                  bool ranks_nodes) const;
  void answer(const PodToPlace& pod, NodeIndex node, std::size_t start);
  VolumeDecisionsPtr decide_volumes(const PodToPlace& pod, const Node& node) const;
  bool forget(const Pod& pod);

  /// The two passes of 2.5 on `state`: the node as it is, or with pods added and removed.
  Status filter(const reference::Request& request, const reference::PreFilterResult& pre,
                const reference::NodeState& state) const;
  NodeStatus filter_where_allowed(const reference::Request& request, const reference::PreFilterResult& pre,
                                  const reference::NodeState& state) const;
  std::string_view lasting_name(std::string_view plugin, const Profile& profile) const;
  NodeVerdict to_verdict(const NodeStatus& status, const Profile& profile) const;
  NodeStatus status_on(const reference::Request& request, const reference::PreFilterResult& pre,
                       const reference::NodeState& state) const;
  NodeStatus dry_run_one(const PodToPlace& preemptor, const VictimList& list, DryRunAnswer* answer,
                         std::vector<std::uint64_t>& kept) const;
  bool try_nominated(const reference::Request& request, reference::Search& search);
  void visit(const reference::Request& request, const std::vector<std::size_t>& candidates, std::size_t wanted,
             std::size_t start, reference::Search& search) const;
  void search_all(const reference::Request& request, reference::Search& search) const;
  void search_sampled(const reference::Request& request, reference::Search& search);
  std::vector<std::size_t> candidates(const reference::Search& search) const;
  std::size_t wanted_count(const Profile& profile, std::size_t candidate_count) const;
  std::vector<const reference::NodeState*> states_of(const std::vector<std::size_t>& nodes) const;
  reference::ClusterView view() const;
  std::size_t winner(const PodToPlace& pod, const std::vector<std::size_t>& nodes,
                     std::span<const std::int64_t> totals) const;
  std::vector<NodeIndex> others_of(const PodToPlace& pod, std::vector<std::size_t> nodes,
                                   std::vector<std::int64_t> totals) const;
  Draw draw(const PodToPlace& pod, std::size_t node) const;

  SchedulerConfig config_;
  EngineConfig engine_;
  EngineCluster cluster_;
  std::vector<reference::NodeState> nodes_;  ///< by NodeIndex, in node order
  std::map<std::string, std::size_t, std::less<>> index_of_;
  std::vector<Nomination> nominations_;
  std::size_t next_start_ = 0;
  std::vector<LogEntry> log_;
  std::size_t folded_ = 0;   ///< entries of the log whose placements the cluster has as assumed pods
  std::size_t settled_ = 0;  ///< pods with an outcome before those of the log
  int depth_ = 0;            ///< of nested calls
  /// Pods whose nomination changed from outside in the call, by uid, and how many had an outcome then.
  std::vector<std::pair<std::string, std::size_t>> renominated_;
  std::set<std::uint64_t> classes_;
  const std::shared_ptr<reference::KnownPods> known_pods_ = std::make_shared<reference::KnownPods>();
  /// Those that forks may place: of the engine, where this one belongs to a fork itself.
  std::shared_ptr<const reference::KnownPods> pods_of_forks_ = known_pods_;
  // Const calls run in parallel.
  mutable std::atomic<std::int64_t> dry_runs_ = 0;
  mutable std::atomic<std::int64_t> node_evaluations_ = 0;
};

}  // namespace berth
