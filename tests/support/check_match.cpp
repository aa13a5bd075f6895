// SPDX-License-Identifier: Apache-2.0
#include "tests/support/check_match.h"

#include <algorithm>
#include <charconv>

namespace berth::test {
namespace {

std::optional<bool> field_holds(const SelectorRequirement& r, const Node& node) {
  const bool in = r.op == SelectorOperator::kIn;
  if ((!in && r.op != SelectorOperator::kNotIn) || r.values.size() != 1) return std::nullopt;
  return (r.values.front() == (r.key == "metadata.name" ? node.name : "")) == in;
}

bool term_holds(const NodeSelectorTerm& term, const Node& node) {
  const std::map<std::string, std::string> labels = to_map(node.labels);
  std::vector<std::optional<bool>> parts;
  for (const SelectorRequirement& r : term.match_expressions) parts.push_back(expression_holds(r, labels));
  for (const SelectorRequirement& r : term.match_fields) parts.push_back(field_holds(r, node));
  // value_or treats a malformed part as no match.
  return !parts.empty() &&
         std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.value_or(false); });
}

}  // namespace

std::map<std::string, std::string> to_map(const LabelMap& labels) {
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : labels) result.emplace(key, value);
  return result;
}

std::optional<bool> expression_holds(const SelectorRequirement& r, const std::map<std::string, std::string>& labels) {
  if (!is_qualified_name(r.key) || !std::all_of(r.values.begin(), r.values.end(), is_label_value)) return std::nullopt;
  const auto at = labels.find(r.key);
  const bool there = at != labels.end();
  const bool listed = there && std::count(r.values.begin(), r.values.end(), at->second) > 0;
  if (r.op == SelectorOperator::kIn) return r.values.empty() ? std::nullopt : std::optional(listed);
  if (r.op == SelectorOperator::kNotIn) return r.values.empty() ? std::nullopt : std::optional(!listed);
  if (r.op == SelectorOperator::kExists) return r.values.empty() ? std::optional(there) : std::nullopt;
  if (r.op == SelectorOperator::kDoesNotExist) return r.values.empty() ? std::optional(!there) : std::nullopt;
  const auto bound = r.values.size() == 1 ? parse_int64(r.values.front()) : std::nullopt;
  if (!bound) return std::nullopt;
  const auto have = there ? parse_int64(at->second) : std::nullopt;
  return have && (r.op == SelectorOperator::kGt ? *have > *bound : *have < *bound);
}

bool selector_holds(const LabelSelector& selector, const std::map<std::string, std::string>& labels) {
  for (const auto& [key, value] : selector.match_labels) {
    const auto at = labels.find(std::string(key));
    if (at == labels.end() || at->second != value) return false;
  }
  return std::all_of(selector.match_expressions.begin(), selector.match_expressions.end(),
                     [&](const SelectorRequirement& r) { return expression_holds(r, labels).value_or(false); });
}

bool tolerates(const Taint& taint, const std::vector<Toleration>& tolerations, bool compares_taints) {
  for (const Toleration& t : tolerations) {
    if (t.effect.value_or(taint.effect) != taint.effect || (!t.key.empty() && t.key != taint.key)) continue;
    if (t.op == TolerationOperator::kExists) return true;
    if (t.op == TolerationOperator::kEqual && t.value == taint.value) return true;
    if (t.op == TolerationOperator::kEqual || !compares_taints) continue;
    long long have = 0;
    long long bound = 0;
    std::from_chars(taint.value.data(), taint.value.data() + taint.value.size(), have);
    std::from_chars(t.value.data(), t.value.data() + t.value.size(), bound);
    const bool canonical = std::to_string(have) == taint.value && std::to_string(bound) == t.value;
    if (canonical && (t.op == TolerationOperator::kGt ? have > bound : have < bound)) return true;
  }
  return false;
}

bool affinity_holds(const std::optional<NodeAffinity>& affinity, const Node& node) {
  if (!affinity || !affinity->required) return true;
  return std::any_of(affinity->required->begin(), affinity->required->end(),
                     [&](const NodeSelectorTerm& term) { return term_holds(term, node); });
}

bool node_selector_holds(const LabelMap& selector, const Node& node) {
  std::size_t held = 0;
  for (const auto& [key, value] : node.labels) held += selector.find(key) == value ? 1u : 0u;
  return held == selector.size();
}

}  // namespace berth::test
