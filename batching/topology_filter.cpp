// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_filter.h"

#include <algorithm>

#include "batching/node_topology.h"

namespace berth {
namespace {

Status spread_status(SpreadVerdict verdict) {
  if (verdict == SpreadVerdict::kMissingLabel)
    return {StatusCode::kUnschedulableAndUnresolvable,
            std::string(PodTopologySpread::name),
            {std::string(PodTopologySpread::reason_missing_label)}};
  return {StatusCode::kUnschedulable, std::string(PodTopologySpread::name), {std::string(PodTopologySpread::reason)}};
}

Status affinity_status(AffinityVerdict verdict) {
  const std::string plugin(InterPodAffinity::name);
  if (verdict == AffinityVerdict::kAffinity)
    return {StatusCode::kUnschedulableAndUnresolvable, plugin, {std::string(InterPodAffinity::reason_affinity)}};
  const bool own = verdict == AffinityVerdict::kAntiAffinity;
  return {
      StatusCode::kUnschedulable,
      plugin,
      {std::string(own ? InterPodAffinity::reason_anti_affinity : InterPodAffinity::reason_existing_anti_affinity)}};
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

TopologyVerdict filter_topology(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node,
                                bool affinity_skips) {
  const NodeTopology place(program, counts, node);
  return {spread_verdict(place), affinity_skips ? AffinityVerdict::kAccepted : affinity_verdict(place)};
}

std::int32_t rank_of_refusal(const TopologyVerdict& verdict, const CompiledProfile& profile) {
  return std::min(spread_rank(verdict, profile), affinity_rank(verdict, profile));
}

Status status_of(const TopologyVerdict& verdict, const CompiledProfile& profile) {
  if (verdict.accepts()) return {};
  return spread_rank(verdict, profile) < affinity_rank(verdict, profile) ? spread_status(verdict.spread)
                                                                         : affinity_status(verdict.affinity);
}

}  // namespace berth
