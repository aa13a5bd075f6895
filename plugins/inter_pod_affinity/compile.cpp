// SPDX-License-Identifier: Apache-2.0
#include "plugins/inter_pod_affinity/compile.h"

#include <algorithm>

#include "host/framework/label_problems.h"

namespace berth {
namespace {

AffinityTerm compile_term(const PodAffinityTerm& term, std::int32_t weight, const std::string& owner_namespace) {
  AffinityTerm out;
  out.key = term.topology_key;
  out.weight = weight;
  for (const std::string& name : term.namespaces) out.namespaces.add(name);
  if (term.namespaces.empty() && !term.namespace_selector) out.namespaces.add(owner_namespace);
  out.namespace_selector = PodLabelSelector(term.namespace_selector);
  out.selector = PodLabelSelector(term.label_selector);
  return out;
}

/// Problems of the groups, each with the name that kube-scheduler gives it; a group reports its first problem.
class GroupProblems {
 public:
  /// @return false, and the problem noted, when a term does not parse
  bool sound(std::string_view group, const PodAffinityTerm& term) {
    std::optional<std::string> problem = label_selector_problem(term.label_selector);
    if (!problem) problem = label_selector_problem(term.namespace_selector);
    if (problem) texts_.add(std::string(group) + ": " + *problem);
    return !problem;
  }
  std::string text() const { return texts_.text().value_or(""); }

 private:
  ProblemTexts texts_;
};

void add_required(std::string_view group, const std::vector<PodAffinityTerm>& terms, const std::string& owner_namespace,
                  GroupProblems& problems, std::vector<AffinityTerm>& out) {
  const auto sound = [&](const PodAffinityTerm& term) { return problems.sound(group, term); };
  if (!std::all_of(terms.begin(), terms.end(), sound)) return;
  for (const PodAffinityTerm& term : terms) out.push_back(compile_term(term, 0, owner_namespace));
}

void add_preferred(std::string_view group, const std::vector<WeightedPodAffinityTerm>& terms, int sign,
                   const std::string& owner_namespace, GroupProblems& problems, std::vector<AffinityTerm>& out) {
  const auto sound = [&](const WeightedPodAffinityTerm& weighted) { return problems.sound(group, weighted.term); };
  if (!std::all_of(terms.begin(), terms.end(), sound)) return;
  for (const WeightedPodAffinityTerm& weighted : terms)
    out.push_back(compile_term(weighted.term, sign * weighted.weight, owner_namespace));
}

}  // namespace

NamespaceLabels namespace_labels(const std::vector<Namespace>& namespaces) {
  NamespaceLabels labels;
  for (const Namespace& name_space : namespaces) labels.insert_or_assign(name_space.name, name_space.labels);
  return labels;
}

std::string AffinityTerm::signature() const {
  std::string out =
      std::to_string(weight) + "@" + std::to_string(key.size()) + ":" + key + namespace_selector.signature() + "\n";
  return out + PodQuery{{{namespaces, selector}}, false}.signature();
}

AffinityTerms compile_affinity_terms(const PodSpec& spec, const std::string& owner_namespace) {
  static const PodAffinity kNone;
  const PodAffinity& affinity = spec.pod_affinity ? *spec.pod_affinity : kNone;
  const PodAffinity& anti_affinity = spec.pod_anti_affinity ? *spec.pod_anti_affinity : kNone;
  AffinityTerms out;
  GroupProblems problems;
  add_required("requiredAffinityTerms", affinity.required, owner_namespace, problems, out.required);
  add_required("requiredAntiAffinityTerms", anti_affinity.required, owner_namespace, problems, out.anti_required);
  add_preferred("preferredAffinityTerms", affinity.preferred, 1, owner_namespace, problems, out.preferred);
  add_preferred("preferredAntiAffinityTerms", anti_affinity.preferred, -1, owner_namespace, problems, out.preferred);
  out.error = problems.text();
  return out;
}

SelectedNamespaces select_namespaces(const PodLabelSelector& selector, const NamespaceLabels& namespaces) {
  SelectedNamespaces selected{selector.signature(), {}};
  for (const auto& [name, labels] : namespaces)
    if (selector.matches(labels)) selected.names.push_back(name);
  return selected;
}

bool selects_all_namespaces(const PodLabelSelector& selector, bool negative_matches_all) {
  return selector.is_empty() || (negative_matches_all && selector.holds_without_labels());
}

}  // namespace berth
