// SPDX-License-Identifier: Apache-2.0
#include "host/objects/node_match.h"

#include <algorithm>
#include <optional>

namespace berth {
namespace {

constexpr std::string_view kNameField = "metadata.name";

bool is_listed(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool is_well_formed(const SelectorRequirement& requirement) {
  if (!is_qualified_name(requirement.key)) return false;
  const auto& values = requirement.values;
  if (!std::all_of(values.begin(), values.end(), is_label_value)) return false;
  switch (requirement.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      return !values.empty();
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      return values.empty();
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      return values.size() == 1 && parse_int64(values[0]).has_value();
  }
  return false;
}

bool compares(const SelectorRequirement& requirement, std::string_view label) {
  const auto actual = parse_int64(label);
  const auto bound = parse_int64(requirement.values[0]);
  if (!actual || !bound) return false;
  return requirement.op == SelectorOperator::kGt ? *actual > *bound : *actual < *bound;
}

bool matches_label(const SelectorRequirement& requirement, const LabelMap& labels) {
  if (!is_well_formed(requirement)) return false;
  const auto label = labels.find(requirement.key);
  switch (requirement.op) {
    case SelectorOperator::kIn:
      return label && is_listed(requirement.values, *label);
    case SelectorOperator::kNotIn:
      return !label || !is_listed(requirement.values, *label);
    case SelectorOperator::kExists:
      return label.has_value();
    case SelectorOperator::kDoesNotExist:
      return !label.has_value();
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      return label && compares(requirement, *label);
  }
  return false;
}

bool matches_field(const SelectorRequirement& requirement, const Node& node) {
  if (requirement.values.size() != 1) return false;
  const std::string_view actual = requirement.key == kNameField ? std::string_view(node.name) : std::string_view();
  if (requirement.op == SelectorOperator::kIn) return actual == requirement.values[0];
  if (requirement.op == SelectorOperator::kNotIn) return actual != requirement.values[0];
  return false;
}

bool matches_term(const NodeSelectorTerm& term, const Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  const auto holds_label = [&](const SelectorRequirement& r) { return matches_label(r, node.labels); };
  const auto holds_field = [&](const SelectorRequirement& r) { return matches_field(r, node); };
  return std::all_of(term.match_expressions.begin(), term.match_expressions.end(), holds_label) &&
         std::all_of(term.match_fields.begin(), term.match_fields.end(), holds_field);
}

}  // namespace

bool matches_required_node_affinity(const PodSpec& spec, const Node& node) {
  for (const auto& [key, value] : spec.node_selector) {
    const auto label = node.labels.find(key);
    if (!label || *label != value) return false;
  }
  if (!spec.node_affinity || !spec.node_affinity->required) return true;
  const auto& terms = *spec.node_affinity->required;
  return std::any_of(terms.begin(), terms.end(),
                     [&](const NodeSelectorTerm& term) { return matches_term(term, node); });
}

bool accepts_labels(const std::optional<std::vector<NodeSelectorTerm>>& terms, const LabelMap& labels) {
  if (!terms) return true;
  const auto holds = [&](const SelectorRequirement& requirement) { return matches_label(requirement, labels); };
  return std::any_of(terms->begin(), terms->end(), [&](const NodeSelectorTerm& term) {
    const bool is_empty = term.match_expressions.empty() && term.match_fields.empty();
    return !is_empty && std::all_of(term.match_expressions.begin(), term.match_expressions.end(), holds);
  });
}

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (toleration.effect && *toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == TolerationOperator::kExists) return true;
  return toleration.op == TolerationOperator::kEqual && toleration.value == taint.value;
}

bool has_untolerated_taint(const PodSpec& spec, const Node& node) {
  return std::any_of(node.taints.begin(), node.taints.end(), [&](const Taint& taint) {
    if (taint.effect == TaintEffect::kPreferNoSchedule) return false;
    const auto& tolerations = spec.tolerations;
    return std::none_of(tolerations.begin(), tolerations.end(),
                        [&](const Toleration& toleration) { return tolerates(toleration, taint); });
  });
}

}  // namespace berth
