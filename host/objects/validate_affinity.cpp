// SPDX-License-Identifier: Apache-2.0
// Selectors, affinity, topology spread and tolerations: pkg/apis/core/validation and apimachinery's validation of label
// selectors.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "host/objects/field_names.h"
#include "host/objects/selectors.h"
#include "host/objects/validation.h"
#include "host/objects/validation_values.h"

namespace berth {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kQualifiedName = "a qualified name such as example.com/name";
constexpr std::string_view kLabelValue = "a label value: at most 63 letters, digits, '-', '_' and '.'";

void validate_qualified_name(const JsonValue& value, ValidationCheck check) {
  if (!is_qualified_name(text_of(value))) expected(value, check, kQualifiedName);
}

void validate_label_values(const JsonValue& values, ValidationCheck check) {
  for_each_text(values, [&](const JsonValue& value, std::string_view text) {
    if (!is_label_value(text)) expected(value, check, kLabelValue);
  });
}

/// How many values an operator of a selector takes.
void validate_value_count(const JsonValue& requirement, ValidationCheck check) {
  const JsonValue op = requirement.field("operator");
  const JsonValue values = requirement.field("values");
  const std::size_t count = element_count(values);
  const std::string_view name = text_of(op);
  if ((name == "In" || name == "NotIn") && count == 0)
    values.finding(check, "no value, expected at least one for In and NotIn");
  if ((name == "Exists" || name == "DoesNotExist") && count > 0) {
    values.finding(check, "expected no values for Exists and DoesNotExist");
  }
  if ((name == "Gt" || name == "Lt") && count != 1) values.finding(check, "expected exactly one value for Gt and Lt");
}

/// @param takes_odd_values  values of preferred terms may be no label values
void validate_node_requirement(const JsonValue& requirement, bool takes_odd_values) {
  validate_fields(requirement, ApiType::kNodeSelectorRequirement);
  validate_value_count(requirement, ValidationCheck::kNodeRequirement);
  validate_qualified_name(requirement.field("key"), ValidationCheck::kNodeRequirement);
  if (!takes_odd_values) validate_label_values(requirement.field("values"), ValidationCheck::kNodeRequirement);
}

void validate_node_field(const JsonValue& requirement) {
  validate_fields(requirement, ApiType::kNodeSelectorRequirement);
  const JsonValue key = requirement.field("key");
  const JsonValue op = requirement.field("operator");
  const JsonValue values = requirement.field("values");
  if (text_of(key) != "metadata.name") expected(key, ValidationCheck::kNodeField, "metadata.name");
  if (text_of(op) != "In" && text_of(op) != "NotIn") {
    expected(op, ValidationCheck::kNodeField, "In or NotIn");
  } else if (element_count(values) != 1) {
    values.finding(ValidationCheck::kNodeField, "expected exactly one value");
  }
  for_each_text(values, [](const JsonValue& value, std::string_view text) {
    if (!is_dns_subdomain(text)) expected(value, ValidationCheck::kNodeField, "the name of a node");
  });
}

void validate_node_selector_term(const JsonValue& term, bool is_preferred) {
  validate_fields(term, ApiType::kNodeSelectorTerm);
  const JsonValue expressions = term.field("matchExpressions");
  const JsonValue fields = term.field("matchFields");
  expressions.for_each_element([&](const JsonValue& one) { validate_node_requirement(one, is_preferred); });
  fields.for_each_element([](const JsonValue& one) { validate_node_field(one); });
}

void validate_weight(const JsonValue& weight) {
  std::int32_t value = 0;
  weight.read(value);
  if (value == 0) expected(weight, ValidationCheck::kPreferenceWeight, "a weight from 1 to 100");
}

void validate_node_affinity(const JsonValue& affinity) {
  validate_fields(affinity, ApiType::kNodeAffinity);
  validate_node_selector(affinity.field(kRequired));
  const JsonValue preferred = affinity.field(kPreferred);
  preferred.for_each_element([](const JsonValue& weighted) {
    validate_fields(weighted, ApiType::kPreferredSchedulingTerm);
    validate_weight(weighted.field("weight"));
    validate_node_selector_term(weighted.field("preference"), true);
  });
}

/// How often a selector requires `key`, and whether one of the requirements is what an API server makes of
/// matchLabelKeys for a pod with that label.
struct KeyUse {
  int count = 0;
  bool is_merged = false;
};

KeyUse use_of(const JsonValue& selector, std::string_view key, std::string_view label) {
  KeyUse use;
  const JsonValue labels = selector.field("matchLabels");
  if (labels.field(key).present()) ++use.count;
  const JsonValue expressions = selector.field("matchExpressions");
  expressions.for_each_element([&](const JsonValue& requirement) {
    if (text_of(requirement.field("key")) != key) return;
    ++use.count;
    const JsonValue values = requirement.field("values");
    use.is_merged |=
        text_of(requirement.field("operator")) == "In" && element_count(values) == 1 && contains_text(values, label);
  });
  return use;
}

/// An API server adds a requirement to the selector for each key of matchLabelKeys that is a label of the pod, and then
/// refuses selectors that require one of the keys twice. A selector that went through an API server has the addition.
void validate_merged_keys(const JsonValue& term, const LabelMap& labels) {
  const JsonValue selector = term.field("labelSelector");
  if (!selector.present()) return;
  std::vector<std::string_view> seen;
  for_each_text(term.field("matchLabelKeys"), [&](const JsonValue& value, std::string_view key) {
    const std::optional<std::string_view> label = labels.find(key);
    const KeyUse use = use_of(selector, key, label.value_or(""));
    const bool is_added_twice = label && std::find(seen.begin(), seen.end(), key) != seen.end();
    seen.push_back(key);
    if (is_added_twice) {
      expected(value, ValidationCheck::kLabelKeys, "a key that stands once");
    } else if (use.count > (label && !use.is_merged ? 0 : 1)) {
      expected(value, ValidationCheck::kLabelKeys, "a key that the labelSelector does not require");
    }
  });
}

/// @param is_exclusive  a key of `field` may not be in mismatchLabelKeys as well
void validate_label_keys(const JsonValue& term, std::string_view field, bool is_exclusive) {
  const JsonValue keys = term.field(field);
  const JsonValue selector = term.field("labelSelector");
  if (element_count(keys) == 0) return;
  if (!selector.present()) return keys.finding(ValidationCheck::kLabelKeys, "expected a labelSelector beside it");
  const JsonValue mismatches = term.field("mismatchLabelKeys");
  for_each_text(keys, [&](const JsonValue& value, std::string_view key) {
    if (!is_qualified_name(key)) expected(value, ValidationCheck::kLabelKeys, kQualifiedName);
    if (is_exclusive && contains_text(mismatches, key)) {
      expected(value, ValidationCheck::kLabelKeys, "a key that is not in mismatchLabelKeys");
    }
  });
}

void validate_pod_affinity_term(const JsonValue& term) {
  validate_fields(term, ApiType::kPodAffinityTerm);
  validate_label_selector(term.field("labelSelector"));
  validate_label_selector(term.field("namespaceSelector"));
  for_each_text(term.field("namespaces"), [](const JsonValue& value, std::string_view name) {
    if (!is_dns_label(name)) expected(value, ValidationCheck::kAffinityNamespaces, "the name of a namespace");
  });
  validate_label_keys(term, "matchLabelKeys", true);
  validate_label_keys(term, "mismatchLabelKeys", false);
  const JsonValue key = term.field("topologyKey");
  if (!is_qualified_name(text_of(key))) {
    expected(key, ValidationCheck::kAffinityTopologyKey, "a node label such as topology.kubernetes.io/zone");
  }
}

void validate_pod_affinity(const JsonValue& affinity, ApiType type) {
  validate_fields(affinity, type);
  const JsonValue required = affinity.field(kRequired);
  const JsonValue preferred = affinity.field(kPreferred);
  required.for_each_element([](const JsonValue& term) { validate_pod_affinity_term(term); });
  preferred.for_each_element([](const JsonValue& weighted) {
    validate_fields(weighted, ApiType::kWeightedPodAffinityTerm);
    validate_weight(weighted.field("weight"));
    validate_pod_affinity_term(weighted.field("podAffinityTerm"));
  });
}

void validate_spread_constraint(const JsonValue& constraint) {
  validate_fields(constraint, ApiType::kTopologySpreadConstraint);
  const JsonValue max_skew = constraint.field("maxSkew");
  std::int32_t skew = 0;
  max_skew.read(skew);
  if (skew < 1) expected(max_skew, ValidationCheck::kMaxSkew, "at least 1");
  const JsonValue key = constraint.field("topologyKey");
  if (text_of(key).empty()) {
    expected(key, ValidationCheck::kSpreadTopologyKey, "a node label such as topology.kubernetes.io/zone");
  }
  const JsonValue min_domains = constraint.field("minDomains");
  std::int32_t domains = 0;
  if (min_domains.read(domains)) {
    if (domains < 1) expected(min_domains, ValidationCheck::kMinDomains, "at least 1");
    if (text_of(constraint.field("whenUnsatisfiable")) != "DoNotSchedule") {
      min_domains.finding(ValidationCheck::kMinDomains, "expected only where whenUnsatisfiable is DoNotSchedule");
    }
  }
  validate_label_selector(constraint.field("labelSelector"));
  validate_label_keys(constraint, "matchLabelKeys", true);
}

/// @return the value of a toleration's operator, Equal when absent
std::string_view operator_of(const JsonValue& toleration) {
  const JsonValue op = toleration.field("operator");
  const std::string_view text = text_of(op);
  return text.empty() ? std::string_view("Equal") : text;
}

/// content.IsDecimalInteger() of apimachinery, within 64 bits.
bool is_decimal_integer(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  const bool has_form = text == "0" || (!digits.empty() && digits[0] >= '1' && digits[0] <= '9');
  return has_form && parse_int64(text).has_value();
}

void validate_toleration_value(const JsonValue& toleration) {
  const JsonValue value = toleration.field("value");
  const std::string_view text = text_of(value);
  const std::string_view op = operator_of(toleration);
  const auto fails = [&](std::string_view expectation) {
    expected(value, ValidationCheck::kTolerationValue, expectation);
  };
  if (op == "Equal" && !is_label_value(text)) fails(kLabelValue);
  if (op == "Exists" && !text.empty()) fails("no value beside the operator Exists");
  if ((op == "Gt" || op == "Lt") && !is_decimal_integer(text)) fails("an integer of 64 bits for Gt and Lt");
}

void validate_toleration(const JsonValue& toleration) {
  validate_fields(toleration, ApiType::kToleration);
  const JsonValue key = toleration.field("key");
  const std::string_view name = text_of(key);
  if (!name.empty()) validate_qualified_name(key, ValidationCheck::kTolerationKey);
  if (name.empty() && operator_of(toleration) != "Exists") {
    expected(key, ValidationCheck::kTolerationKey, "a key, or the operator Exists");
  }
  validate_toleration_value(toleration);
  const JsonValue seconds = toleration.field("tolerationSeconds");
  if (seconds.present() && text_of(toleration.field("effect")) != "NoExecute") {
    seconds.finding(ValidationCheck::kTolerationSeconds, "expected only beside the effect NoExecute");
  }
}

}  // namespace

