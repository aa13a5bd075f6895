// SPDX-License-Identifier: Apache-2.0
#pragma once

// The compiled topology terms of one class: which tables of TopologyCounts to read, and how to use their counts. Plain
// data; the rules are in batching/topology_rules.h and plugins/*/rule.h.

#include <cstdint>
#include <string>
#include <vector>

#include "host/cluster/topology_counts.h"

namespace berth {

/// A DoNotSchedule constraint.
struct HardSpread {
  std::int32_t table = 0;
  std::int32_t max_skew = 1;
  std::int32_t min_domains = 1;
  std::int32_t self = 0;   ///< 1: the pod matches its own constraint
  std::int32_t query = 0;  ///< matches the pods that a what-if adds to the table, terminating ones too
};

/// A ScheduleAnyway constraint.
struct SoftSpread {
  std::int32_t table = 0;
  std::int32_t label_column = 0;  ///< of the topology key: 0 where the node lacks the label
  std::int32_t max_skew = 1;
  bool counts_nodes = false;  ///< kubernetes.io/hostname: every node is its own domain
};

struct ScoredTable {
  std::int32_t table = 0;
  std::int64_t multiplier = 0;
};

struct OwnAntiTerm {
  std::int32_t table = 0;
  std::int32_t query = 0;
};

struct TopologyProgram {
  std::vector<HardSpread> hard;
  std::vector<SoftSpread> soft;
  bool ignores_incomplete = false;  ///< scoring leaves out nodes that lack a soft key

  std::vector<std::int32_t> affinity;  ///< one table per topology key: pods that match every required term of the class
  std::int32_t affinity_query = -1;
  bool matches_itself = false;  ///< matches its own required affinity
  std::vector<OwnAntiTerm> anti;
  std::vector<std::int32_t> existing_anti;  ///< required anti-affinity terms of other pods that match this one
  std::vector<ScoredTable> scores;          ///< preferred terms of the class and of others

  std::string pre_filter_error;    ///< non-empty: the cycle ends with this error
  std::string pre_filter_message;  ///< non-empty: PreFilter refuses the pod with this reason
  std::string pre_score_error;     ///< non-empty: scoring ends with this error

  bool filters() const { return !hard.empty() || !affinity.empty() || !anti.empty() || !existing_anti.empty(); }
  bool empty() const {
    return !filters() && soft.empty() && scores.empty() && pre_filter_error.empty() && pre_filter_message.empty() &&
           pre_score_error.empty();
  }
};

/// Equal for pods with equal programs that make equal changes when they are placed.
std::string signature_of(const TopologyProgram& program, const std::vector<CountMove>& moves);

}  // namespace berth
