// SPDX-License-Identifier: Apache-2.0
#pragma once

// From pods to numbers: what each pod asks of the others and brings along, and the counts that answer. Labels enter a
// class only through the questions that are alive: two pods whose labels differ share a class while no question tells
// them apart. docs/behaviour/plugins-topology.md 7.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/topology_program.h"
#include "batching/topology_questions.h"
#include "host/cluster/cache.h"
#include "host/cluster/snapshot.h"
#include "host/config/engine_config.h"
#include "plugins/pod_topology_spread/compile.h"

namespace berth {

/// A pod that a backend has answered.
struct AnsweredPod {
  const Pod* pod = nullptr;
  std::int32_t node = -1;  ///< -1: without a node
  std::int32_t pod_class = -1;
};

class TopologyIndex {
 public:
  /// `objects`, `config` and `cache` must outlive the index. Pods on nodes are looked at here.
  TopologyIndex(const ClusterObjects& objects, const SchedulerConfig& config, const UpstreamBugs& bugs,
                Snapshot& snapshot, const ClusterCache& cache);

  /// Pods that ask and bring the same in one profile. kNoKind: neither, while no question is alive.
  static constexpr std::int32_t kNoKind = -1;
  bool is_alive() const { return questions_.any(); }
  /// Notes every question that the pod asks or brings; new ones move epoch(). They count from count_new() on.
  std::int32_t kind_of(const Pod& pod, std::int32_t profile);
  /// Notes the terms of a pod that nobody compiles: one that waits with a nomination.
  void note_terms(const Pod& pod) { questions_.owner_of(pod); }
  /// Fills the tables of new questions. @param placed  pods placed by the caller that the cache does not know
  void count_new(std::span<const AnsweredPod> placed);
  /// Moves whenever a question is new, or is asked of another key: what was compiled before may have to be told apart
  /// now.
  std::uint32_t epoch() const { return questions_.epoch(); }

  struct Compiled {
    std::shared_ptr<const TopologyProgram> program;  ///< null: neither plugin has anything to say
    std::vector<CountMove> moves;                    ///< what placing the pod changes, by table
    std::string signature;                           ///< equal: equal program and moves
  };
  /// As of now. Valid until the next call.
  const Compiled& compile(std::int32_t kind);
  /// What placing the pod changes, as of now: a pod placed before a question came up was counted for it since.
  const std::vector<CountMove>& moves_of(const Pod& pod, std::int32_t profile);

  /// TopologyQuestions::overlay()
  std::vector<CountMove> overlay(const Pod& nominated, const TopologyProgram& program, bool affinity) {
    return questions_.overlay(nominated, program, affinity);
  }

  /// The cache's pods of these nodes changed; every one of `placed` is among them now.
  void recount_nodes(std::span<const std::int32_t> nodes, std::span<const AnsweredPod> placed);
  /// What the tables hold when every pod is counted anew: what they must hold. For checks.
  TopologyCounts recount(std::span<const AnsweredPod> placed);
  /// Node objects changed; `cache` knows every placed pod.
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
    OwnQuestions own;
    std::uint32_t epoch = UINT32_MAX;  ///< that `compiled` is of
    Compiled compiled{};
  };
  /// A pod of the cache, as it was counted.
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
  TopologyQuestions questions_;
  std::vector<PodLabelSelector> selectors_{PodLabelSelector::everything()};
  std::unordered_map<std::string, std::int32_t> selector_of_signature_;
  std::map<std::pair<std::int32_t, const void*>, std::int32_t> selector_of_pod_;  ///< by identity and owner references
  std::vector<std::shared_ptr<const void>> kept_owners_;                          ///< keeps those keys alive
  std::unordered_map<KindKey, std::int32_t, KindKeyHash> kind_of_key_;
  std::vector<Kind> kinds_;
  std::vector<std::vector<CountedPod>> counted_;  ///< [node]; filled once a question is alive
  std::int32_t counted_tables_ = 0;               ///< tables below are filled
};

}  // namespace berth
