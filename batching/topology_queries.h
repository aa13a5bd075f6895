// SPDX-License-Identifier: Apache-2.0
#pragma once

// The queries that pods' topology terms make about other pods, with the tables that count the matches. A query or term
// is registered with the first pod that has it, and stays until keep_only(). Equal ones share a table, so the number of
// tables is the number of different terms of the cluster times their keys. docs/behaviour/plugins-topology.md 7.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "batching/pod_matches.h"
#include "batching/topology_program.h"
#include "batching/topology_tables.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "plugins/pod_topology_spread/compile.h"

namespace berth {

/// The compiled terms of a pod itself.
struct OwnProgram {
  TopologyProgram program;  ///< without what follows from terms that match the pod
  /// InterPodAffinity's PreScore skips: terms of other pods are ignored, and the pod has no preferred terms itself.
  bool affinity_pre_score_skips = false;
  std::vector<std::int32_t> queries;  ///< that its terms make
  std::vector<std::int32_t> tables;   ///< that count for them
  /// Labels of the pod take part, not only those of its constraints' and terms' selectors: pods of one spec may differ.
  bool reads_labels = false;
};

/// Equal for equal programs.
std::string signature_of(const OwnProgram& own);

/// A table that counts the matches of a query from now on.
struct QueryTable {
  std::int32_t query = 0;
  std::int32_t table = 0;
};

class TopologyQueries {
 public:
  /// `config` and `snapshot` must outlive the object.
  TopologyQueries(const std::vector<Namespace>& namespaces, const SchedulerConfig& config, const UpstreamBugs& bugs,
                  Snapshot& snapshot);

  /// Some query or term is registered.
  bool has_terms() const { return matches_.any(); }
  /// Grows when a query or term is registered, or an old one gets another topology key.
  std::uint64_t epoch() const { return matches_.added() + tables_.added(); }
  /// How much was ever registered, and how much of it is still there.
  std::uint64_t all_added() const { return matches_.all_added() + tables_.added(); }
  std::int32_t all_size() const { return matches_.all_size() + tables_.size(); }

  std::int32_t identity_of(const Pod& pod) { return matches_.identity_of(pod); }
  /// PodMatches
  std::int32_t find_identity(const Pod& pod) const { return matches_.find_identity(pod); }
  bool knows_terms_of(const Pod& pod) const { return matches_.knows_terms_of(pod); }
  std::int32_t known_owner_of(const Pod& pod) const { return matches_.known_owner_of(pod); }
  /// Registers the affinity terms of the pod, which count once it is placed: PodMatches::owner_of(), with their tables.
  std::int32_t owner_of(const Pod& pod);
  /// PodMatches
  std::vector<std::int32_t> identities_matching(std::int32_t query) const {
    return matches_.identities_matching(query);
  }
  bool skips_terminating(std::int32_t query) const { return matches_.query(query).skips_terminating; }
  bool matches(std::int32_t identity, std::int32_t query) const { return matches_.matches(identity, query); }
  /// Changes with the program and the moves of pods of the identity.
  std::uint32_t version(std::int32_t identity) const { return matches_.version(identity); }

  void change_namespace(const std::string& name, const LabelMap* labels) { matches_.change_namespace(name, labels); }
  const std::string& namespace_of(std::int32_t identity) const { return matches_.namespace_of(identity); }
  const LabelMap& labels_of(std::int32_t identity) const { return matches_.labels_of(identity); }
  std::span<const std::int32_t> identities_in(const std::string& name) const { return matches_.identities_in(name); }
  std::int32_t identity_end() const { return matches_.identity_end(); }

  /// The tables that were registered since the last call: all zeroes.
  std::vector<QueryTable> take_new_tables() { return std::exchange(new_tables_, {}); }

  /// Registers the queries of the pod and compiles its terms. @param default_selector  of PodTopologySpread's default
  /// constraints
  OwnProgram compile(const Pod& pod, std::int32_t profile, const PodLabelSelector& default_selector);
  /// Adds what follows from the terms that match a pod of this identity, as registered so far: those of other pods, and
  /// its own.
  void add_matching_terms(std::int32_t identity, std::int32_t profile, OwnProgram& own);

  /// Changes that placing a pod makes in the tables registered so far: one per table, sorted by table.
  std::vector<CountMove> moves_of(std::int32_t identity, std::int32_t owner, bool terminating) const;
  /// What AddPod adds to the tables that a class reads, and RemovePod takes away, when a pod comes to a node or leaves
  /// it in a what-if. PodTopologySpread counts terminating pods here: docs/behaviour/plugins-topology.md 2.7 (Q3).
  /// @param affinity  InterPodAffinity's AddPod is called: not when its PreFilter skipped
  /// @throws std::logic_error naming the pod when its affinity terms were never registered
  std::vector<CountMove> effect(const Pod& pod, const TopologyProgram& program, bool affinity) const {
    return effect(pod, affinity ? known_owner_of(pod) : 0, program, affinity);
  }
  /// The same for a caller who knows the owner. @param owner  known_owner_of() the pod; not read without `affinity`
  std::vector<CountMove> effect(const Pod& pod, std::int32_t owner, const TopologyProgram& program,
                                bool affinity) const;

  /// What is in use; kinds and pods mark it.
  struct Live {
    PodMatches::Live matches;
    LiveNumbers tables;
    void insert(const OwnProgram& own) {
      for (const std::int32_t query : own.queries) matches.queries.insert(query);
      for (const std::int32_t table : own.tables) tables.insert(table);
    }
  };
  Live none_live() const { return {PodMatches::Live(matches_), tables_.none_live()}; }
  /// Gives up what is not live: queries, terms, their tables, identities and owners. Programs and moves that were
  /// compiled before may refer to what is gone.
  void keep_only(Live& live);

  /// TopologyTables
  void rebuild() { tables_.rebuild(); }
  bool is_moved(std::int32_t slot) { return tables_.is_moved(slot); }
  void move_node(std::int32_t slot) { tables_.move_node(slot); }
  GuestPlace place_of_guest(std::int32_t slot, Snapshot* node, GuestDomains& domains) const {
    return tables_.place_of_guest(slot, node, domains);
  }

 private:
  void compile_spread(const Pod& pod, const Profile& profile, const PodLabelSelector& default_selector,
                      TopologyProgram& program);
  HardSpread hard_spread(const SpreadConstraint& constraint, const EligibleNodes& eligible, const Pod& pod);
  SoftSpread soft_spread(const SpreadConstraint& constraint, const EligibleNodes& eligible, const Pod& pod,
                         bool absent_is_empty);
  std::int32_t spread_query(const SpreadConstraint& constraint, const Pod& pod);
  std::int32_t spread_table(std::int32_t query, const SpreadConstraint& constraint, std::int32_t column,
                            const EligibleNodes& eligible, bool tracks_minimum);

  void compile_affinity(const Pod& pod, const Profile& profile, OwnProgram& own);
  void compile_required(const std::vector<AffinityTerm>& terms, TopologyProgram& program);
  PodQueryTerm condition(const AffinityTerm& term);
  std::int32_t query_table(std::int32_t query, const std::string& key);

  std::int32_t add_query(PodQuery query);
  /// From now on the pods that match the query count in the table.
  void add_table(std::int32_t query, std::int32_t table);

  const SchedulerConfig& config_;
  UpstreamBugs bugs_;
  PodMatches matches_;
  TopologyTables tables_;
  std::vector<std::vector<std::int32_t>> tables_of_query_;
  std::vector<QueryTable> new_tables_;
  std::vector<std::int32_t> asked_queries_, asked_tables_;  ///< of the pod that is being compiled
};

}  // namespace berth
