// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_filter.h"

#include <algorithm>

#include "batching/node_topology.h"

namespace berth {
namespace {

template <class Counts>
TopologyVerdict verdict_of(const NodeTopology<Counts>& place, bool affinity_skips) {
  return {spread_verdict(place), affinity_skips ? AffinityVerdict::kAccepted : affinity_verdict(place)};
}

}  // namespace

bool affinity_pre_filter_skips(const TopologyProgram& program, const TopologyCounts& counts) {
  return program.affinity.empty() && program.anti.empty() &&
         std::all_of(program.existing_anti.begin(), program.existing_anti.end(),
                     [&](std::int32_t table) { return counts.total(table) == 0; });
}

std::uint64_t version_of_filter_tables(const TopologyProgram& program, const TopologyCounts& counts) {
  std::uint64_t version = 0;
  const auto note = [&](std::int32_t table) { version = std::max(version, counts.version(table)); };
  for (const HardSpread& hard : program.hard) note(hard.table);
  for (const std::int32_t table : program.affinity) note(table);
  for (const OwnAntiTerm& anti : program.anti) note(anti.table);
  for (const std::int32_t table : program.existing_anti) note(table);
  return version;
}

TopologyVerdict filter_topology(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node,
                                bool affinity_skips) {
  return verdict_of(NodeTopology(program, counts, node), affinity_skips);
}

TopologyVerdict filter_topology(const TopologyProgram& program, const OverlaidCounts& counts, bool affinity_skips) {
  return verdict_of(NodeTopology(program, counts, counts.node()), affinity_skips);
}

}  // namespace berth
