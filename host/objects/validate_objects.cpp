// SPDX-License-Identifier: Apache-2.0
// Metadata, nodes, classes, services, budgets and workloads:
// pkg/apis/{core,apps,batch,scheduling,node,policy}/validation.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/decode_parts.h"
#include "host/objects/field_names.h"
#include "host/objects/selectors.h"
#include "host/objects/validation.h"
#include "host/objects/validation_values.h"

namespace berth {
namespace {

constexpr std::int32_t kHighestUserPriority = 1'000'000'000;

void validate_taints(const JsonValue& taints) {
  std::vector<std::pair<std::string_view, std::string_view>> seen;
  taints.for_each_element([&](const JsonValue& taint) {
    validate_fields(taint, ApiType::kTaint);
    const JsonValue key = taint.field("key");
    const JsonValue value = taint.field("value");
    if (!is_qualified_name(text_of(key)))
      expected(key, ValidationCheck::kTaint, "a qualified name such as example.com/name");
    if (!is_label_value(text_of(value))) {
      expected(value, ValidationCheck::kTaint, "a label value: at most 63 letters, digits, '-', '_' and '.'");
    }
    const std::pair kind(text_of(key), text_of(taint.field("effect")));
    if (std::find(seen.begin(), seen.end(), kind) != seen.end()) {
      taint.finding(ValidationCheck::kTaintDuplicate,
                    "has key and effect of an earlier taint, expected one of each pair");
    }
    seen.push_back(kind);
  });
}

bool meets(const SelectorRequirement& requirement, const LabelMap& labels) {
  const auto value = labels.find(requirement.key);
  const auto is_listed = [&] {
    return value && std::find(requirement.values.begin(), requirement.values.end(), *value) != requirement.values.end();
  };
  if (requirement.op == SelectorOperator::kIn) return is_listed();
  if (requirement.op == SelectorOperator::kNotIn) return !is_listed();
  return value.has_value() == (requirement.op == SelectorOperator::kExists);
}

bool selects(const LabelSelector& selector, const LabelMap& labels) {
  const auto has_label = [&](const auto& label) { return labels.find(label.first) == label.second; };
  return std::all_of(selector.match_labels.begin(), selector.match_labels.end(), has_label) &&
         std::all_of(selector.match_expressions.begin(), selector.match_expressions.end(),
                     [&](const SelectorRequirement& requirement) { return meets(requirement, labels); });
}

/// VERSION, or GROUP/VERSION with an optional group.
bool is_group_version(std::string_view text) {
  const std::size_t slash = text.find('/');
  return !text.ends_with('/') && !text.empty() && (slash == text.npos || text.find('/', slash + 1) == text.npos);
}

/// UpperCamelCase words of letters and digits with '/' between them.
bool is_feature_name(std::string_view text) {
  bool starts_word = true;
  if (text.empty() || text[0] < 'A' || text[0] > 'Z') return false;
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == '/') {
      if (starts_word) return false;
    } else if (!is_letter && (starts_word || c < '0' || c > '9')) {
      return false;
    }
    starts_word = c == '/';
  }
  return !starts_word;
}

void validate_declared_features(const JsonValue& features) {
  std::string_view before;
  for_each_text(features, [&](const JsonValue& feature, std::string_view name) {
    if (!is_feature_name(name))
      expected(feature, ValidationCheck::kDeclaredFeatures, "a name such as MyFeature/MyPart");
    if (!before.empty() && name <= before) {
      expected(feature, ValidationCheck::kDeclaredFeatures, "names in sorted order, each once");
    }
    before = name;
  });
}

ApiType spec_type(std::string_view kind) {
  if (kind == "Deployment") return ApiType::kDeploymentSpec;
  if (kind == "ReplicaSet") return ApiType::kReplicaSetSpec;
  if (kind == "StatefulSet") return ApiType::kStatefulSetSpec;
  if (kind == "DaemonSet") return ApiType::kDaemonSetSpec;
  if (kind == "Job") return ApiType::kJobSpec;
  return ApiType::kReplicationControllerSpec;
}

void validate_workload_restart_policy(const JsonValue& policy, std::string_view kind) {
  const std::string_view text = text_of(policy);
  if (kind == "Job") {
    const bool is_good = text == "OnFailure" || text == "Never";
    if (!is_good) expected(policy, ValidationCheck::kPodRestartPolicy, "OnFailure or Never for a Job");
  } else if (!text.empty() && text != "Always") {
    expected(policy, ValidationCheck::kPodRestartPolicy, "Always for a " + std::string(kind));
  }
}

