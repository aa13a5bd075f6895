// SPDX-License-Identifier: Apache-2.0
#include "batching/compiled_profile.h"

#include "batching/node_key.h"

namespace berth {

std::int32_t filter_rank(const Profile& profile, std::string_view plugin) {
  const auto& filters = profile.at(ExtensionPoint::kFilter);
  for (std::size_t rank = 0; rank < filters.size(); ++rank)
    if (filters[rank].name == plugin) return static_cast<std::int32_t>(rank);
  return kNotEnabled;
}

std::int32_t score_weight(const Profile& profile, std::string_view plugin) {
  for (const EnabledPlugin& enabled : profile.at(ExtensionPoint::kScore))
    if (enabled.name == plugin) return enabled.weight;
  return 0;
}

std::int64_t max_total(const Profile& profile) {
  std::int64_t weights = 0;
  for (const EnabledPlugin& enabled : profile.at(ExtensionPoint::kScore)) weights += enabled.weight;
  return saturating_add(0, weights) * kMaxNodeScore;
}

CompiledProfile compile_profile(const Profile& profile, const FeatureGates& gates, const DrawRule& draw,
                                Snapshot& snapshot, const ClusterCache& cache) {
  CompiledProfile compiled;
  compile_rules(profile, gates, snapshot, compiled);
  compiled.release = gates.release();
  compiled.missing_score_state = missing_score_state(profile, gates).value_or("");
  compiled.has_keys = max_total(profile) <= kHighestKeyTotal;
  compiled.draw = draw;
  compiled.scores_anything = !profile.at(ExtensionPoint::kScore).empty();
  compiled.fit = compile_fit_strategy(profile.args.node_resources_fit, snapshot, cache);
  compiled.balanced_resources = compile_scored_resources(profile.args.balanced_allocation.resources, snapshot, cache);
  return compiled;
}

}  // namespace berth
