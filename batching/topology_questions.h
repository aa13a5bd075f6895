// SPDX-License-Identifier: Apache-2.0
#pragma once

// The questions that pods ask of each other, with the tables that answer them. A question is alive from the first pod
// on that asks it or brings it, and stays: equal ones share their table, so there are as many as the cluster has
// different terms, times keys. docs/behaviour/plugins-topology.md 7.

#include <cstdint>
#include <string>
#include <vector>

#include "batching/pod_matches.h"
#include "batching/topology_program.h"
#include "batching/topology_tables.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "plugins/pod_topology_spread/compile.h"

namespace berth {

/// What a pod asks by itself.
struct OwnQuestions {
  TopologyProgram program;  ///< the half that other pods' terms have no part in
  /// InterPodAffinity's PreScore skips: terms of other pods are to be ignored, and the pod prefers nothing itself.
  bool affinity_pre_score_skips = false;
};

class TopologyQuestions {
 public:
  /// `config` and `snapshot` must outlive the questions.
  TopologyQuestions(const ClusterObjects& objects, const SchedulerConfig& config, const UpstreamBugs& bugs,
                    Snapshot& snapshot);

  /// Some question is alive.
  bool any() const { return matches_.query_count() + matches_.term_count() > 0; }
  /// Moves whenever a question is new, or is asked of another key.
  std::uint32_t epoch() const;

  std::int32_t identity_of(const Pod& pod) { return matches_.identity_of(pod); }
  /// Notes the terms that the pod brings: PodMatches::owner_of(), with their tables.
  std::int32_t owner_of(const Pod& pod);
  /// Notes what the pod asks. @param default_selector  of PodTopologySpread's default constraints
  OwnQuestions ask(const Pod& pod, std::int32_t profile, const PodLabelSelector& default_selector);
  /// Adds what other pods' terms, as known now, mean to a pod of this identity.
  void add_existing_pod_terms(std::int32_t identity, std::int32_t profile, OwnQuestions& own);

  /// What a placed pod changes, as known now: each table once, by table.
  std::vector<CountMove> moves_of(std::int32_t identity, std::int32_t owner, bool terminating);
  /// What a nominated pod adds to the tables that a class reads while its node is evaluated.
  /// @param affinity  InterPodAffinity's AddPod is called: not when its PreFilter skipped
  std::vector<CountMove> overlay(const Pod& nominated, const TopologyProgram& program, bool affinity);

  /// Node objects changed: columns and masks anew, every count 0.
  void rebuild() { tables_.rebuild(); }

 private:
  void ask_spread(const Pod& pod, const Profile& profile, const PodLabelSelector& default_selector,
                  TopologyProgram& asks);
  HardSpread hard_spread(const SpreadConstraint& constraint, const EligibleNodes& eligible, const Pod& pod);
  SoftSpread soft_spread(const SpreadConstraint& constraint, const EligibleNodes& eligible, const Pod& pod,
                         bool absent_is_empty);
  std::int32_t spread_query(const SpreadConstraint& constraint, const Pod& pod);
  std::int32_t spread_table(std::int32_t query, const SpreadConstraint& constraint, std::int32_t column,
                            const EligibleNodes& eligible, bool tracks_minimum);

  void ask_affinity(const Pod& pod, const Profile& profile, OwnQuestions& own);
  void ask_required(const std::vector<AffinityTerm>& terms, const Pod& pod, TopologyProgram& asks);
  PodCondition condition(const AffinityTerm& term);
  std::int32_t query_table(std::int32_t query, const std::string& key);

  std::int32_t add_query(PodQuery query);
  /// The query's pods count in the table.
  void feed(std::int32_t query, std::int32_t table);

  const SchedulerConfig& config_;
  UpstreamBugs bugs_;
  const Snapshot& snapshot_;
  PodMatches matches_;
  TopologyTables tables_;
  std::vector<std::vector<std::int32_t>> tables_of_query_;
};

}  // namespace berth
