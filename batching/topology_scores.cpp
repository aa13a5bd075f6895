// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_scores.h"

#include <algorithm>

#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/pod_topology_spread/rule.h"

namespace berth {
namespace {

bool lacks_a_key(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node) {
  return std::any_of(program.soft.begin(), program.soft.end(),
                     [&](const SoftSpread& soft) { return counts.column(soft.label_column)[node] == 0; });
}

/// Domains that hold a node of the list, ignored ones left out; of a constraint on hosts the nodes themselves.
std::size_t domains_among(const SoftSpread& soft, const TopologyCounts& counts, const std::vector<std::int32_t>& nodes,
                          const std::vector<std::uint8_t>& ignored) {
  const DomainColumn& column = counts.column(counts.column_of(soft.table));
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(column.domain_count) + 1, 0);
  std::size_t domains = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::uint8_t& mark = seen[static_cast<std::size_t>(column[nodes[i]])];
    if (ignored[i] != 0 || mark != 0) continue;
    mark = 1;
    ++domains;
  }
  return domains;
}

void score_spread(const TopologyProgram& program, const TopologyCounts& counts,
                  const std::vector<std::int32_t>& feasible, TopologyScores& out) {
  out.spread = !program.soft.empty();
  if (!out.spread) return;
  out.spread_ignored.resize(feasible.size());
  for (std::size_t i = 0; i < feasible.size(); ++i)
    out.spread_ignored[i] = program.ignores_incomplete && lacks_a_key(program, counts, feasible[i]) ? 1 : 0;
  const DomainWeights weights(feasible.size());
  std::vector<double> weight_of;
  weight_of.reserve(program.soft.size());
  for (const SoftSpread& soft : program.soft)
    weight_of.push_back(weights.of(domains_among(soft, counts, feasible, out.spread_ignored)));
  out.spread_range.max = 0;
  for (std::size_t i = 0; i < feasible.size(); ++i) {
    double cost = 0;
    for (std::size_t s = 0; s < program.soft.size() && out.spread_ignored[i] == 0; ++s) {
      const SoftSpread& soft = program.soft[s];
      if (counts.column(soft.label_column)[feasible[i]] == 0) continue;
      cost = PodTopologySpread::add_cost(cost, counts.count_at(soft.table, feasible[i]), weight_of[s], soft.max_skew);
    }
    out.spread_raw.push_back(PodTopologySpread::raw_score(cost));
    if (out.spread_ignored[i] == 0) out.spread_range.add(out.spread_raw.back());
  }
}

void score_affinity(const TopologyProgram& program, const TopologyCounts& counts,
                    const std::vector<std::int32_t>& feasible, TopologyScores& out) {
  out.affinity = affinity_contributes(program, counts);
  if (!out.affinity) return;
  for (const std::int32_t node : feasible) {
    std::int64_t raw = 0;
    for (const ScoredTable& score : program.scores) raw += score.multiplier * counts.count_at(score.table, node);
    out.affinity_raw.push_back(raw);
    out.affinity_range.add(raw);
  }
}

}  // namespace

std::int64_t TopologyScores::spread_normalized(std::size_t i) const {
  if (!spread || spread_ignored[i] != 0) return 0;
  return PodTopologySpread::normalize(spread_raw[i], spread_range.min, spread_range.max);
}

std::int64_t TopologyScores::affinity_normalized(std::size_t i) const {
  return affinity ? InterPodAffinity::normalize(affinity_raw[i], affinity_range.min, affinity_range.max) : 0;
}

std::int64_t TopologyScores::total(std::size_t i, const CompiledProfile& profile) const {
  return profile.weight_spread * spread_normalized(i) + profile.weight_pod_affinity * affinity_normalized(i);
}

bool affinity_contributes(const TopologyProgram& program, const TopologyCounts& counts) {
  return std::any_of(program.scores.begin(), program.scores.end(),
                     [&](const ScoredTable& score) { return counts.total(score.table) > 0; });
}

TopologyScores score_topology(const TopologyProgram& program, const TopologyCounts& counts,
                              const std::vector<std::int32_t>& feasible) {
  TopologyScores scores;
  score_spread(program, counts, feasible, scores);
  score_affinity(program, counts, feasible, scores);
  return scores;
}

}  // namespace berth
