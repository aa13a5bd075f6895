// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/label_matcher.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace berth::reference {
namespace {

bool holds(const SelectorRequirement& requirement, const LabelMap& labels) {
  const std::optional<std::string_view> value = labels.find(requirement.key);
  const bool listed =
      value && std::find(requirement.values.begin(), requirement.values.end(), *value) != requirement.values.end();
  switch (requirement.op) {
    case SelectorOperator::kIn:
      return listed;
    case SelectorOperator::kNotIn:
      return !listed;
    case SelectorOperator::kExists:
      return value.has_value();
    case SelectorOperator::kDoesNotExist:
      return !value.has_value();
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      break;  // not of a label selector
  }
  return false;
}

}  // namespace

LabelMatcher::LabelMatcher(const LabelMap& pairs) {
  requirements_.emplace();
  require(pairs);
}

LabelMatcher::LabelMatcher(const std::optional<LabelSelector>& selector) {
  if (!selector) return;
  requirements_ = selector->match_expressions;
  require(selector->match_labels);
}

bool LabelMatcher::matches(const LabelMap& labels) const {
  return requirements_ &&
         std::all_of(requirements_->begin(), requirements_->end(),
                     [&](const SelectorRequirement& requirement) { return holds(requirement, labels); });
}

void LabelMatcher::require(const LabelMap& pairs) {
  if (!requirements_) return;
  for (const auto& [key, value] : pairs) {
    requirements_->push_back({std::string(key), SelectorOperator::kIn, {std::string(value)}});
  }
}

void LabelMatcher::require(const LabelMatcher& other) {
  if (!requirements_ || !other.requirements_) return;
  requirements_->insert(requirements_->end(), other.requirements_->begin(), other.requirements_->end());
}

}  // namespace berth::reference
