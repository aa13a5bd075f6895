// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/affinity_terms.h"

#include <algorithm>
#include <functional>

#include "host/framework/label_problems.h"

namespace berth::reference {
namespace {

std::optional<std::string> problem_of(const PodAffinityTerm& term) {
  if (std::optional<std::string> problem = label_selector_problem(term.label_selector)) return problem;
  return label_selector_problem(term.namespace_selector);
}

AffinityTerm parse(const PodAffinityTerm& term, const Pod& owner) {
  AffinityTerm parsed{term.topology_key, LabelMatcher(term.label_selector), {}, LabelMatcher(term.namespace_selector)};
  parsed.namespaces.insert(term.namespaces.begin(), term.namespaces.end());
  if (term.namespaces.empty() && !term.namespace_selector) parsed.namespaces.insert(owner.namespace_);
  return parsed;
}

/// Notes the first problem of a group under the group's name.
template <class Terms, class TermOf>
bool group_parses(const Terms& terms, TermOf term_of, const char* group, ProblemTexts& problems) {
  for (const auto& term : terms) {
    const std::optional<std::string> problem = problem_of(term_of(term));
    if (!problem) continue;
    problems.add(std::string(group) + ": " + *problem);
    return false;
  }
  return true;
}

std::vector<AffinityTerm> parse_required(const PodAffinity& affinity, const Pod& owner, const char* group,
                                         ProblemTexts& problems) {
  std::vector<AffinityTerm> parsed;
  if (!group_parses(affinity.required, std::identity(), group, problems)) return parsed;
  for (const PodAffinityTerm& term : affinity.required) parsed.push_back(parse(term, owner));
  return parsed;
}

std::vector<WeightedTerm> parse_preferred(const PodAffinity& affinity, const Pod& owner, const char* group,
                                          ProblemTexts& problems) {
  std::vector<WeightedTerm> parsed;
  const auto inner = [](const WeightedPodAffinityTerm& weighted) -> const PodAffinityTerm& { return weighted.term; };
  if (!group_parses(affinity.preferred, inner, group, problems)) return parsed;
  for (const WeightedPodAffinityTerm& weighted : affinity.preferred) {
    parsed.push_back({weighted.weight, parse(weighted.term, owner)});
  }
  return parsed;
}

}  // namespace

bool AffinityTerm::matches(const Pod& other, const LabelMap& namespace_labels) const {
  const bool in_namespace = namespaces.contains(other.namespace_) || namespace_selector.matches(namespace_labels);
  return in_namespace && selector.matches(other.labels);
}

PodTerms parse_terms(const Pod& pod) {
  const PodAffinity affinity = pod.spec->pod_affinity.value_or(PodAffinity{});
  const PodAffinity anti_affinity = pod.spec->pod_anti_affinity.value_or(PodAffinity{});
  ProblemTexts problems;
  PodTerms terms;
  terms.required_affinity = parse_required(affinity, pod, "requiredAffinityTerms", problems);
  terms.required_anti_affinity = parse_required(anti_affinity, pod, "requiredAntiAffinityTerms", problems);
  terms.preferred_affinity = parse_preferred(affinity, pod, "preferredAffinityTerms", problems);
  terms.preferred_anti_affinity = parse_preferred(anti_affinity, pod, "preferredAntiAffinityTerms", problems);
  terms.problem = problems.text().value_or("");
  return terms;
}

void list_namespaces(AffinityTerm& term, const std::vector<Namespace>& namespaces, bool keeps_selector) {
  if (term.namespace_selector.is_empty()) return;  // matches every namespace without a list
  for (const Namespace& candidate : namespaces) {
    if (term.namespace_selector.matches(candidate.labels)) term.namespaces.insert(candidate.name);
  }
  if (!keeps_selector) term.namespace_selector = LabelMatcher();
}

bool matches_all(const std::vector<AffinityTerm>& terms, const Pod& other) {
  return !terms.empty() &&
         std::all_of(terms.begin(), terms.end(), [&](const AffinityTerm& term) { return term.matches(other, {}); });
}

}  // namespace berth::reference
