// SPDX-License-Identifier: Apache-2.0
#include "host/objects/label_keys.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {
namespace {

bool names_keys(const PodAffinityTerm& term) {
  return !term.match_label_keys.empty() || !term.mismatch_label_keys.empty();
}

bool names_keys(const std::optional<PodAffinity>& affinity) {
  if (!affinity) return false;
  const auto weighted_names_keys = [](const WeightedPodAffinityTerm& weighted) { return names_keys(weighted.term); };
  return std::any_of(affinity->required.begin(), affinity->required.end(),
                     [](const PodAffinityTerm& term) { return names_keys(term); }) ||
         std::any_of(affinity->preferred.begin(), affinity->preferred.end(), weighted_names_keys);
}

bool requires_key(const LabelSelector& selector, std::string_view key, SelectorOperator op) {
  return std::any_of(
      selector.match_expressions.begin(), selector.match_expressions.end(),
      [&](const SelectorRequirement& requirement) { return requirement.key == key && requirement.op == op; });
}

/// @return whether the selector changed
bool add_keys(const std::vector<std::string>& keys, SelectorOperator op, const LabelMap& labels,
              LabelSelector& selector) {
  bool changed = false;
  for (const std::string& key : keys) {
    const std::optional<std::string_view> value = labels.find(key);
    if (!value || requires_key(selector, key, op)) continue;
    selector.match_expressions.push_back({key, op, {std::string(*value)}});
    changed = true;
  }
  return changed;
}

bool add_keys(const LabelMap& labels, PodAffinityTerm& term) {
  if (!term.label_selector) return false;
  const bool matched = add_keys(term.match_label_keys, SelectorOperator::kIn, labels, *term.label_selector);
  const bool mismatched = add_keys(term.mismatch_label_keys, SelectorOperator::kNotIn, labels, *term.label_selector);
  return matched || mismatched;
}

bool add_keys(const LabelMap& labels, std::optional<PodAffinity>& affinity) {
  if (!affinity) return false;
  bool changed = false;
  for (PodAffinityTerm& term : affinity->required) changed |= add_keys(labels, term);
  for (WeightedPodAffinityTerm& weighted : affinity->preferred) changed |= add_keys(labels, weighted.term);
  return changed;
}

}  // namespace

bool names_label_keys(const PodSpec& spec) {
  return names_keys(spec.pod_affinity) || names_keys(spec.pod_anti_affinity);
}

SpecPtr with_label_keys(const SpecPtr& spec, const LabelMap& labels, ObjectPools& pools) {
  if (!names_label_keys(*spec)) return spec;
  PodSpec merged = *spec;
  const bool affinity_changed = add_keys(labels, merged.pod_affinity);
  const bool anti_affinity_changed = add_keys(labels, merged.pod_anti_affinity);
  return affinity_changed || anti_affinity_changed ? pools.spec(std::move(merged)) : spec;
}

}  // namespace berth
