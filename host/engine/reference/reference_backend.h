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
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/engine/reference/cluster_view.h"
#include "host/engine/reference/node_rules.h"
#include "host/engine/reference/node_state.h"
#include "host/engine/reference/request.h"
#include "host/engine/reference/search.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// The second writing of the rules: pod by pod, node by node, straight from docs/behaviour/plugins-node.md and
/// docs/behaviour/plugins-topology.md, with no columns, rows, counters, classes or log of its own kind. Slow and meant
/// to be read; what the fast engines must equal.
class ReferenceBackend : public Backend {
 public:
  /// Copies the nodes of `cache` in their order, and the pods on them, and of `objects` the namespaces, services and
  /// workloads; both may change or go afterwards.
  /// Pending pods of `objects` that carry a nominatedNodeName are nominated, unless gated, terminating or foreign.
  /// `config` is kept by copy.
  ReferenceBackend(const ClusterCache& cache, const ClusterObjects& objects, const SchedulerConfig& config,
                   const EngineConfig& engine);

  std::string_view name() const override { return "reference"; }
  void compile(std::span<PodToPlace> pods) override;
  BatchResult commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) override;
  CommitMark mark() const override { return {log_.size()}; }
  /// Returns to the state at `mark`: placements, nominations and the rotating start.
  /// @throws std::out_of_range for a mark behind the end of the log
  void rollback(CommitMark mark) override;
  Evaluation evaluate(const PodToPlace& pod) override;
  void prepare(std::span<PodToPlace> pods) override;
  PodVerdicts verdicts(const PodToPlace& pod) const override;
  DryRunResult dry_run(const DryRunRequest& request) const override;
  BackendStats stats() const override;
  std::string_view node_name(NodeIndex index) const override;
  std::int32_t node_count() const override { return static_cast<std::int32_t>(nodes_.size()); }

  /// Where the next search begins with `--node-sampling kube`: spec 2.6.
  std::size_t next_start() const { return next_start_; }

 private:
  struct Decision;

  /// What one committed pod changed, as it was before.
  struct LogEntry {
    NodeIndex node = kNoNode;  ///< kNoNode: the pod was not placed
    reference::NodeUsage usage;
    std::size_t start = 0;
    NodeIndex nominated_node = kNoNode;  ///< where the pod was nominated until then; kNoNode: nowhere
    PodPtr nominated;
  };

  void nominate(const ClusterObjects& objects);
  NodeIndex find_node(std::string_view name) const;
  NodeIndex nomination_of(const Pod& pod) const;  ///< kNoNode: none, or none any more
  void drop_nomination(const PodPtr& pod, LogEntry& entry);

  Decision decide(const PodToPlace& pod);
  Decision choose(const PodToPlace& pod, const reference::Request& request, const reference::Search& search) const;
  void place(const PodPtr& pod, NodeIndex node, LogEntry& entry);

  void check_prepared(const Pod& pod) const;
  /// The two passes of 2.5 on `state`: the node as it is, or with pods added and removed.
  Status filter(const reference::Request& request, const reference::PreFilterResult& pre,
                const reference::NodeState& state) const;
  Status filter_where_allowed(const reference::Request& request, const reference::PreFilterResult& pre,
                              const reference::NodeState& state) const;
  std::string_view lasting_name(std::string_view plugin, const Profile& profile) const;
  NodeVerdict to_verdict(const Status& status, const Profile& profile) const;
  void dry_run_one(const PodToPlace& preemptor, const VictimList& list, DryRunAnswer& answer,
                   std::vector<std::uint64_t>& kept) const;
  bool try_nominated(const reference::Request& request, reference::Search& search);
  void visit(const reference::Request& request, const std::vector<std::size_t>& candidates, std::size_t wanted,
             std::size_t start, reference::Search& search);
  void search_all(const reference::Request& request, reference::Search& search);
  void search_sampled(const reference::Request& request, reference::Search& search);
  std::vector<std::size_t> candidates(const reference::PreFilterResult& pre) const;
  std::size_t wanted_count(const Profile& profile, std::size_t candidate_count) const;
  std::vector<const reference::NodeState*> states_of(const std::vector<std::size_t>& nodes) const;
  reference::ClusterView view() const;
  std::size_t winner(const Pod& pod, const std::vector<std::size_t>& nodes, std::span<const std::int64_t> totals) const;
  std::uint32_t draw(const Pod& pod, std::size_t node) const;

  SchedulerConfig config_;
  EngineConfig engine_;
  std::vector<reference::NodeState> nodes_;  ///< by NodeIndex
  std::map<std::string, std::size_t, std::less<>> index_of_;
  std::map<std::string, ImageState, std::less<>> images_;
  std::vector<Namespace> namespaces_;
  std::vector<Service> services_;
  std::vector<Workload> workloads_;
  std::vector<std::vector<PodPtr>> nominated_;  ///< per node
  std::size_t next_start_ = 0;
  std::vector<LogEntry> log_;
  std::set<std::uint64_t> classes_;
  std::set<const Pod*> prepared_;
  mutable std::atomic<std::int64_t> dry_runs_ = 0;  ///< const calls run in parallel
  BackendStats stats_;
};

}  // namespace berth
