// SPDX-License-Identifier: Apache-2.0
#pragma once

// Topology terms as numbers: the compiled terms of each pod, and the tables that its placement changes. Labels enter a
// class only through registered queries and terms: two pods with different labels share a class while they match the
// same ones. docs/behaviour/plugins-topology.md 7.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/numbered.h"
#include "batching/shared_values.h"
#include "batching/topology_program.h"
#include "batching/topology_queries.h"
#include "host/cluster/engine_cluster.h"
#include "host/cluster/snapshot.h"
#include "host/config/engine_config.h"
#include "host/objects/work_arena.h"
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
  /// @param first_epoch  epoch() begins there
  /// @param arena  passes over all pods run in it; null: in the calling thread
  TopologyIndex(const EngineCluster& cluster, const SchedulerConfig& config, const UpstreamBugs& bugs,
                Snapshot& snapshot, std::uint64_t first_epoch = 0, std::shared_ptr<WorkArena> arena = nullptr);

  /// A kind: pods with the same terms, labels and profile. kNoKind: topology rules do not concern the pod.
  static constexpr std::int32_t kNoKind = -1;
  bool has_terms() const { return queries_.has_terms(); }
  /// Registers the queries and terms of the pod; new ones change epoch(). Their tables are empty until count_new().
  std::int32_t kind_of(const Pod& pod, std::int32_t profile);
  /// Registers the terms of a pod that is not compiled: one that waits with a nomination.
  void note_terms(const Pod& pod) { queries_.owner_of(pod); }
  /// Fills new tables. @param placed  pods placed by the caller that are not in the cache
  void count_new(std::span<const AnsweredPod> placed);
  /// Changes with TopologyQueries::epoch(), and with what a pod is compiled from. After a change, pods of one class may
  /// match different queries: compile those again that are not is_current().
  std::uint64_t epoch() const { return epochs_before_ + queries_.epoch(); }
  /// Something else changed that pods are compiled from.
  void advance_epoch() { ++epochs_before_; }
  /// Changes with what pods of the kind match.
  std::uint32_t version_of_kind(std::int32_t kind) const {
    return kind == kNoKind ? 0 : queries_.version(kinds_[kind].key.identity);
  }
  /// A pod as it was compiled.
  struct CompiledPod {
    std::int32_t kind = kNoKind;
    std::int32_t profile = 0;
    std::uint32_t kind_version = 0;  ///< version_of_kind()
    std::uint64_t compiled_at = 0;   ///< epoch()
  };
  /// The pod would be compiled to the same now: no query or term that came since matches it, and no Service, workload
  /// or namespace changed that it follows.
  bool is_current(const Pod& pod, const CompiledPod& compiled) const;

  struct Compiled {
    std::shared_ptr<const TopologyProgram> program;  ///< null: neither plugin affects the pod
    std::vector<CountMove> moves;                    ///< what placing the pod changes, by table
    std::string signature;                           ///< equal: equal program and moves
  };
  /// As of now. Valid until the next call.
  const Compiled& compile(std::int32_t kind) { return *compiled(kind); }
  /// The same; kinds that are compiled to equal programs and moves share it.
  const std::shared_ptr<const Compiled>& compiled(std::int32_t kind);
  /// Changes with what compile() gives for the kind; never 0.
  std::uint32_t revision(std::int32_t kind);
  /// Table changes of placing the pod, including tables that were added after it was placed: count_new() counted it
  /// there.
  const std::vector<CountMove>& moves_of(const Pod& pod, std::int32_t profile);

  /// The changes that a pod on a node makes in all tables; nullopt: it was never asked about, ask moves_on_node().
  std::optional<std::vector<CountMove>> known_moves(const Pod& pod) const;
  /// The same, registering the pod's labels and terms.
  std::vector<CountMove> moves_on_node(const Pod& pod) { return moves_of(counted(pod)); }
  /// Whether moves_on_node() would register a term.
  bool brings_new_terms(const Pod& pod) const { return !queries_.knows_terms_of(pod); }

  /// TopologyQueries::effect()
  std::vector<CountMove> effect(const Pod& pod, const TopologyProgram& program, bool affinity) const {
    return queries_.effect(pod, program, affinity);
  }
  std::vector<CountMove> effect(const Pod& pod, std::int32_t owner, const TopologyProgram& program,
                                bool affinity) const {
    return queries_.effect(pod, owner, program, affinity);
  }
  /// TopologyQueries::known_owner_of()
  std::int32_t known_owner_of(const Pod& pod) const { return queries_.known_owner_of(pod); }

  // Cluster events. The cluster, and the snapshot except its topology, have followed them before.

  /// Placements that the cluster took over as assumed pods: their counts stay.
  void take_over(std::span<const AnsweredPod> placed);
  /// Counts the pods of the cluster, if terms came that need it and nothing was counted yet. Call it before the cluster
  /// changes: a pod that moves is told in two steps, and the first of them would find it on its new node already.
  void begin_counting() {
    if (!counts_) count_new({});
  }
  /// A pod came to the node, left it, or changed there.
  /// @param before  as it was counted until now; null: it was not there
  /// @param after  null: it is not there any more
  void change_pod(std::int32_t slot, const PodPtr& before, const PodPtr& after);
  /// The node came or went, and with it its pods.
  void change_pods(std::int32_t slot);
  /// The node came, went, or its object changed; its pods are those from before. @return whether it moved to another
  /// domain, or into or out of the nodes that count for some table
  bool move_node(std::int32_t slot);
  /// TopologyTables::place_of_guest()
  GuestPlace place_of_guest(std::int32_t slot, Snapshot* node, GuestDomains& domains) const {
    return queries_.place_of_guest(slot, node, domains);
  }
  /// A Service or a workload changed.
  void change_selectors(const SelectorChange& change);
  /// A namespace changed. @return whether counts of tables changed, because selectors of queries select it now, or no
  /// longer
  bool change_namespace(const std::string& name);
  /// The number of slots changed: counts from scratch.
  void rebuild();
  /// What is in use beside pods on nodes.
  struct InUse {
    std::vector<std::int32_t> kinds;    ///< may repeat, and contain kNoKind or numbers from before a renumbering
    std::vector<const Pod*> nominated;  ///< pods whose terms were noted
  };
  /// Gives up kinds that were not asked for lately, that `in_use` does not name, and that are not the latest of an
  /// identity on a node; and the queries, terms, tables and identities that only they had. Their numbers are given
  /// again, so that programs and moves that were compiled before are void: epoch() advances.
  /// @param dropped  gets the kinds
  void keep_only(const InUse& in_use, std::vector<std::int32_t>& dropped);
  /// How much was ever made, and how much of it is still there.
  std::uint64_t all_added() const { return kinds_.added() + selectors_.added() + queries_.all_added(); }
  std::int32_t all_size() const { return kinds_.size() + selectors_.size() + queries_.all_size(); }

  /// The tables as counted from scratch, for consistency checks.
  TopologyCounts recount(std::span<const AnsweredPod> placed);

 private:
  struct KindKey {
    const PodSpec* spec = nullptr;
    std::int32_t identity = 0;
    std::int32_t default_selector = 0;
    std::int32_t profile = 0;
    bool terminating = false;
    std::size_t hash() const;
    friend bool operator==(const KindKey&, const KindKey&) = default;
  };
  /// Every replica of a StatefulSet has labels of its own, and so a kind: what it is compiled to is shared.
  struct Kind {
    KindKey key;
    std::int32_t owner = 0;
    std::shared_ptr<const PodSpec> spec;
    std::shared_ptr<const OwnProgram> own;
    std::shared_ptr<const Compiled> compiled{};
    std::uint64_t used_at = 0;           ///< sweeps_ when it was asked for last
    std::uint32_t version = UINT32_MAX;  ///< of the identity, that `compiled` is of
    std::uint32_t revision = 0;
  };
  /// A pod of the cache as it is counted in the tables: pods with equal values count alike.
  struct CountedPod {
    std::int32_t identity = 0;
    std::int32_t owner = 0;
    bool terminating = false;
    std::uint64_t key() const {
      return (static_cast<std::uint64_t>(identity) << 32) | (static_cast<std::uint64_t>(owner) << 1) |
             (terminating ? 1u : 0u);
    }
  };
  /// The pods of the cluster that count alike, by node: so that a new table needs no pass over all pods.
  struct PodSet {
    CountedPod pod;
    std::uint32_t version = UINT32_MAX;  ///< of the identity, that `moves` are of
    std::vector<CountMove> moves{};      ///< of one pod
    struct Place {
      std::int32_t slot;
      std::int32_t position;  ///< in pod_sets_on_[slot]
    };
    std::vector<Place> places{};
  };
  /// The pods of a pod set on one node.
  struct PodSetOnNode {
    std::int32_t pod_set;
    std::int32_t count;
    std::int32_t position;  ///< in PodSet::places
  };

  bool concerns(const Pod& pod, std::int32_t profile) const;
  std::int32_t default_selector_of(const Pod& pod, std::int32_t identity, std::int32_t profile);
  std::shared_ptr<const OwnProgram> own_program(const Pod& pod, const KindKey& key);
  std::shared_ptr<const OwnProgram> shared(OwnProgram own);
  std::shared_ptr<const Compiled> shared(TopologyProgram program, std::vector<CountMove> moves);
  void recompile(Kind& kind);

  CountedPod counted(const Pod& pod);
  std::vector<CountMove> moves_of(const CountedPod& pod) const {
    return queries_.moves_of(pod.identity, pod.owner, pod.terminating);
  }
  /// Valid until the next call.
  const std::vector<CountMove>& moves_of_pod_set(std::int32_t pod_set);
  /// None of a free slot.
  std::span<const PodPtr> pods_on(std::int32_t slot) const;
  /// The pods of the cluster, told apart by what they share: so that a pass over them all reads each pod once.
  struct AlikePods {
    std::vector<const Pod*> first;        ///< of each group, in the order in which they are met
    std::vector<std::uint32_t> group_of;  ///< [pod] those of the first slot first
    std::vector<std::size_t> begin = {};  ///< [slots + 1] in group_of
  };
  AlikePods alike_pods() const;
  /// Of the slots from `begin` to `end`.
  AlikePods alike_pods(std::int32_t begin, std::int32_t end) const;
  static AlikePods put_together(std::span<const AlikePods> parts);
  void register_pods();
  void read_pods(const AlikePods& pods);
  std::int32_t pod_set_of(const CountedPod& pod);
  /// @return the pod set, which the caller counts in the tables
  std::int32_t join(const CountedPod& pod, std::int32_t slot);
  /// @return the moves of the pod, which the caller takes off the tables
  std::vector<CountMove> leave(const CountedPod& pod, std::int32_t slot);
  void remove_place(std::int32_t slot, std::int32_t position);
  void add_counts_of(std::int32_t slot, int sign);
  bool count_again(std::int32_t pod_set);
  void count_all();
  void fill(const QueryTable& added, std::span<const AnsweredPod> placed);

  const EngineCluster& cluster_;
  const SchedulerConfig& config_;
  Snapshot& snapshot_;
  std::shared_ptr<WorkArena> arena_;
  DefaultSelectors default_selectors_;
  TopologyQueries queries_;
  std::uint64_t epochs_before_ = 0;
  std::uint64_t sweeps_ = 0;                             ///< calls of keep_only()
  Numbered<std::optional<PodLabelSelector>> selectors_;  ///< [0] everything
  std::unordered_map<std::string, std::int32_t> selector_of_signature_;
  struct SelectorOfPod {
    std::int32_t selector = 0;
    std::shared_ptr<const std::vector<OwnerReference>> owners;  ///< keeps the key alive
    std::uint64_t used_at = 0;                                  ///< sweeps_
  };
  /// An identity, and the address of owner references.
  using SelectorKey = std::pair<std::int32_t, const void*>;
  struct SelectorKeyHash {
    std::size_t operator()(const SelectorKey& key) const {
      return std::hash<const void*>()(key.second) ^ (static_cast<std::size_t>(key.first) * 0x9e3779b97f4a7c15u);
    }
  };
  using SelectorsOfPods = std::unordered_map<SelectorKey, SelectorOfPod, SelectorKeyHash>;
  std::unordered_map<std::string, SelectorsOfPods> selectors_in_namespace_;
  // Pods that were compiled before these epochs are to be compiled again.
  std::uint64_t all_changed_at_ = 0;
  std::vector<std::uint64_t> selectors_changed_at_;                     ///< [identity]
  std::unordered_map<std::string, std::uint64_t> workload_changed_at_;  ///< by namespace and workload_key()
  void void_all();
  void note_change(const SelectorChange& change);
  NumberOfHash kind_of_hash_;
  Numbered<Kind> kinds_;
  std::unordered_map<const PodSpec*, std::int32_t> kind_of_spec_;  ///< the latest
  /// By signature, to be shared by the kinds to come.
  SharedValues<OwnProgram> own_of_signature_;
  SharedValues<Compiled> compiled_of_signature_;
  bool counts_ = false;  ///< the pods of the cluster are in pod sets; not before has_terms()
  Numbered<PodSet> pod_sets_;
  std::unordered_map<std::uint64_t, std::int32_t> pod_set_of_key_;
  std::vector<std::vector<std::int32_t>> pod_sets_of_identity_;
  std::vector<std::vector<PodSetOnNode>> pod_sets_on_;  ///< [slot]
};

}  // namespace berth
