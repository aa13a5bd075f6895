// SPDX-License-Identifier: Apache-2.0
#pragma once

// Topology terms as numbers: the compiled terms of each pod, and the tables that its placement changes. Labels enter a
// class only through registered queries and terms: two pods with different labels share a class while they match the
// same ones. docs/behaviour/plugins-topology.md 7.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/topology_program.h"
#include "batching/topology_queries.h"
#include "host/cluster/engine_cluster.h"
#include "host/cluster/snapshot.h"
#include "host/config/engine_config.h"
#include "plugins/pod_topology_spread/compile.h"

namespace berth {

/// A pod with an outcome.
struct AnsweredPod {
  const Pod* pod = nullptr;
  std::int32_t node = -1;  ///< slot; -1: without a node
  std::int32_t pod_class = -1;
  std::uint32_t handle = 0;  ///< PodToPlace::handle
};

class TopologyIndex {
 public:
  /// `cluster`, `config` and `snapshot` must outlive the index. Registers the terms of pods on nodes.
  TopologyIndex(const EngineCluster& cluster, const SchedulerConfig& config, const UpstreamBugs& bugs,
                Snapshot& snapshot);

  /// A kind: pods with the same terms, labels and profile. kNoKind: topology rules do not concern the pod.
  static constexpr std::int32_t kNoKind = -1;
  bool has_terms() const { return queries_->has_terms(); }
  /// Registers the queries and terms of the pod; new ones change epoch(). Their tables are empty until count_new().
  std::int32_t kind_of(const Pod& pod, std::int32_t profile);
  /// Registers the terms of a pod that is not compiled: one that waits with a nomination.
  void note_terms(const Pod& pod) { queries_->owner_of(pod); }
  /// Fills new tables. @param placed  pods placed by the caller that are not in the cache
  void count_new(std::span<const AnsweredPod> placed);
  /// Changes with TopologyQueries::epoch(), and with what a pod is compiled from. After a change, pods of one class may
  /// match different queries: compile them again.
  std::uint32_t epoch() const { return epochs_before_ + queries_->epoch(); }

  struct Compiled {
    std::shared_ptr<const TopologyProgram> program;  ///< null: neither plugin affects the pod
    std::vector<CountMove> moves;                    ///< what placing the pod changes, by table
    std::string signature;                           ///< equal: equal program and moves
  };
  /// As of now. Valid until the next call.
  const Compiled& compile(std::int32_t kind);
  /// Table changes of placing the pod, including tables that were added after it was placed: count_new() counted it
  /// there.
  const std::vector<CountMove>& moves_of(const Pod& pod, std::int32_t profile);

  /// The changes that a pod on a node makes in all tables; nullptr: not known as of the epoch, ask moves_on_node().
  const std::vector<CountMove>* known_moves(const Pod& pod) const;
  /// The same, registering the pod's terms. Valid until the next call.
  const std::vector<CountMove>& moves_on_node(const Pod& pod) { return moves_of(counted(pod)); }
  /// Whether moves_on_node() would register a term.
  bool brings_new_terms(const Pod& pod) const { return !queries_->knows_terms_of(pod); }

  /// TopologyQueries::effect()
  std::vector<CountMove> effect(const Pod& pod, const TopologyProgram& program, bool affinity) const {
    return queries_->effect(pod, program, affinity);
  }

  // Cluster events. The cluster, and the snapshot but for its topology, have taken them in before.

  /// Placements that the cluster took over as assumed pods: their counts stay.
  void take_over(std::span<const AnsweredPod> placed);
  /// Pods of the node came, went or changed.
  void change_pods(std::int32_t slot);
  /// The node came, went, or its object changed; its pods are those from before. @return whether it moved to another
  /// domain, or into or out of the nodes that count for some table
  bool move_node(std::int32_t slot);
  /// Services or workloads changed.
  void change_selectors();
  /// Namespaces changed: registers all queries again, so that indices of tables, queries and kinds are void.
  void change_namespaces();
  /// The number of slots changed: counts from scratch.
  void rebuild();
  /// The tables as counted from scratch, for consistency checks.
  TopologyCounts recount(std::span<const AnsweredPod> placed);

 private:
  struct KindKey {
    const PodSpec* spec;
    std::int32_t identity;
    std::int32_t default_selector;
    std::int32_t profile;
    bool terminating;
    friend bool operator==(const KindKey&, const KindKey&) = default;
  };
  struct KindKeyHash {
    std::size_t operator()(const KindKey& key) const;
  };
  struct Kind {
    std::shared_ptr<const PodSpec> spec;
    std::int32_t identity = 0;
    std::int32_t owner = 0;
    std::int32_t profile = 0;
    bool terminating = false;
    OwnProgram own;
    std::uint32_t epoch = UINT32_MAX;  ///< that `compiled` is of
    Compiled compiled{};
  };
  /// A pod of the cache as it is counted in the tables.
  struct CountedPod {
    std::int32_t identity;
    std::int32_t owner;
    bool terminating;
  };

  bool concerns(const Pod& pod, std::int32_t profile) const;
  std::int32_t default_selector_of(const Pod& pod, std::int32_t identity, std::int32_t profile);
  void recompile(Kind& kind);

  CountedPod counted(const Pod& pod);
  static std::uint64_t key_of(const CountedPod& pod);
  /// Valid until the next call.
  const std::vector<CountMove>& moves_of(const CountedPod& pod);
  void register_pods();
  /// None of a free slot.
  std::span<const PodPtr> pods_on(std::int32_t slot) const;
  void read_pods();
  void read_pods_of(std::int32_t slot);
  void add_counts_of(std::int32_t slot, int sign);

  const EngineCluster& cluster_;
  const SchedulerConfig& config_;
  UpstreamBugs bugs_;
  Snapshot& snapshot_;
  DefaultSelectors default_selectors_;
  std::optional<TopologyQueries> queries_;  ///< replaced when namespaces change
  std::uint32_t epochs_before_ = 0;
  std::vector<PodLabelSelector> selectors_{PodLabelSelector::everything()};
  std::unordered_map<std::string, std::int32_t> selector_of_signature_;
  std::map<std::pair<std::int32_t, const void*>, std::int32_t> selector_of_pod_;  ///< by identity and owner references
  std::vector<std::shared_ptr<const void>> kept_owners_;                          ///< keeps those keys alive
  std::unordered_map<KindKey, std::int32_t, KindKeyHash> kind_of_key_;
  std::vector<Kind> kinds_;
  /// Of pods that stand on nodes, since pods of one template change the same tables; as of the epoch.
  struct KnownMoves {
    std::uint32_t epoch = UINT32_MAX;
    std::vector<CountMove> moves;
  };
  std::unordered_map<std::uint64_t, KnownMoves> known_moves_;
  std::vector<std::vector<CountedPod>> counted_;  ///< [slot] pods of the cluster; empty until has_terms()
  std::int32_t counted_tables_ = 0;               ///< tables below are filled
};

}  // namespace berth
