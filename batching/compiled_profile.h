// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/snapshot.h"
#include "host/config/scheduler_config.h"
#include "host/framework/unsupported.h"
#include "plugins/node_affinity/compile.h"
#include "plugins/node_resources_fit/compile.h"

namespace berth {

/// Rank of a rule in a profile's Filter order; of the rules that refuse a node, the lowest rank is reported.
inline constexpr std::int32_t kNotEnabled = INT32_MAX;

/// What a backend needs of one profile: which rules run, in which order, with which weights and arguments.
struct CompiledProfile {
  const Profile* profile = nullptr;
  Release release = Release::k1_35;
  bool comparison_operators = false;  ///< gate TaintTolerationComparisonOperators

  std::int32_t rank_node_unschedulable = kNotEnabled;
  std::int32_t rank_node_name = kNotEnabled;
  std::int32_t rank_taint_toleration = kNotEnabled;
  std::int32_t rank_node_affinity = kNotEnabled;
  std::int32_t rank_node_ports = kNotEnabled;
  std::int32_t rank_node_resources_fit = kNotEnabled;
  std::int32_t rank_node_declared_features = kNotEnabled;
  std::int32_t rank_pod_topology_spread = kNotEnabled;
  std::int32_t rank_inter_pod_affinity = kNotEnabled;
  bool pre_filters_node_affinity = false;  ///< its node set narrows the search

  /// Score weights; 0: the plugin does not score in this profile.
  std::int32_t weight_taint_toleration = 0;
  std::int32_t weight_node_affinity = 0;
  std::int32_t weight_fit = 0;
  std::int32_t weight_balanced = 0;
  std::int32_t weight_image_locality = 0;
  std::int32_t weight_spread = 0;
  std::int32_t weight_pod_affinity = 0;
  std::optional<MissingFilterState> missing_filter_state;
  std::string missing_score_state;  ///< non-empty: a Score plugin runs without its PreScore, and scoring ends so
  bool scores_anything = false;     ///< some Score plugin is enabled, built or not

  FitStrategy fit;
  std::vector<ScoredResource> balanced_resources;
  std::optional<CompiledTerms> added_required;
  CompiledTerms added_preferred;
  bool added_scores = false;
};

/// @throws InputError when weights are beyond what the engine's 31-bit totals hold (naming the profile)
CompiledProfile compile_profile(const Profile& profile, const FeatureGates& gates, Snapshot& snapshot,
                                const ClusterCache& cache);

/// Highest total a node can get under the profile.
std::int64_t max_total(const Profile& profile);
inline constexpr std::int64_t kMaxTotal = (std::int64_t{1} << 31) - 1;

}  // namespace berth
