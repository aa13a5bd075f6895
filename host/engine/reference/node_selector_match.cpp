// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/node_selector_match.h"

#include <algorithm>
#include <string_view>

namespace berth::reference {
namespace {

constexpr std::string_view kNameField = "metadata.name";

bool contains(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool is_malformed_expression(const SelectorRequirement& requirement) {
  if (!is_qualified_name(requirement.key)) return true;
  for (const std::string& value : requirement.values) {
    if (!is_label_value(value)) return true;
  }
  switch (requirement.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      return requirement.values.empty();
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      return !requirement.values.empty();
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      return requirement.values.size() != 1 || !parse_int64(requirement.values[0]);
  }
  return true;
}

bool is_malformed_field(const SelectorRequirement& requirement) {
  const bool known = requirement.op == SelectorOperator::kIn || requirement.op == SelectorOperator::kNotIn;
  return !known || requirement.values.size() != 1;
}

/// Gt and Lt: a label that is no integer makes both false.
bool compares(std::string_view label, const SelectorRequirement& requirement) {
  const std::optional<std::int64_t> have = parse_int64(label);
  const std::optional<std::int64_t> bound = parse_int64(requirement.values[0]);
  if (!have || !bound) return false;
  return requirement.op == SelectorOperator::kGt ? *have > *bound : *have < *bound;
}

/// `requirement` is well formed.
bool expression_matches(const SelectorRequirement& requirement, const Node& node) {
  const std::optional<std::string_view> label = node.labels.find(requirement.key);
  switch (requirement.op) {
    case SelectorOperator::kIn:
      return label && contains(requirement.values, *label);
    case SelectorOperator::kNotIn:
      return !label || !contains(requirement.values, *label);
    case SelectorOperator::kExists:
      return label.has_value();
    case SelectorOperator::kDoesNotExist:
      return !label;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      return label && compares(*label, requirement);
  }
  return false;
}

/// `requirement` is well formed. A field other than the name reads as the empty string.
bool field_matches(const SelectorRequirement& requirement, const Node& node) {
  const std::string_view have = requirement.key == kNameField ? std::string_view(node.name) : std::string_view();
  const bool equal = have == requirement.values[0];
  return requirement.op == SelectorOperator::kIn ? equal : !equal;
}

/// Intersection over the term's "metadata.name In" requirements; nullopt when it has none.
std::optional<std::set<std::string>> named_by(const NodeSelectorTerm& term) {
  std::optional<std::set<std::string>> names;
  for (const SelectorRequirement& requirement : term.match_fields) {
    if (requirement.key != kNameField || requirement.op != SelectorOperator::kIn) continue;
    const std::set<std::string> listed(requirement.values.begin(), requirement.values.end());
    if (!names) {
      names = listed;
    } else {
      std::erase_if(*names, [&](const std::string& name) { return !listed.contains(name); });
    }
  }
  return names;
}

}  // namespace

bool is_malformed(const NodeSelectorTerm& term) {
  return std::any_of(term.match_expressions.begin(), term.match_expressions.end(), is_malformed_expression) ||
         std::any_of(term.match_fields.begin(), term.match_fields.end(), is_malformed_field);
}

bool is_empty(const NodeSelectorTerm& term) { return term.match_expressions.empty() && term.match_fields.empty(); }

bool term_matches(const NodeSelectorTerm& term, const Node& node) {
  if (is_empty(term) || is_malformed(term)) return false;
  const auto expression = [&](const SelectorRequirement& requirement) { return expression_matches(requirement, node); };
  const auto field = [&](const SelectorRequirement& requirement) { return field_matches(requirement, node); };
  return std::all_of(term.match_expressions.begin(), term.match_expressions.end(), expression) &&
         std::all_of(term.match_fields.begin(), term.match_fields.end(), field);
}

bool any_term_matches(const std::vector<NodeSelectorTerm>& terms, const Node& node) {
  return std::any_of(terms.begin(), terms.end(), [&](const auto& term) { return term_matches(term, node); });
}

bool labels_match(const LabelMap& selector, const Node& node) {
  for (const auto& [key, value] : selector) {
    if (node.labels.find(key) != value) return false;
  }
  return true;
}

std::optional<std::set<std::string>> named_nodes(const std::vector<NodeSelectorTerm>& terms) {
  // No term at all is no shortcut either: the filter refuses every node then (8.2).
  if (terms.empty()) return std::nullopt;
  std::set<std::string> all;
  for (const NodeSelectorTerm& term : terms) {
    const std::optional<std::set<std::string>> names = named_by(term);
    if (!names) return std::nullopt;
    all.insert(names->begin(), names->end());
  }
  return all;
}

}  // namespace berth::reference
