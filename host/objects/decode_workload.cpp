// SPDX-License-Identifier: Apache-2.0
#include "host/objects/decode_workload.h"

#include "host/objects/decode_parts.h"
#include "host/objects/decode_volumes.h"
#include "host/objects/validation.h"

namespace berth {
namespace {

bool read_count(const JsonValue& value, std::int64_t& out) {
  std::int32_t count = 0;
  if (!value.read(count)) return false;
  if (count < 0) {
    value.mismatch("a number that is not negative");
    return false;
  }
  out = count;
  return true;
}

/// A ReplicationController's selector is a plain map.
std::optional<LabelSelector> read_selector(std::string_view kind, const JsonValue& value) {
  if (kind != "ReplicationController") return read_label_selector(value);
  if (!value.present()) return std::nullopt;
  return LabelSelector{read_label_map(value), {}};
}

void read_job_spec(const JsonValue& spec, DecodedWorkload& out) {
  const JsonValue parallelism = spec.field("parallelism");
  const JsonValue completions = spec.field("completions");
  std::int64_t count = 1;
  read_count(parallelism, out.parallelism);
  // Without both figures a Job runs one pod once; without completions alone it is a work queue.
  if (read_count(completions, count) || !parallelism.present()) out.completions = count;
  bool is_suspended = false;
  if (spec.field("suspend").read(is_suspended) && is_suspended) out.is_inactive = true;
}

void read_job_status(const JsonValue& status, DecodedWorkload& out) {
  read_count(status.field("succeeded"), out.succeeded);
  const JsonValue conditions = status.field("conditions");
  conditions.for_each_element([&](const JsonValue& condition) {
    std::string_view type;
    std::string_view state;
    const bool holds = condition.field("status").read(state) && state == "True";
    if (holds && condition.field("type").read(type) && (type == "Complete" || type == "Failed")) out.is_inactive = true;
  });
}

void read_stateful_set_spec(const JsonValue& spec, DecodedWorkload& out) {
  const JsonValue ordinals = spec.field("ordinals");
  read_count(ordinals.field("start"), out.first_ordinal);
  const JsonValue claims = spec.field("volumeClaimTemplates");
  claims.for_each_element([&](const JsonValue& claim) {
    const JsonValue metadata = claim.field("metadata");
    DecodedMeta meta;
    metadata.field("name").read(meta.name);
    validate_claim_template(claim);
    if (!names_class(claim)) out.classless_claims.push_back(out.volume_claim_templates.size());
    out.volume_claim_templates.push_back(read_volume_claim(claim, std::move(meta)));
  });
}

}  // namespace

DecodedWorkload read_workload(std::string_view kind, const JsonValue& object, DecodedMeta&& meta, PodDecoder& pods) {
  DecodedWorkload out;
  out.workload.kind = kind;
  out.workload.name = std::move(meta.name);
  out.workload.namespace_ = meta.namespace_.empty() ? "default" : std::move(meta.namespace_);
  out.workload.uid = std::move(meta.uid);
  if (meta.owners) out.workload.owners = *meta.owners;
  out.creation_time_us = meta.creation_time_us;
  out.is_inactive = meta.terminating;

  const JsonValue spec = object.field("spec");
  if (!spec.present()) spec.problem("absent, expected an object");
  if (!spec.expect_object()) return out;
  out.workload.selector = read_selector(kind, spec.field("selector"));
  out.pod_template = pods.read_template(spec.field("template"));
  // Old API versions took the labels of the template for an absent selector.
  const bool needs_selector = kind != "Job" && !out.workload.selector.has_value();
  if (needs_selector) out.workload.selector = LabelSelector{out.pod_template.labels, {}};
  if (kind == "Job") {
    const JsonValue status = object.field("status");
    read_job_spec(spec, out);
    read_job_status(status, out);
  } else if (kind != "DaemonSet") {
    read_count(spec.field("replicas"), out.replicas);
  }
  if (kind == "StatefulSet") read_stateful_set_spec(spec, out);
  validate_workload(object, kind, out.pod_template.labels);
  return out;
}

}  // namespace berth
