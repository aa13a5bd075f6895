// SPDX-License-Identifier: Apache-2.0
#include "batching/compiled_profile.h"

#include "host/objects/errors.h"
#include "plugins/image_locality/rule.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/node_declared_features/rule.h"
#include "plugins/node_name/rule.h"
#include "plugins/node_ports/rule.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/node_unschedulable/rule.h"
#include "plugins/pod_topology_spread/rule.h"
#include "plugins/taint_toleration/rule.h"

namespace berth {
namespace {

std::int32_t rank_of(const Profile& profile, std::string_view plugin) {
  const auto& filters = profile.at(ExtensionPoint::kFilter);
  for (std::size_t rank = 0; rank < filters.size(); ++rank)
    if (filters[rank].name == plugin) return static_cast<std::int32_t>(rank);
  return kNotEnabled;
}

std::int32_t weight_of(const Profile& profile, std::string_view plugin) {
  for (const EnabledPlugin& enabled : profile.at(ExtensionPoint::kScore))
    if (enabled.name == plugin) return enabled.weight;
  return 0;
}

void compile_added_affinity(const NodeAffinityArgs& args, Snapshot& snapshot, CompiledProfile& compiled) {
  if (!args.added_affinity) return;
  if (args.added_affinity->required)
    compiled.added_required = CompiledTerms::required(*args.added_affinity->required, snapshot);
  compiled.added_preferred = CompiledTerms::preferred(args.added_affinity->preferred, snapshot);
  compiled.added_scores = !args.added_affinity->preferred.empty();
}

}  // namespace

std::int64_t max_total(const Profile& profile) {
  std::int64_t weights = 0;
  for (const EnabledPlugin& enabled : profile.at(ExtensionPoint::kScore)) weights += enabled.weight;
  return saturating_add(0, weights) * kMaxNodeScore;
}

CompiledProfile compile_profile(const Profile& profile, const FeatureGates& gates, Snapshot& snapshot,
                                const ClusterCache& cache) {
  CompiledProfile compiled;
  compiled.profile = &profile;
  compiled.release = gates.release();
  compiled.comparison_operators = gates.enabled("TaintTolerationComparisonOperators");
  compiled.rank_node_unschedulable = rank_of(profile, NodeUnschedulable::name);
  compiled.rank_node_name = rank_of(profile, NodeName::name);
  compiled.rank_taint_toleration = rank_of(profile, TaintToleration::name);
  compiled.rank_node_affinity = rank_of(profile, NodeAffinityRule::name);
  compiled.rank_node_ports = rank_of(profile, NodePorts::name);
  compiled.rank_node_resources_fit = rank_of(profile, NodeResourcesFit::name);
  if (gates.enabled(NodeDeclaredFeatures::name))
    compiled.rank_node_declared_features = rank_of(profile, NodeDeclaredFeatures::name);
  compiled.rank_pod_topology_spread = rank_of(profile, PodTopologySpread::name);
  compiled.rank_inter_pod_affinity = rank_of(profile, InterPodAffinity::name);
  compiled.pre_filters_node_affinity = profile.enables(ExtensionPoint::kPreFilter, NodeAffinityRule::name);

  compiled.weight_taint_toleration = weight_of(profile, TaintToleration::name);
  compiled.weight_node_affinity = weight_of(profile, NodeAffinityRule::name);
  compiled.weight_fit = weight_of(profile, NodeResourcesFit::name);
  compiled.weight_balanced = weight_of(profile, NodeResourcesBalancedAllocation::name);
  compiled.weight_image_locality = weight_of(profile, ImageLocality::name);
  compiled.weight_spread = weight_of(profile, PodTopologySpread::name);
  compiled.weight_pod_affinity = weight_of(profile, InterPodAffinity::name);
  compiled.missing_filter_state = missing_filter_state(profile, gates);
  compiled.missing_score_state = missing_score_state(profile).value_or("");
  compiled.scores_anything = !profile.at(ExtensionPoint::kScore).empty();

  compiled.fit = compile_fit_strategy(profile.args.node_resources_fit, snapshot, cache);
  compiled.balanced_resources = compile_scored_resources(profile.args.balanced_allocation.resources, snapshot, cache);
  compile_added_affinity(profile.args.node_affinity, snapshot, compiled);
  return compiled;
}

}  // namespace berth
