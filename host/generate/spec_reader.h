// SPDX-License-Identifier: Apache-2.0
// Readers of the smaller pieces of a cluster spec. Each adds problems to the value's sink and continues. Stricter than
// the readers of stored objects (host/objects/decode_parts.h): an unknown field of a spec is a problem.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/generate/cluster_spec.h"
#include "host/objects/json_value.h"

namespace berth::spec_reader {

/// Texts of a closed set with their values.
template <class Value, std::size_t kSize>
using Spellings = std::array<std::pair<std::string_view, Value>, kSize>;

/// @return whether `out` was set; an absent value does not change it
template <class Value, std::size_t kSize>
bool read_spelling(const JsonValue& value, const Spellings<Value, kSize>& spellings, Value& out) {
  std::string_view text;
  if (!value.read(text)) return false;
  std::string expectation = "one of";
  for (const auto& [name, meaning] : spellings) {
    if (name == text) {
      out = meaning;
      return true;
    }
    expectation.append(" ").append(name);
  }
  value.mismatch(expectation);
  return false;
}

void read_count(const JsonValue& value, std::int64_t& out);              ///< 0 to kMaxGeneratedObjects
void read_percent(const JsonValue& value, std::int32_t& out);            ///< 0 to 100
void read_object_name(const JsonValue& value, std::string& out);         ///< a DNS subdomain
void read_names(const JsonValue& value, std::vector<std::string>& out);  ///< at least one string, none empty
void read_label_map(const JsonValue& value, LabelMap& out);
void read_quantity(const JsonValue& value, Quantity& out);  ///< 0 or more
void read_resource_draws(const JsonValue& value, ResourceDraws& out);
void read_text_draw(const JsonValue& value, TextDraw& out);
void read_text_draws(const JsonValue& value, TextDraws& out);
void read_taints(const JsonValue& value, std::vector<Taint>& out);
void read_tolerations(const JsonValue& value, std::vector<Toleration>& out);
void read_requirement(const JsonValue& value, SelectorRequirement& out);
void read_node_affinity(const JsonValue& value, std::optional<NodeAffinity>& out);
void read_containers(const JsonValue& value, std::vector<ContainerSpec>& out);
void read_host_ports(const JsonValue& value, std::vector<ContainerPort>& out);
void read_preemption_policy(const JsonValue& value, std::optional<PreemptionPolicy>& out);

void read_spread_constraints(const JsonValue& value, std::vector<TopologySpreadConstraint>& out);
void read_pod_affinity(const JsonValue& value, std::optional<PodAffinity>& out);
void read_service(const JsonValue& value, ServiceSpec& out);
void read_workload_owner(const JsonValue& value, std::optional<WorkloadOwnerSpec>& out);

}  // namespace berth::spec_reader
