// SPDX-License-Identifier: Apache-2.0
#pragma once

// Terms of pod affinity and anti-affinity: docs/behaviour/plugins-topology.md 3.1 to 3.3.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "host/engine/reference/label_matcher.h"
#include "host/objects/cluster_objects.h"
#include "host/objects/pod.h"

namespace berth::reference {

struct AffinityTerm {
  std::string topology_key;
  LabelMatcher selector;
  std::set<std::string> namespaces;
  LabelMatcher namespace_selector;

  /// @param namespace_labels  of the other pod's namespace; which `namespace_selector` is matched with
  bool matches(const Pod& other, const LabelMap& namespace_labels) const;
};

struct WeightedTerm {
  std::int64_t weight;
  AffinityTerm term;
};

/// The four groups of one pod. A group with a term that does not parse is empty.
struct PodTerms {
  std::vector<AffinityTerm> required_affinity;
  std::vector<AffinityTerm> required_anti_affinity;
  std::vector<WeightedTerm> preferred_affinity;
  std::vector<WeightedTerm> preferred_anti_affinity;
  std::string problem;  ///< of all groups; empty when all parse
};
PodTerms parse_terms(const Pod& pod);

/// 3.3: a term of the incoming pod is matched without namespace labels, so the namespaces that its selector finds are
/// listed in advance.
/// @param keeps_selector  as v1.34 and v1.35 do (Q2): the selector is still matched with empty labels afterwards, which
/// a
///     purely negative one matches
void list_namespaces(AffinityTerm& term, const std::vector<Namespace>& namespaces, bool keeps_selector);

/// False for no terms. `terms` are of the incoming pod, their namespaces listed.
bool matches_all(const std::vector<AffinityTerm>& terms, const Pod& other);

}  // namespace berth::reference
