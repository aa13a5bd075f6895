// SPDX-License-Identifier: Apache-2.0
#pragma once

// Topology terms as numbers: the compiled terms of each pod, and the tables that its placement changes. Labels enter a
// class only through registered queries and terms: two pods with different labels share a class while they match the
// same ones. docs/behaviour/plugins-topology.md 7.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/topology_program.h"
#include "batching/topology_queries.h"
#include "host/cluster/cache.h"
#include "host/cluster/snapshot.h"
#include "host/config/engine_config.h"
#include "plugins/pod_topology_spread/compile.h"

namespace berth {

/// A pod with an outcome.
struct AnsweredPod {
  const Pod* pod = nullptr;
  std::int32_t node = -1;  ///< -1: without a node
  std::int32_t pod_class = -1;
};

class TopologyIndex {
 public:
  /// `objects`, `config` and `cache` must outlive the index. Registers the terms of pods on nodes.
  TopologyIndex(const ClusterObjects& objects, const SchedulerConfig& config, const UpstreamBugs& bugs,
                Snapshot& snapshot, const ClusterCache& cache);

  /// A kind: pods with the same terms, labels and profile. kNoKind: topology rules do not concern the pod.
  static constexpr std::int32_t kNoKind = -1;
  bool has_terms() const { return queries_.has_terms(); }
  /// Registers the queries and terms of the pod; new ones change epoch(). Their tables are empty until count_new().
  std::int32_t kind_of(const Pod& pod, std::int32_t profile);
  /// Registers the terms of a pod that is not compiled: one that waits with a nomination.
  void note_terms(const Pod& pod) { queries_.owner_of(pod); }
  /// Fills new tables. @param placed  pods placed by the caller that are not in the cache
  void count_new(std::span<const AnsweredPod> placed);
  /// TopologyQueries::epoch(). After a change, pods of one class may match different queries: compile them again.
  std::uint32_t epoch() const { return queries_.epoch(); }

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

  /// TopologyQueries::effect()
  std::vector<CountMove> effect(const Pod& pod, const TopologyProgram& program, bool affinity) const {
    return queries_.effect(pod, program, affinity);
  }

  /// Call when pods of these nodes changed in the cache; it now contains all of `placed`.
  void recount_nodes(std::span<const std::int32_t> nodes, std::span<const AnsweredPod> placed);
  /// The tables as counted from scratch, for consistency checks.
  TopologyCounts recount(std::span<const AnsweredPod> placed);
  /// Call when node objects changed and the cache contains every placed pod.
  void rebuild();

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

  class NewMoves;

  bool concerns(const Pod& pod, std::int32_t profile) const;
  std::int32_t default_selector_of(const Pod& pod, std::int32_t identity, std::int32_t profile);
  void recompile(Kind& kind);

  CountedPod counted(const Pod& pod);
  std::vector<CountMove> moves_of(const CountedPod& pod);
  void read_cache();
  void add_counts(const CountedPod& pod, std::int32_t node, int sign);

  const SchedulerConfig& config_;
  Snapshot& snapshot_;
  const ClusterCache& cache_;
  DefaultSelectors default_selectors_;
  TopologyQueries queries_;
  std::vector<PodLabelSelector> selectors_{PodLabelSelector::everything()};
  std::unordered_map<std::string, std::int32_t> selector_of_signature_;
  std::map<std::pair<std::int32_t, const void*>, std::int32_t> selector_of_pod_;  ///< by identity and owner references
  std::vector<std::shared_ptr<const void>> kept_owners_;                          ///< keeps those keys alive
  std::unordered_map<KindKey, std::int32_t, KindKeyHash> kind_of_key_;
  std::vector<Kind> kinds_;
  std::vector<std::vector<CountedPod>> counted_;  ///< [node]; empty until has_terms()
  std::int32_t counted_tables_ = 0;               ///< tables below are filled
};

}  // namespace berth
