// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/affinity_filter.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace berth::reference {
namespace {

void add(DomainCounts& counts, const std::string& key, const Node& node, std::int64_t delta) {
  const std::optional<std::string_view> value = node.labels.find(key);
  if (!value) return;
  const auto entry = counts.try_emplace({key, std::string(*value)}, 0).first;
  entry->second += delta;
  if (entry->second == 0) counts.erase(entry);
}

std::int64_t count_at(const DomainCounts& counts, std::string_view key, std::string_view value) {
  const auto found = counts.find({std::string(key), std::string(value)});
  return found == counts.end() ? 0 : found->second;
}

bool satisfies_affinity(const AffinityState& state, const Pod& pod, const Node& node) {
  bool pods_are_there = true;
  for (const AffinityTerm& term : state.affinity) {
    const std::optional<std::string_view> value = node.labels.find(term.topology_key);
    if (!value) return false;
    if (count_at(state.affinity_counts, term.topology_key, *value) <= 0) pods_are_there = false;
  }
  // The first pod of a series may go anywhere that has the keys, or none ever could.
  return pods_are_there || (state.affinity_counts.empty() && matches_all(state.affinity, pod));
}

bool satisfies_anti_affinity(const AffinityState& state, const Node& node) {
  return std::none_of(state.anti_affinity.begin(), state.anti_affinity.end(), [&](const AffinityTerm& term) {
    const std::optional<std::string_view> value = node.labels.find(term.topology_key);
    return value && count_at(state.anti_affinity_counts, term.topology_key, *value) > 0;
  });
}

bool satisfies_existing_pods(const AffinityState& state, const Node& node) {
  if (state.existing_anti_affinity.empty()) return true;
  for (const auto& [key, value] : node.labels) {
    if (count_at(state.existing_anti_affinity, key, value) > 0) return false;
  }
  return true;
}

Status refuse(StatusCode code, const char* reason) { return {code, "InterPodAffinity", {reason}}; }

}  // namespace

AffinityState count_matches(PodTerms terms, const Request& request) {
  const ClusterView& cluster = *request.cluster;
  AffinityState state;
  state.affinity = std::move(terms.required_affinity);
  state.anti_affinity = std::move(terms.required_anti_affinity);
  for (auto* group : {&state.affinity, &state.anti_affinity}) {
    for (AffinityTerm& term : *group) {
      list_namespaces(term, cluster.objects.namespaces, cluster.bugs.negative_namespace_selector_matches_all);
    }
  }
  state.namespace_labels = cluster.namespace_labels(request.pod->namespace_);
  for (const NodeState& node : cluster.nodes) {
    for (const PodOnNode& other : node.pods) update(state, request, *other.pod, *other.terms, *node.node, 1);
  }
  return state;
}

void update(AffinityState& state, const Request& request, const Pod& other, const PodTerms& terms, const Node& node,
            std::int64_t delta) {
  for (const AffinityTerm& term : terms.required_anti_affinity) {
    if (!term.matches(*request.pod, state.namespace_labels)) continue;
    add(state.existing_anti_affinity, term.topology_key, node, delta);
  }
  if (matches_all(state.affinity, other)) {
    for (const AffinityTerm& term : state.affinity) add(state.affinity_counts, term.topology_key, node, delta);
  }
  for (const AffinityTerm& term : state.anti_affinity) {
    if (term.matches(other, {})) add(state.anti_affinity_counts, term.topology_key, node, delta);
  }
}

Status filter(const AffinityState& state, const Request& request, const Node& node) {
  if (!satisfies_affinity(state, *request.pod, node)) {
    return refuse(StatusCode::kUnschedulableAndUnresolvable, "node(s) didn't match pod affinity rules");
  }
  if (!satisfies_anti_affinity(state, node)) {
    return refuse(StatusCode::kUnschedulable, "node(s) didn't match pod anti-affinity rules");
  }
  if (!satisfies_existing_pods(state, node)) {
    return refuse(StatusCode::kUnschedulable, "node(s) didn't satisfy existing pods anti-affinity rules");
  }
  return {};
}

}  // namespace berth::reference
