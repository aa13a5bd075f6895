// SPDX-License-Identifier: Apache-2.0
#include "host/store/pod_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "host/objects/pod_copy.h"

namespace berth {
namespace {

constexpr std::string_view kForbiddenFields =
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

template <class T>
bool starts_with(std::span<const T> list, std::span<const T> start) {
  return list.size() >= start.size() && std::equal(start.begin(), start.end(), list.begin());
}

bool only_narrows(const NodeSelectorTerm& before, const NodeSelectorTerm& after) {
  // An empty term matches no node, so that an addition would widen it.
  if (before.match_expressions.empty() && before.match_fields.empty()) return after == before;
  return starts_with<SelectorRequirement>(after.match_expressions, before.match_expressions) &&
         starts_with<SelectorRequirement>(after.match_fields, before.match_fields);
}

void check_node_selector(const PodSpec& before, const PodSpec& after, std::vector<std::string>& problems) {
  for (const auto& [key, value] : before.node_selector) {
    if (after.node_selector.find(key) == value) continue;
    problems.emplace_back(
        "spec.nodeSelector: Invalid value: only additions to spec.nodeSelector are allowed (no mutations or "
        "deletions)");
    return;
  }
}

void check_node_affinity(const PodSpec& before, const PodSpec& after, std::vector<std::string>& problems) {
  if (!before.node_affinity || !before.node_affinity->required) return;
  constexpr std::string_view kPath =
      "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  const std::vector<NodeSelectorTerm>& old_terms = *before.node_affinity->required;
  std::vector<NodeSelectorTerm> new_terms;
  if (after.node_affinity && after.node_affinity->required) new_terms = *after.node_affinity->required;
  if (!old_terms.empty() && old_terms.size() != new_terms.size()) {
    problems.push_back(fmt::format(
        "{}: Invalid value: no additions/deletions to non-empty NodeSelectorTerms list are allowed", kPath));
    return;
  }
  for (std::size_t i = 0; i < old_terms.size(); ++i) {
    if (!only_narrows(old_terms[i], new_terms[i]))
      problems.push_back(
          fmt::format("{}[{}]: Invalid value: only additions are allowed (no mutations or deletions)", kPath, i));
  }
}

/// @return false when nothing behind it can be compared
bool check_containers(std::string_view path, const std::vector<Container>& before, const std::vector<Container>& after,
                      std::vector<std::string>& problems) {
  if (before.size() == after.size()) return true;
  problems.push_back(fmt::format("spec.{}: Forbidden: pod updates may not add or remove containers", path));
  return false;
}

void check_tolerations(const PodSpec& before, const PodSpec& after, std::vector<std::string>& problems) {
  const bool all_kept = std::all_of(before.tolerations.begin(), before.tolerations.end(), [&](const Toleration& old) {
    return std::find(after.tolerations.begin(), after.tolerations.end(), old) != after.tolerations.end();
  });
  if (!all_kept)
    problems.emplace_back(
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds");
}

void check_gates(const Pod& before, const Pod& after, std::vector<std::string>& problems) {
  const std::vector<std::string>& old_gates = before.rare().scheduling_gates;
  const std::vector<std::string>& new_gates = after.rare().scheduling_gates;
  for (std::size_t i = 0; i < new_gates.size(); ++i) {
    if (std::find(old_gates.begin(), old_gates.end(), new_gates[i]) != old_gates.end()) continue;
    problems.push_back(
        fmt::format("spec.schedulingGates[{}].name: Forbidden: only deletion is allowed, but found new scheduling gate "
                    "'{}'",
                    i, new_gates[i]));
  }
}

void copy_images(const std::vector<Container>& from, std::vector<Container>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i].image = from[i].image;
}

/// Of the parts of spec that the model keeps in Pod, those that never change.
bool has_same_fixed_fields(const Pod& a, const Pod& b) {
  return a.node_name == b.node_name && a.priority == b.priority && a.preemption_policy == b.preemption_policy &&
         a.rare().volumes == b.rare().volumes && a.rare().resource_claims == b.rare().resource_claims;
}

bool has_same_spec(const Pod& a, const Pod& b) { return a.spec == b.spec || *a.spec == *b.spec; }

}  // namespace

PodPtr with_stored_status(const PodPtr& wanted, const Pod& stored) {
  const std::shared_ptr<Pod> pod = copy_of(*wanted);
  const PodRare& status = stored.rare();
  PodRare rare = wanted->rare();
  rare.nominated_node_name = status.nominated_node_name;
  rare.status_resources = status.status_resources;
  rare.resize_infeasible = status.resize_infeasible;
  rare.preempted = status.preempted;
  pod->rare_fields = rare == PodRare() ? nullptr : std::make_unique<const PodRare>(std::move(rare));
  pod->stored_uid = stored.stored_uid;
  pod->creation_time_us = stored.creation_time_us;
  pod->start_time_us = stored.start_time_us;
  pod->phase = stored.phase;
  pod->terminating = stored.terminating;
  return pod;
}

bool has_other_spec(const Pod& before, const Pod& after) {
  return !has_same_spec(before, after) || !has_same_fixed_fields(before, after) ||
         before.rare().scheduling_gates != after.rare().scheduling_gates;
}

std::vector<std::string> update_problems(const Pod& before, const Pod& after) {
  std::vector<std::string> problems;
  const PodSpec& old_spec = *before.spec;
  const PodSpec& new_spec = *after.spec;
  if (!check_containers("containers", old_spec.containers, new_spec.containers, problems)) return problems;
  if (!check_containers("initContainers", old_spec.init_containers, new_spec.init_containers, problems))
    return problems;
  check_tolerations(old_spec, new_spec, problems);
  check_gates(before, after, problems);
  if (!has_other_spec(before, after)) return problems;

  PodSpec rest = new_spec;  // with everything set back that may differ
  copy_images(old_spec.containers, rest.containers);
  copy_images(old_spec.init_containers, rest.init_containers);
  rest.tolerations = old_spec.tolerations;
  rest.tolerations_hash = old_spec.tolerations_hash;
  if (!before.rare().scheduling_gates.empty()) {
    check_node_selector(old_spec, new_spec, problems);
    rest.node_selector = old_spec.node_selector;
    check_node_affinity(old_spec, new_spec, problems);
    rest.node_affinity = old_spec.node_affinity;
  }
  if (rest != old_spec || !has_same_fixed_fields(before, after)) problems.emplace_back(kForbiddenFields);
  return problems;
}

}  // namespace berth
