// SPDX-License-Identifier: Apache-2.0
#include "host/objects/foreign_object.h"

#include <array>

namespace berth {
namespace {

constexpr std::string_view kExpectation = ", expected objects of a cluster";
constexpr std::size_t kShownBytes = 300;

/// A kind that is often given by mistake; `group` is the API group, "" the core one.
struct ForeignKind {
  std::string_view kind;
  std::string_view group;
  std::string_view what;
  std::string_view advice;
};

constexpr std::array kForeignKinds = std::to_array<ForeignKind>({
    {"Table", "meta.k8s.io", "is a Table, which kubectl prints for people", "; use kubectl get -o json"},
    {"PartialObjectMetadata", "meta.k8s.io", "holds the metadata of an object only", "; ask for whole objects"},
    {"PartialObjectMetadataList", "meta.k8s.io", "holds the metadata of objects only", "; ask for whole objects"},
    {"Config", "", "is a kubeconfig, which says how to reach a cluster", "; use kubectl get -o json"},
    {"KubeSchedulerConfiguration", "kubescheduler.config.k8s.io", "is a KubeSchedulerConfiguration",
     "; give it with --config"},
    {"BerthEngineConfiguration", "berth.dev", "is a BerthEngineConfiguration", "; give it with --engine-config"},
    {"Kustomization", "kustomize.config.k8s.io", "is a Kustomization",
     "; run kubectl kustomize and give what it prints"},
    {"APIResourceList", "", "lists the resources of an API", "; use kubectl get -o json"},
});

std::string_view group_of(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

/// The text of a field that may be missing or of another type; no problem is noted.
std::string_view text_of(const JsonValue& object, std::string_view key) {
  const JsonValue field = object.field(key);
  return field.is_string() ? std::string_view(field.element()) : std::string_view();
}

/// What an API server answers in place of the objects.
std::string describe_status(const JsonValue& object) {
  std::string text = "is a Status object";
  const JsonValue code = object.field("code");
  const std::string_view reason = text_of(object, "reason");
  if (code.present() || !reason.empty()) {
    text += " (";
    if (code.present()) text += "code " + code.describe() + (reason.empty() ? "" : ", ");
    text.append(reason.substr(0, kShownBytes)).append(")");
  }
  if (const std::string_view message = text_of(object, "message"); !message.empty()) {
    text.append(": \"").append(message.substr(0, kShownBytes)).append("\"");
  }
  return text.append(kExpectation).append("; the command that wrote it failed");
}

bool is_object_without_fields(const JsonValue& object) {
  return object.is_object() && simdjson::dom::object(object.element()).size() == 0;
}

bool is_watch_event(const JsonValue& object, std::string_view kind) {
  return kind.empty() && !text_of(object, "type").empty() && object.field("object").is_object();
}

/// A list has no name of its own; an object of a kind such as IPAllowList has.
bool is_list_without_items(const JsonValue& object, std::string_view kind) {
  const JsonValue metadata = object.field("metadata");
  return kind.ends_with("List") && text_of(metadata, "name").empty();
}

std::string with_expectation(std::string_view what, std::string_view advice) {
  return std::string(what).append(kExpectation).append(advice);
}

}  // namespace

std::string describe_foreign_object(const JsonValue& object, std::string_view api_version, std::string_view kind) {
  const std::string_view group = group_of(api_version);
  if (is_object_without_fields(object)) return with_expectation("is an empty object", "; each has kind and apiVersion");
  const bool is_of_api_server = group.empty() || group == "meta.k8s.io";
  if (kind == "Status" && is_of_api_server) return describe_status(object);
  if (is_watch_event(object, kind)) return with_expectation("is an event of a watch", "; use kubectl get without -w");
  for (const ForeignKind& foreign : kForeignKinds) {
    if (foreign.kind == kind && foreign.group == group) return with_expectation(foreign.what, foreign.advice);
  }
  if (group == "berth.dev") {
    return with_expectation(
        kind == "BerthScenario" ? "is a BerthScenario" : "is of no kind that the group berth.dev has",
        kind == "BerthScenario" ? "; give it to berth simulate"
                                : "; its kinds are BerthScenario and BerthEngineConfiguration");
  }
  if (is_list_without_items(object, kind)) {
    return with_expectation("is a " + std::string(kind.substr(0, kShownBytes)) + " without an array of items", "");
  }
  return {};
}

bool is_empty_list(const JsonValue& object, std::string_view kind) {
  const bool may_be_list = kind.empty() || kind.ends_with("List");
  if (!may_be_list || !object.is_object()) return false;
  simdjson::dom::element items;
  return object.element().at_key("items").get(items) == simdjson::SUCCESS && items.is_null();
}

}  // namespace berth
