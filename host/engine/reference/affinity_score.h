// SPDX-License-Identifier: Apache-2.0
#pragma once

// PreScore, Score and NormalizeScore of InterPodAffinity: docs/behaviour/plugins-topology.md 3.9 and 3.10.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/engine/reference/affinity_terms.h"
#include "host/engine/reference/cluster_view.h"
#include "host/engine/reference/request.h"

namespace berth::reference {

/// Topology key -> value -> signed sum of weights. A sum of 0 is an entry all the same.
using AffinityScores = std::map<std::string, std::map<std::string, std::int64_t>>;

/// Whether PreScore steps aside before it looks at anything: existing pods' terms are ignored, and the pod has none.
bool ignores_affinity(const Request& request);

/// @param terms  of request.pod, without a problem
/// @return nothing at all when no term contributed, which is PreScore's other Skip
AffinityScores pre_score(PodTerms terms, const Request& request);

/// The higher the better; may be negative.
std::int64_t score(const AffinityScores& scores, const Node& node);

/// `scores` is not empty.
void normalize_affinity(std::vector<std::int64_t>& scores);

}  // namespace berth::reference
