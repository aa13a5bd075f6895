// SPDX-License-Identifier: Apache-2.0
#include "plugins/pod_query.h"

#include <algorithm>
#include <tuple>

namespace berth {
namespace {

auto order_of(const SelectorRequirement& r) { return std::tie(r.key, r.op, r.values); }

/// @param value  of the requirement's key; nullopt where there is none
bool holds(const SelectorRequirement& requirement, std::optional<std::string_view> value) {
  const auto listed = [&] { return std::binary_search(requirement.values.begin(), requirement.values.end(), *value); };
  switch (requirement.op) {
    case SelectorOperator::kIn:
      return value && listed();
    case SelectorOperator::kNotIn:
      return !value || !listed();
    case SelectorOperator::kExists:
      return value.has_value();
    case SelectorOperator::kDoesNotExist:
      return !value;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      break;
  }
  return false;  // no operator of a label selector; refused when it is read
}

void append_text(std::string& out, std::string_view text) {
  out.append(std::to_string(text.size())).append(1, ':').append(text);
}

}  // namespace

PodLabelSelector::PodLabelSelector(const std::optional<LabelSelector>& selector) : nothing_(!selector) {
  if (!selector) return;
  for (const auto& [key, value] : selector->match_labels) add_equal(key, value);
  for (const SelectorRequirement& requirement : selector->match_expressions) add(requirement);
}

void PodLabelSelector::add_equal(std::string_view key, std::string_view value) {
  add({std::string(key), SelectorOperator::kIn, {std::string(value)}});
}

void PodLabelSelector::add_all(const PodLabelSelector& other) {
  for (const SelectorRequirement& requirement : other.requirements_) add(requirement);
}

void PodLabelSelector::add(SelectorRequirement requirement) {
  if (nothing_) return;
  std::sort(requirement.values.begin(), requirement.values.end());
  const auto at = std::lower_bound(requirements_.begin(), requirements_.end(), requirement,
                                   [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  if (at == requirements_.end() || *at != requirement) requirements_.insert(at, std::move(requirement));
}

bool PodLabelSelector::matches(const LabelMap& labels) const {
  if (nothing_) return false;
  auto label = labels.begin();  // both are sorted by key, so one walk does, however many there are of either
  for (const SelectorRequirement& requirement : requirements_) {
    while (label != labels.end() && (*label).first < requirement.key) ++label;
    std::optional<std::string_view> value;
    if (label != labels.end() && (*label).first == requirement.key) value = (*label).second;
    if (!holds(requirement, value)) return false;
  }
  return true;
}

std::vector<LabelMap::Entry> PodLabelSelector::demanded_labels() const {
  std::vector<LabelMap::Entry> labels;
  for (const SelectorRequirement& requirement : requirements_)
    if (requirement.op == SelectorOperator::kIn && requirement.values.size() == 1)
      labels.emplace_back(requirement.key, requirement.values.front());
  return labels;
}

bool PodLabelSelector::holds_without_labels() const { return !requirements_.empty() && matches(LabelMap()); }

std::string PodLabelSelector::signature() const {
  if (nothing_) return "-";
  std::string out;
  for (const SelectorRequirement& requirement : requirements_) {
    out.push_back(static_cast<char>('a' + static_cast<int>(requirement.op)));
    append_text(out, requirement.key);
    for (const std::string& value : requirement.values) append_text(out, value);
  }
  return out;
}

bool NamespaceSet::contains(std::string_view name) const {
  const auto lists = [&](const std::vector<std::string>& list) {
    return std::binary_search(list.begin(), list.end(), name);
  };
  return all || lists(names) || (selected != nullptr && lists(selected->names));
}

void NamespaceSet::add(std::string name) {
  const auto at = std::lower_bound(names.begin(), names.end(), name);
  if (at == names.end() || *at != name) names.insert(at, std::move(name));
}

bool PodQuery::matches(std::string_view pod_namespace, const LabelMap& labels) const {
  return !conditions.empty() && std::all_of(conditions.begin(), conditions.end(), [&](const PodQueryTerm& condition) {
    return condition.matches(pod_namespace, labels);
  });
}

std::string PodQuery::signature() const {
  std::string out(skips_terminating ? "s" : "t");
  for (const PodQueryTerm& condition : conditions) {
    out.append(condition.namespaces.all ? "*" : "n");
    if (!condition.namespaces.all)
      for (const std::string& name : condition.namespaces.names) append_text(out, name);
    if (condition.namespaces.selected != nullptr)
      append_text(out.append(1, '+'), condition.namespaces.selected->selector);
    append_text(out, condition.selector.signature());
  }
  return out;
}

}  // namespace berth
