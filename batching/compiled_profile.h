// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "batching/profile_rules.h"
#include "host/cluster/snapshot.h"
#include "host/config/scheduler_config.h"
#include "plugins/node_resources_fit/compile.h"

namespace berth {

/// One profile for a backend: which rules run, their order, weights and arguments.
struct CompiledProfile : ProfileRules<Rules> {
  Release release = Release::k1_35;
  std::string
      missing_score_state;  ///< non-empty: a Score plugin runs without its PreScore, and scoring ends with this error
  bool scores_anything = false;  ///< some Score plugin is enabled, built or not

  FitStrategy fit;
  std::vector<ScoredResource> balanced_resources;
};

/// @throws InputError naming the profile when its weights exceed the engine's 31-bit totals
CompiledProfile compile_profile(const Profile& profile, const FeatureGates& gates, Snapshot& snapshot,
                                const ClusterCache& cache);

/// Highest total of a node under the profile.
std::int64_t max_total(const Profile& profile);
inline constexpr std::int64_t kMaxTotal = (std::int64_t{1} << 31) - 1;

}  // namespace berth
