// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_scores.h"

#include <algorithm>

#include "batching/node_topology.h"
#include "plugins/pod_topology_spread/domain_weights.h"

namespace berth {
namespace {

/// Marks of the domains of one soft constraint.
class MarkedDomains {
 public:
  explicit MarkedDomains(std::int32_t domain_count) : marked_(static_cast<std::size_t>(domain_count) + 1, 0) {}
  void mark(std::int32_t domain) {
    std::uint8_t& marked = marked_[static_cast<std::size_t>(domain)];
    count_ += marked == 0 ? 1 : 0;
    marked = 1;
  }
  std::size_t count() const { return count_; }

 private:
  std::vector<std::uint8_t> marked_;  ///< [domain]
  std::size_t count_ = 0;
};

/// [soft constraint]
std::vector<double> domain_weights(const TopologyProgram& program, const TopologyCounts& counts,
                                   const std::vector<std::int32_t>& feasible) {
  if (program.soft.empty()) return {};
  std::vector<MarkedDomains> domains;
  domains.reserve(program.soft.size());
  for (const SoftSpread& soft : program.soft) domains.emplace_back(counts.domain_count(counts.column_of(soft.table)));
  const auto mark = [&](std::int32_t s, std::int32_t domain) { domains[static_cast<std::size_t>(s)].mark(domain); };
  std::int64_t nodes = 0;
  for (const std::int32_t node : feasible) nodes += mark_soft_domains(NodeTopology(program, counts, node), mark);
  const DomainWeights weights(feasible.size());
  std::vector<double> result;
  result.reserve(program.soft.size());
  for (std::size_t s = 0; s < program.soft.size(); ++s)
    result.push_back(weights.of(program.soft[s].counts_nodes ? static_cast<std::size_t>(nodes) : domains[s].count()));
  return result;
}

}  // namespace

bool affinity_contributes(const TopologyProgram& program, const TopologyCounts& counts) {
  return std::any_of(program.scores.begin(), program.scores.end(),
                     [&](const ScoredTable& score) { return counts.total(score.table) > 0; });
}

TopologyScores score_topology(const TopologyProgram& program, const TopologyCounts& counts,
                              const std::vector<std::int32_t>& feasible) {
  TopologyScores scores;
  scores.spread = !program.soft.empty();
  scores.affinity = affinity_contributes(program, counts);
  if (!scores.spread && !scores.affinity) return scores;
  const std::vector<double> weights = domain_weights(program, counts, feasible);
  scores.raw.reserve(feasible.size());
  for (const std::int32_t node : feasible) {
    scores.raw.push_back(raw_topology_scores(NodeTopology(program, counts, node), weights.data()));
    scores.ranges.add(scores.raw.back());
  }
  return scores;
}

}  // namespace berth
