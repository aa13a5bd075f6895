// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "batching/profile_rules.h"
#include "host/cluster/snapshot.h"
#include "host/config/scheduler_config.h"
#include "host/framework/draw_bits.h"
#include "plugins/node_resources_fit/compile.h"

namespace berth {

/// One profile for a backend: which rules run, their order, weights and arguments.
struct CompiledProfile : ProfileRules<Rules> {
  Release release = Release::k1_35;
  std::string
      missing_score_state;  ///< non-empty: a Score plugin runs without its PreScore, and scoring ends with this error
  bool scores_anything = false;  ///< some Score plugin is enabled, built or not
  bool has_keys = true;          ///< every total fits in a NodeKey; false: no rows, nodes are listed and compared
  DrawRule draw;

  FitStrategy fit;
  std::vector<ScoredResource> balanced_resources;
};

CompiledProfile compile_profile(const Profile& profile, const FeatureGates& gates, const DrawRule& draw,
                                Snapshot& snapshot, const ClusterCache& cache);

/// Highest total of a node under the profile.
std::int64_t max_total(const Profile& profile);
/// The highest that node-side rows hold, without which no node is compared. Keys hold less: kHighestKeyTotal.
inline constexpr std::int64_t kMaxTotal = (std::int64_t{1} << 31) - 1;

}  // namespace berth