/// An absent selector is filled in by the API server for Jobs, ReplicationControllers and the old extensions group.
void validate_selector(const JsonValue& object, const JsonValue& selector, std::string_view kind,
                       const LabelMap& template_labels) {
  const bool is_map = kind == "ReplicationController";
  const std::string_view group = text_of(object.field("apiVersion"));
  if (!selector.present()) {
    if (group.starts_with("apps/") && kind != "Job" && !group.starts_with("apps/v1beta")) {
      expected(selector, ValidationCheck::kWorkloadSelector, "a selector that matches the template's labels");
    }
    return;
  }
  if (!selector.is_object()) return;
  const LabelSelector decoded = is_map ? LabelSelector{read_label_map(selector), {}} : *read_label_selector(selector);
  const bool is_empty = decoded.match_labels.empty() && decoded.match_expressions.empty();
  if (is_map) {
    validate_labels(selector, ValidationCheck::kLabelSelector);
  } else {
    validate_label_selector(selector);
    if (is_empty && kind != "Job")
      selector.finding(ValidationCheck::kWorkloadSelector, "empty, expected a requirement");
  }
  if (!is_empty && !selects(decoded, template_labels)) {
    selector.finding(ValidationCheck::kSelectorTemplate,
                     "does not match the labels of spec.template, expected a selector of the pods that are made");
  }
}

void validate_job(const JsonValue& spec) {
  const JsonValue completions = spec.field("completions");
  const JsonValue parallelism = spec.field("parallelism");
  const JsonValue mode = spec.field("completionMode");
  const std::string_view mode_text = text_of(mode);
  if (mode.present() && mode_text != "Indexed" && mode_text != "NonIndexed")
    expected(mode, ValidationCheck::kIndexedJob, "Indexed or NonIndexed");
  if (mode_text != "Indexed") return;
  constexpr std::int32_t kParallelismMax = 100'000;
  std::int32_t pods = 0;
  if (!completions.present())
    expected(completions, ValidationCheck::kIndexedJob, "a number, since completionMode is Indexed");
  if (parallelism.read(pods) && pods > kParallelismMax) {
    expected(parallelism, ValidationCheck::kIndexedJob, "at most 100000, since completionMode is Indexed");
  }
}

}  // namespace

void validate_labels(const JsonValue& labels, ValidationCheck check) {
  if (!labels.is_object()) return;
  validate_map_keys(labels);
  labels.for_each_entry([&](std::string_view key, const JsonValue& value) {
    if (!is_qualified_name(key)) {
      value.finding(check, "the key is no qualified name, expected one such as example.com/name");
    }
    if (!is_label_value(text_of(value))) {
      expected(value, check, "a label value: at most 63 letters, digits, '-', '_' and '.'");
    }
  });
}

void validate_metadata(const JsonValue& metadata, bool is_namespace_object) {
  if (!metadata.is_object()) return;
  validate_fields(metadata, ApiType::kObjectMeta);
  const JsonValue name = metadata.field("name");
  const JsonValue namespace_name = metadata.field("namespace");
  const std::string_view text = text_of(name);
  const std::string_view namespace_text = text_of(namespace_name);
  const bool is_good = is_namespace_object ? is_dns_label(text) : is_dns_subdomain(text);
  if (!text.empty() && !is_good) {
    expected(name, ValidationCheck::kName,
             is_namespace_object ? "lower-case letters, digits and '-'" : "lower-case letters, digits, '-' and '.'");
  }
  if (!namespace_text.empty() && !is_dns_label(namespace_text)) {
    expected(namespace_name, ValidationCheck::kName, "lower-case letters, digits and '-'");
  }
}

void validate_owner(const JsonValue& owner, const OwnerReference& decoded, bool has_controller) {
  constexpr auto kCheck = ValidationCheck::kOwnerReference;
  validate_fields(owner, ApiType::kOwnerReference);
  if (!is_group_version(decoded.api_version))
    expected(owner.field("apiVersion"), kCheck, "a version such as v1 or apps/v1");
  if (decoded.kind.empty()) expected(owner.field("kind"), kCheck, "a kind such as ReplicaSet");
  if (decoded.kind == "Event" && decoded.api_version == "v1")
    expected(owner.field("kind"), kCheck, "a kind that may own objects");
  if (decoded.name.empty()) expected(owner.field("name"), kCheck, "the name of an object");
  if (decoded.controller && has_controller) expected(owner.field("controller"), kCheck, "one controller only");
}

