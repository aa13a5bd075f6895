// SPDX-License-Identifier: Apache-2.0
#include "host/kube/election/lease.h"

#include "host/objects/json_value.h"
#include "host/objects/json_writer.h"

namespace berth {
namespace {

constexpr std::string_view kApiVersion = "coordination.k8s.io/v1";

void read_spec(const JsonValue& spec, LeaseRecord& out) {
  spec.for_each_field([&](std::string_view key, const JsonValue& value) {
    if (key == "holderIdentity") value.read(out.holder);
    if (key == "leaseDurationSeconds") value.read(out.duration_s);
    if (key == "leaseTransitions") value.read(out.transitions);
    if (key == "acquireTime") value.read(out.acquire_time);
    if (key == "renewTime") value.read(out.renew_time);
    if (key == "preferredHolder") value.read(out.preferred_holder);
    if (key == "strategy") value.read(out.strategy);
  });
}

}  // namespace

std::optional<Lease> parse_lease(std::string_view text) {
  JsonParser parser;
  const auto element = parser.parse(text);
  if (!element) return std::nullopt;
  ProblemSink sink("lease");
  const JsonValue root(*element, sink);
  Lease lease;
  const JsonValue kind = root.field("kind");
  std::string_view kind_text = "Lease";
  kind.read(kind_text);
  const JsonValue metadata = root.field("metadata");
  const JsonValue spec = root.field("spec");
  read_spec(spec, lease.record);
  const JsonValue uid = metadata.field("uid");
  uid.read(lease.uid);
  const JsonValue version = metadata.field("resourceVersion");
  version.read(lease.resource_version);
  if (!sink.empty() || kind_text != "Lease" || !metadata.is_object() || lease.resource_version.empty()) {
    return std::nullopt;
  }
  lease.metadata_json = simdjson::minify(metadata.element());
  return lease;
}

std::string lease_json(const std::string& metadata_json, const LeaseRecord& record) {
  std::string text;
  JsonWriter out(text);
  out.open('{');
  out.field("kind", std::string_view("Lease"));
  out.field("apiVersion", kApiVersion);
  text += ",\"metadata\":" + metadata_json;
  out.object("spec", [&] {
    out.field("holderIdentity", record.holder);
    out.field("leaseDurationSeconds", record.duration_s);
    out.text("acquireTime", record.acquire_time);
    out.text("renewTime", record.renew_time);
    out.field("leaseTransitions", record.transitions);
  });
  out.close('}');
  return text;
}

std::string lease_metadata_json(const std::string& namespace_name, const std::string& name) {
  std::string text;
  JsonWriter out(text);
  out.open('{');
  out.field("name", name);
  out.field("namespace", namespace_name);
  out.close('}');
  return text;
}

}  // namespace berth
