// SPDX-License-Identifier: Apache-2.0
#include "host/kube/calls/api_requests.h"

#include <fmt/format.h>

#include <utility>

#include "host/kube/http/url.h"
#include "host/kube/protobuf/envelope.h"
#include "host/kube/watch/watch_text.h"
#include "host/objects/json_out.h"
#include "host/objects/json_writer.h"

namespace berth {
namespace {

constexpr std::int64_t kCallTimeoutUs = 30'000'000;
constexpr std::string_view kJson = "application/json";

std::string pod_path(const Pod& pod, std::string_view subresource = {}) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}{}", url_escaped(pod.namespace_), url_escaped(pod.name),
                     subresource);
}

HttpRequest request(std::string_view method, std::string path, std::string body = {}, std::string_view type = {}) {
  HttpRequest request;
  request.method = method;
  request.path = std::move(path);
  request.body = std::move(body);
  request.content_type = type;
  request.timeout_us = kCallTimeoutUs;
  return request;
}

template <class Body>
std::string json_object(Body body) {
  std::string text;
  JsonWriter writer(text);
  writer.open('{');
  body(writer);
  writer.close('}');
  return text;
}

std::string_view to_string(ConditionStatus status) {
  if (status == ConditionStatus::kTrue) return "True";
  return status == ConditionStatus::kFalse ? "False" : "Unknown";
}

void write_precondition(JsonWriter& w, std::string_view uid, std::optional<std::uint64_t> resource_version) {
  if (uid.empty() && !resource_version) return;
  w.object("metadata", [&] {
    w.text("uid", uid);
    if (resource_version) w.field("resourceVersion", std::to_string(*resource_version));
  });
}

StoreReason reason_of(int status) {
  switch (status) {
    case 400:
      return StoreReason::kBadRequest;
    case 401:
    case 403:
      return StoreReason::kForbidden;
    case 404:
      return StoreReason::kNotFound;
    case 409:
      return StoreReason::kConflict;
    case 410:
      return StoreReason::kExpired;
    case 422:
      return StoreReason::kInvalid;
    case 504:
      return StoreReason::kTimeout;
    case 429:
    case 502:
    case 503:
      return StoreReason::kServiceUnavailable;
    default:
      return StoreReason::kInternalError;
  }
}

}  // namespace

HttpRequest binding_request(const PodBinding& binding, BodyFormat format) {
  std::string path =
      fmt::format("/api/v1/namespaces/{}/pods/{}/binding", url_escaped(binding.namespace_), url_escaped(binding.name));
  if (format == BodyFormat::kProtobuf)
    return request("POST", std::move(path),
                   encode(BindingMessage{binding.namespace_, binding.name, binding.uid, binding.node_name}),
                   kProtobufType);
  std::string body = json_object([&](JsonWriter& w) {
    w.text("apiVersion", "v1");
    w.text("kind", "Binding");
    w.object("metadata", [&] {
      w.field("name", binding.name);
      w.field("namespace", binding.namespace_);
      w.text("uid", binding.uid);
    });
    w.object("target", [&] {
      w.text("kind", "Node");
      w.field("name", binding.node_name);
    });
  });
  return request("POST", std::move(path), std::move(body), kJson);
}

HttpRequest pod_request(const Pod& pod) { return request("GET", pod_path(pod)); }

HttpRequest status_patch_request(const Pod& pod, const PodStatusPatch& patch, std::int64_t now_us,
                                 bool keeps_transition_time) {
  std::string body = json_object([&](JsonWriter& w) {
    write_precondition(w, patch.uid, patch.resource_version);
    w.object("status", [&] {
      w.objects("conditions", patch.conditions, [&](const PodCondition& condition) {
        w.field("type", condition.type);
        w.field("status", to_string(condition.status));
        w.field("reason", condition.reason);
        w.field("message", condition.message);
        if (condition.observed_generation != 0) w.field("observedGeneration", condition.observed_generation);
        if (!keeps_transition_time) w.field("lastTransitionTime", format_time(whole_seconds(now_us)));
      });
      if (patch.nominated_node_name) w.field("nominatedNodeName", *patch.nominated_node_name);  // empty: removes it
    });
  });
  return request("PATCH", pod_path(pod, "/status"), std::move(body), "application/strategic-merge-patch+json");
}

HttpRequest delete_request(const Pod& pod, const DeleteOptions& options) {
  std::string body = json_object([&](JsonWriter& w) {
    w.text("apiVersion", "v1");
    w.text("kind", "DeleteOptions");
    if (options.grace_period_s) w.field("gracePeriodSeconds", *options.grace_period_s);
    if (options.uid.empty() && !options.resource_version) return;
    w.object("preconditions", [&] {
      w.text("uid", options.uid);
      if (options.resource_version) w.field("resourceVersion", std::to_string(*options.resource_version));
    });
  });
  return request("DELETE", pod_path(pod), std::move(body), kJson);
}

HttpRequest volume_patch_request(const PersistentVolume& volume, std::uint64_t resource_version,
                                 const VolumeClaim& claim, std::uint64_t claim_version) {
  std::string body = json_object([&](JsonWriter& w) {
    w.object("metadata", [&] {
      w.field("resourceVersion", std::to_string(resource_version));
      w.object("annotations", [&] { w.text("pv.kubernetes.io/bound-by-controller", "yes"); });
    });
    w.object("spec", [&] {
      w.object("claimRef", [&] {
        w.text("kind", "PersistentVolumeClaim");
        w.field("namespace", claim.namespace_);
        w.field("name", claim.name);
        w.text("uid", claim.uid);
        w.text("apiVersion", "v1");
        w.field("resourceVersion", std::to_string(claim_version));
      });
    });
  });
  return request("PATCH", "/api/v1/persistentvolumes/" + url_escaped(volume.name), std::move(body),
                 "application/merge-patch+json");
}

HttpRequest claim_patch_request(const VolumeClaim& claim, std::uint64_t resource_version, std::string_view node_name) {
  std::string body = json_object([&](JsonWriter& w) {
    w.object("metadata", [&] {
      w.field("resourceVersion", std::to_string(resource_version));
      w.object("annotations", [&] { w.field("volume.kubernetes.io/selected-node", node_name); });
    });
  });
  return request("PATCH",
                 fmt::format("/api/v1/namespaces/{}/persistentvolumeclaims/{}", url_escaped(claim.namespace_),
                             url_escaped(claim.name)),
                 std::move(body), "application/merge-patch+json");
}

StoreStatus status_of_answer(const HttpResponse& response) {
  if (response.is_success()) return {};
  if (response.status == 0) return {StoreReason::kServiceUnavailable, response.problem};
  return {reason_of(response.status), read_api_status(response.body).message};
}

}  // namespace berth