void validate_label_selector(const JsonValue& selector) {
  if (!selector.is_object()) return;
  validate_fields(selector, ApiType::kLabelSelector);
  validate_labels(selector.field("matchLabels"), ValidationCheck::kLabelSelector);
  const JsonValue expressions = selector.field("matchExpressions");
  expressions.for_each_element([](const JsonValue& requirement) {
    validate_fields(requirement, ApiType::kLabelSelectorRequirement);
    validate_value_count(requirement, ValidationCheck::kLabelSelector);
    validate_qualified_name(requirement.field("key"), ValidationCheck::kLabelSelector);
    validate_label_values(requirement.field("values"), ValidationCheck::kLabelSelector);
  });
}

void validate_node_selector(const JsonValue& selector) {
  if (!selector.is_object()) return;
  const JsonValue terms = selector.field("nodeSelectorTerms");
  validate_fields(selector, ApiType::kNodeSelector);
  if (element_count(terms) == 0) terms.finding(ValidationCheck::kNodeSelectorTerms, "no term, expected at least one");
  terms.for_each_element([](const JsonValue& term) { validate_node_selector_term(term, false); });
}

void validate_affinity(const JsonValue& affinity) {
  if (!affinity.is_object()) return;
  validate_fields(affinity, ApiType::kAffinity);
  validate_node_affinity(affinity.field("nodeAffinity"));
  validate_pod_affinity(affinity.field("podAffinity"), ApiType::kPodAffinity);
  validate_pod_affinity(affinity.field("podAntiAffinity"), ApiType::kPodAntiAffinity);
}

