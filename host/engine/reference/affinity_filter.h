// SPDX-License-Identifier: Apache-2.0
#pragma once

// PreFilter and Filter of InterPodAffinity: docs/behaviour/plugins-topology.md 3.4 to 3.6.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/engine/reference/affinity_terms.h"
#include "host/engine/reference/cluster_view.h"
#include "host/engine/reference/request.h"
#include "host/framework/status.h"

namespace berth::reference {

/// (topology key, value of a node) -> matches there; an entry that returns to 0 is gone.
using DomainCounts = std::map<std::pair<std::string, std::string>, std::int64_t>;

/// Counts for existing pods and for the terms of one incoming pod.
struct AffinityState {
  std::vector<AffinityTerm> affinity;       ///< required, of the incoming pod, namespaces listed
  std::vector<AffinityTerm> anti_affinity;  ///< required, of the incoming pod, namespaces listed
  LabelMap namespace_labels;                ///< of the incoming pod's namespace
  DomainCounts existing_anti_affinity;      ///< E: terms of existing pods that match the incoming pod
  DomainCounts affinity_counts;             ///< A: existing pods that match all of `affinity`
  DomainCounts anti_affinity_counts;        ///< B: existing pods that match a term of `anti_affinity`

  /// PreFilter says Skip: nothing here can refuse a node, and pods that are added later are not heard of (Q5).
  bool is_idle() const { return existing_anti_affinity.empty() && affinity.empty() && anti_affinity.empty(); }
};

/// @param terms  of request.pod, without a problem
AffinityState count_matches(PodTerms terms, const Request& request);

/// AddPod (delta 1) and RemovePod (delta -1) of 3.6: `other` comes to or leaves `node`.
/// @param terms  of `other`
void update(AffinityState& state, const Request& request, const Pod& other, const PodTerms& terms, const Node& node,
            std::int64_t delta);

Status filter(const AffinityState& state, const Request& request, const Node& node);

}  // namespace berth::reference