void validate_node(const JsonValue& object) {
  validate_fields(object, ApiType::kNode);
  const JsonValue spec = object.field("spec");
  const JsonValue status = object.field("status");
  validate_fields(spec, ApiType::kNodeSpec);
  validate_fields(status, ApiType::kNodeStatus);
  validate_taints(spec.field("taints"));
  validate_allocatable(status.field("allocatable"));
  validate_declared_features(status.field("declaredFeatures"));
  const JsonValue images = status.field("images");
  images.for_each_element([](const JsonValue& image) { validate_fields(image, ApiType::kContainerImage); });
}

void validate_priority_class(const JsonValue& object) {
  validate_fields(object, ApiType::kPriorityClass);
  const JsonValue metadata = object.field("metadata");
  const std::string_view name = text_of(metadata.field("name"));
  const JsonValue value = object.field("value");
  const JsonValue global_default = object.field("globalDefault");
  std::int64_t priority = 0;
  bool is_default = false;
  value.read(priority);
  global_default.read(is_default);
  if (!name.starts_with("system-")) {
    if (priority > kHighestUserPriority) expected(value, ValidationCheck::kPriorityValue, "at most 1000000000");
    return;
  }
  const bool is_known = (name == "system-cluster-critical" && priority == 2'000'000'000) ||
                        (name == "system-node-critical" && priority == 2'000'001'000);
  if (!is_known) {
    expected(value, ValidationCheck::kPriorityValue,
             "a name without \"system-\", or the value of system-cluster-critical or system-node-critical");
  } else if (is_default) {
    expected(global_default, ValidationCheck::kPriorityValue, "false for a built-in class");
  }
}

void validate_service(const JsonValue& object) {
  validate_fields(object, ApiType::kService);
  const JsonValue spec = object.field("spec");
  validate_fields(spec, ApiType::kServiceSpec);
  validate_labels(spec.field("selector"), ValidationCheck::kServiceSelector);
}

void validate_runtime_class(const JsonValue& object) {
  validate_fields(object, ApiType::kRuntimeClass);
  const JsonValue overhead = object.field("overhead");
  const JsonValue scheduling = object.field("scheduling");
  const JsonValue tolerations = scheduling.field("tolerations");
  validate_fields(overhead, ApiType::kOverhead);
  validate_fields(scheduling, ApiType::kScheduling);
  validate_overhead(overhead.field("podFixed"));
  validate_labels(scheduling.field("nodeSelector"), ValidationCheck::kNodeSelector);
  validate_tolerations(tolerations);
  std::vector<std::vector<std::string_view>> seen;
  tolerations.for_each_element([&](const JsonValue& toleration) {
    std::vector<std::string_view> parts;
    for (const std::string_view part : {"key", "operator", "value", "effect"})
      parts.push_back(text_of(toleration.field(part)));
    if (std::find(seen.begin(), seen.end(), parts) != seen.end()) {
      toleration.finding(ValidationCheck::kTolerationDuplicate, "stands twice, expected once");
    }
    seen.push_back(std::move(parts));
  });
}

void validate_disruption_budget(const JsonValue& object) {
  validate_fields(object, ApiType::kPodDisruptionBudget);
  const JsonValue spec = object.field("spec");
  const JsonValue status = object.field("status");
  validate_fields(spec, ApiType::kPodDisruptionBudgetSpec);
  validate_fields(status, ApiType::kPodDisruptionBudgetStatus);
  validate_label_selector(spec.field("selector"));
  const JsonValue allowed = status.field("disruptionsAllowed");
  std::int32_t count = 0;
  if (allowed.read(count) && count < 0) expected(allowed, ValidationCheck::kDisruptionsAllowed, "at least 0");
}

void validate_workload(const JsonValue& object, std::string_view kind, const LabelMap& template_labels) {
  validate_fields(object, ApiType::kDeployment);  // all workloads have the same five fields
  const JsonValue spec = object.field("spec");
  if (!spec.is_object()) return;
  validate_fields(spec, spec_type(kind));
  validate_selector(object, spec.field("selector"), kind, template_labels);
  const JsonValue pod_template = spec.field("template");
  validate_fields(pod_template, ApiType::kPodTemplateSpec);
  const JsonValue pod_spec = pod_template.field("spec");
  validate_workload_restart_policy(pod_spec.field("restartPolicy"), kind);
  if (kind == "Job") validate_job(spec);
  if (kind == "StatefulSet") validate_fields(spec.field("ordinals"), ApiType::kStatefulSetOrdinals);
}

}  // namespace berth
