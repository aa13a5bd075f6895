// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "batching/topology_program.h"
#include "batching/topology_rules.h"
#include "host/cluster/topology_counts.h"

namespace berth {

// Counts is TopologyCounts, or the same with some pods added and others removed: OverlaidCounts.

/// global_minimum() of a constraint, from the tables.
template <class Counts>
std::int64_t global_minimum(const HardSpread& hard, const Counts& counts) {
  return global_minimum(counts.existing_domains(hard.table), hard.min_domains,
                        [&] { return counts.minimum(hard.table); });
}

/// no_pod_matches_affinity() of a class, from the tables.
template <class Counts>
bool no_pod_matches_affinity(const TopologyProgram& program, const Counts& counts) {
  return no_pod_matches_affinity(static_cast<std::int32_t>(program.affinity.size()), [&](std::int32_t t) {
    return counts.total(program.affinity[static_cast<std::size_t>(t)]);
  });
}

/// One node as batching/topology_rules.h reads it, from the tables. `program` and `counts` must outlive the object.
template <class Counts>
class NodeTopology {
 public:
  NodeTopology(const TopologyProgram& program, const Counts& counts, std::int32_t node)
      : program_(program), counts_(counts), node_(node) {}

  std::int32_t hard_size() const { return size(program_.hard); }
  const HardSpread& hard(std::int32_t h) const { return at(program_.hard, h); }
  bool lacks_hard_key(std::int32_t h) const { return domain(hard(h).table) == 0; }
  std::int64_t hard_count(std::int32_t h) const { return counts_.count_at(hard(h).table, node_); }
  std::int64_t hard_minimum(std::int32_t h) const { return global_minimum(hard(h), counts_); }

  std::int32_t affinity_size() const { return size(program_.affinity); }
  bool lacks_affinity_key(std::int32_t t) const { return domain(at(program_.affinity, t)) == 0; }
  std::int64_t affinity_count(std::int32_t t) const { return counts_.count_at(at(program_.affinity, t), node_); }
  bool no_pod_matches_affinity() const { return berth::no_pod_matches_affinity(program_, counts_); }
  bool matches_itself() const { return program_.matches_itself; }
  std::int32_t anti_size() const { return size(program_.anti); }
  std::int64_t anti_count(std::int32_t t) const { return counts_.count_at(at(program_.anti, t).table, node_); }
  std::int32_t existing_anti_size() const { return size(program_.existing_anti); }
  std::int64_t existing_anti_count(std::int32_t t) const {
    return counts_.count_at(at(program_.existing_anti, t), node_);
  }

  std::int32_t soft_size() const { return size(program_.soft); }
  const SoftSpread& soft(std::int32_t s) const { return at(program_.soft, s); }
  bool has_soft_label(std::int32_t s) const { return counts_.domain_of(soft(s).label_column, node_) != 0; }
  std::int32_t soft_domain(std::int32_t s) const { return domain(soft(s).table); }
  std::int64_t soft_count(std::int32_t s) const { return counts_.count_at(soft(s).table, node_); }
  bool is_ignored() const { return program_.ignores_incomplete && lacks_soft_label(*this); }
  std::int64_t node_count() const { return 1; }

  std::int32_t preferred_size() const { return size(program_.scores); }
  std::int64_t preferred_multiplier(std::int32_t t) const { return at(program_.scores, t).multiplier; }
  std::int64_t preferred_count(std::int32_t t) const { return counts_.count_at(at(program_.scores, t).table, node_); }
  std::int64_t folded_score() const { return 0; }

 private:
  template <class Term>
  static std::int32_t size(const std::vector<Term>& terms) {
    return static_cast<std::int32_t>(terms.size());
  }
  template <class Term>
  static const Term& at(const std::vector<Term>& terms, std::int32_t index) {
    return terms[static_cast<std::size_t>(index)];
  }
  std::int32_t domain(std::int32_t table) const { return counts_.domain_of(counts_.column_of(table), node_); }

  const TopologyProgram& program_;
  const Counts& counts_;
  std::int32_t node_;
};

}  // namespace berth
