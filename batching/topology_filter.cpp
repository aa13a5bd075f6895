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

std::int32_t spread_rank(const TopologyVerdict& verdict, const CompiledProfile& profile) {
  return verdict.spread == SpreadVerdict::kAccepted ? kNotEnabled : profile.rank<PodTopologySpread>();
}
std::int32_t affinity_rank(const TopologyVerdict& verdict, const CompiledProfile& profile) {
  return verdict.affinity == AffinityVerdict::kAccepted ? kNotEnabled : profile.rank<InterPodAffinity>();
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

std::int32_t rank_of_refusal(const TopologyVerdict& verdict, const CompiledProfile& profile) {
  return std::min(spread_rank(verdict, profile), affinity_rank(verdict, profile));
}

NodeVerdict verdict_of(const TopologyVerdict& verdict, const CompiledProfile& profile) {
  if (rank_of_refusal(verdict, profile) == kNotEnabled) return {};
  const bool spread_first = spread_rank(verdict, profile) < affinity_rank(verdict, profile);
  const bool unresolvable =
      spread_first ? verdict.spread == SpreadVerdict::kMissingLabel : verdict.affinity == AffinityVerdict::kAffinity;
  return {unresolvable ? StatusCode::kUnschedulableAndUnresolvable : StatusCode::kUnschedulable,
          spread_first ? PodTopologySpread::name : InterPodAffinity::name};
}

std::string_view reason_of(const TopologyVerdict& verdict, std::string_view plugin) {
  if (plugin == PodTopologySpread::name)
    return verdict.spread == SpreadVerdict::kMissingLabel ? PodTopologySpread::reason_missing_label
                                                          : PodTopologySpread::reason;
  switch (verdict.affinity) {
    case AffinityVerdict::kAffinity:
      return InterPodAffinity::reason_affinity;
    case AffinityVerdict::kAntiAffinity:
      return InterPodAffinity::reason_anti_affinity;
    default:
      return InterPodAffinity::reason_existing_anti_affinity;
  }
}

}  // namespace berth
