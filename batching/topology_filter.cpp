// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_filter.h"

#include <algorithm>

#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/pod_topology_spread/rule.h"

namespace berth {
namespace {

SpreadVerdict filter_spread(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node) {
  for (const HardSpread& hard : program.hard) {
    const std::int32_t domain = counts.column(counts.column_of(hard.table))[node];
    if (domain == 0) return SpreadVerdict::kMissingLabel;
    if (PodTopologySpread::exceeds_skew(counts.count(hard.table, domain), hard.self, global_minimum(hard, counts),
                                        hard.max_skew))
      return SpreadVerdict::kSkew;
  }
  return SpreadVerdict::kAccepted;
}

bool affinity_accepts(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node) {
  if (program.affinity.empty()) return true;
  bool every_term_held = true;
  for (const std::int32_t table : program.affinity) {
    const std::int32_t domain = counts.column(counts.column_of(table))[node];
    if (domain == 0) return false;
    every_term_held = every_term_held && counts.count(table, domain) > 0;
  }
  return InterPodAffinity::affinity_holds(every_term_held, nothing_meets_affinity(program, counts),
                                          program.matches_itself);
}

AffinityVerdict filter_affinity(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node) {
  if (!affinity_accepts(program, counts, node)) return AffinityVerdict::kAffinity;
  for (const OwnAntiTerm& anti : program.anti)
    if (counts.count_at(anti.table, node) > 0) return AffinityVerdict::kAntiAffinity;
  for (const std::int32_t table : program.existing_anti)
    if (counts.count_at(table, node) > 0) return AffinityVerdict::kExistingAntiAffinity;
  return AffinityVerdict::kAccepted;
}

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

std::int32_t spread_place(const TopologyVerdict& verdict, const CompiledProfile& profile) {
  return verdict.spread == SpreadVerdict::kAccepted ? kNotEnabled : profile.rank_pod_topology_spread;
}
std::int32_t affinity_place(const TopologyVerdict& verdict, const CompiledProfile& profile) {
  return verdict.affinity == AffinityVerdict::kAccepted ? kNotEnabled : profile.rank_inter_pod_affinity;
}

}  // namespace

std::int64_t global_minimum(const HardSpread& hard, const TopologyCounts& counts) {
  return counts.existing_domains(hard.table) < hard.min_domains ? 0 : counts.minimum(hard.table);
}

bool nothing_meets_affinity(const TopologyProgram& program, const TopologyCounts& counts) {
  return std::all_of(program.affinity.begin(), program.affinity.end(),
                     [&](std::int32_t table) { return counts.total(table) == 0; });
}

bool affinity_pre_filter_skips(const TopologyProgram& program, const TopologyCounts& counts) {
  return program.affinity.empty() && program.anti.empty() &&
         std::all_of(program.existing_anti.begin(), program.existing_anti.end(),
                     [&](std::int32_t table) { return counts.total(table) == 0; });
}

TopologyVerdict filter_topology(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node,
                                bool affinity_skips) {
  return {filter_spread(program, counts, node),
          affinity_skips ? AffinityVerdict::kAccepted : filter_affinity(program, counts, node)};
}

std::int32_t rank_of_refusal(const TopologyVerdict& verdict, const CompiledProfile& profile) {
  return std::min(spread_place(verdict, profile), affinity_place(verdict, profile));
}

Status status_of(const TopologyVerdict& verdict, const CompiledProfile& profile) {
  if (verdict.accepts()) return {};
  return spread_place(verdict, profile) < affinity_place(verdict, profile) ? spread_status(verdict.spread)
                                                                           : affinity_status(verdict.affinity);
}

}  // namespace berth
