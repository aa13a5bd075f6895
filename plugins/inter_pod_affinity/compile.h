// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/pod_query.h"

namespace berth {

/// Labels by namespace. One without an object has none.
using NamespaceLabels = std::map<std::string, LabelMap, std::less<>>;
NamespaceLabels namespace_labels(const std::vector<Namespace>& namespaces);

/// A term of a pod's (anti-)affinity, resolved for its owner: docs/behaviour/plugins-topology.md 3.2.
struct AffinityTerm {
  std::string key;
  std::int32_t weight = 0;  ///< of a preferred term, negative for anti-affinity; 0: required
  NamespaceSet namespaces;  ///< named, or the owner's own
  PodLabelSelector namespace_selector = PodLabelSelector::nothing();
  PodLabelSelector selector = PodLabelSelector::nothing();

  /// As a term of an existing pod, asked about an incoming one. @param labels_of_namespace of the incoming pod's
  bool matches(std::string_view pod_namespace, const LabelMap& labels_of_namespace, const LabelMap& labels) const {
    return (namespaces.contains(pod_namespace) || namespace_selector.matches(labels_of_namespace)) &&
           selector.matches(labels);
  }
  std::string signature() const;
};

/// All terms of a pod. A group of which one selector does not parse is empty as a whole.
struct AffinityTerms {
  std::vector<AffinityTerm> required;
  std::vector<AffinityTerm> anti_required;
  std::vector<AffinityTerm> preferred;  ///< of both kinds; the sign of the weight tells
  std::string error;                    ///< what PreFilter says where a term of the incoming pod does not parse
};

AffinityTerms compile_affinity_terms(const PodSpec& spec, const std::string& owner_namespace);

/// The namespaces that a selector matches now.
SelectedNamespaces select_namespaces(const PodLabelSelector& selector, const NamespaceLabels& namespaces);

/// Does the namespaceSelector of an incoming pod's term match every namespace?
/// @param negative_matches_all  UpstreamBugs::negative_namespace_selector_matches_all
bool selects_all_namespaces(const PodLabelSelector& selector, bool negative_matches_all);

}  // namespace berth