void validate_spread_constraints(const JsonValue& constraints) {
  std::vector<std::pair<std::string_view, std::string_view>> seen;
  constraints.for_each_element([&](const JsonValue& constraint) {
    validate_spread_constraint(constraint);
    std::pair kind(text_of(constraint.field("topologyKey")), text_of(constraint.field("whenUnsatisfiable")));
    if (std::find(seen.begin(), seen.end(), kind) != seen.end()) {
      constraint.finding(
          ValidationCheck::kSpreadDuplicate,
          "has the topologyKey and whenUnsatisfiable of an earlier constraint, expected one of each pair");
    }
    seen.push_back(kind);
  });
}

void validate_merged_label_keys(const JsonValue& spec, const LabelMap& labels) {
  const JsonValue affinity = spec.field("affinity");
  for (const char* const kind : {"podAffinity", "podAntiAffinity"}) {
    const JsonValue terms = affinity.field(kind);
    const JsonValue required = terms.field(kRequired);
    const JsonValue preferred = terms.field(kPreferred);
    required.for_each_element([&](const JsonValue& term) { validate_merged_keys(term, labels); });
    preferred.for_each_element(
        [&](const JsonValue& weighted) { validate_merged_keys(weighted.field("podAffinityTerm"), labels); });
  }
  const JsonValue constraints = spec.field("topologySpreadConstraints");
  constraints.for_each_element([&](const JsonValue& constraint) { validate_merged_keys(constraint, labels); });
}

void validate_tolerations(const JsonValue& tolerations) {
  tolerations.for_each_element([](const JsonValue& toleration) { validate_toleration(toleration); });
}

}  // namespace berth
