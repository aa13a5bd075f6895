// SPDX-License-Identifier: Apache-2.0
#pragma once

// The small types that several kinds share, read from JSON. Each function reports what it cannot read to the value's
// sink and returns what it could; an absent value gives an empty result.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/objects/json_value.h"
#include "host/objects/label_map.h"
#include "host/objects/node.h"
#include "host/objects/pod.h"
#include "host/objects/resources.h"
#include "host/objects/selectors.h"
#include "host/objects/validation.h"

namespace berth {

/// A string or a bare number; null is 0; blanks around the text are dropped: docs/behaviour/plugins-node.md 1.1.
std::optional<Quantity> read_quantity(const JsonValue& value);

enum class ResourceNames : std::uint8_t {
  kQualified,  ///< another name is a problem: the API server refuses it in a spec
  kAny         ///< another name is left out: the API server takes it in a status, and no pod can request it
};

/// Amounts must not be negative. They are rounded up to 10^-3, as the API server stores.
ResourceList read_resource_list(const JsonValue& value, ResourceNames names = ResourceNames::kQualified);

/// RFC 3339 with optional fraction, as microseconds since the epoch.
bool read_time(const JsonValue& value, std::int64_t& out_us);

/// Collects the entries of a string map; null values read as "". The views belong to the parser.
void read_string_map(const JsonValue& value, std::vector<LabelMap::Entry>& out);
LabelMap read_label_map(const JsonValue& value);

std::optional<LabelSelector> read_label_selector(const JsonValue& value);
NodeSelectorTerm read_node_selector_term(const JsonValue& value);
/// Of a preferred term. The API admits 1 to 100, and older objects may hold 0; a negative weight of a node affinity
/// term would make scores that end every cycle.
void read_preference_weight(const JsonValue& value, std::int32_t& weight);
NodeAffinity read_node_affinity(const JsonValue& value);
std::vector<Toleration> read_tolerations(const JsonValue& value);
std::vector<Taint> read_taints(const JsonValue& value);

/// The values of these paths below the object; one that is no string, number or boolean is a problem.
DeclaredValues read_declared(const JsonValue& object, const std::vector<DeclaredPath>& paths);

/// kube-scheduler takes every other name, "" too, for a policy that is not Never.
std::optional<PreemptionPolicy> read_preemption_policy(const JsonValue& value);

template <class Enum, std::size_t N>
using EnumNames = std::array<std::pair<std::string_view, Enum>, N>;

/// @return false, and `choices` lists the names, when there is no such name
template <class Enum, std::size_t N>
bool find_enum(std::string_view text, const EnumNames<Enum, N>& names, Enum& out, std::string& choices) {
  for (const auto& [name, meaning] : names) {
    if (name == text) {
      out = meaning;
      return true;
    }
    choices += (choices.empty() ? "" : ", ") + std::string(name);
  }
  return false;
}

/// One of a closed set of names; "" reads as absent. Another name is a problem that lists the set.
template <class Enum, std::size_t N>
bool read_enum(const JsonValue& value, const EnumNames<Enum, N>& names, Enum& out) {
  std::string_view text;
  if (!value.read(text) || text.empty()) return false;
  std::string choices;
  if (find_enum(text, names, out, choices)) return true;
  value.mismatch("one of " + choices);
  return false;
}

/// The same where upstream's code has a reading of other names, "" among them: then the name is a finding, and
/// `if_unknown` is stored. @return false when the value is absent or no string
template <class Enum, std::size_t N>
bool read_stored_enum(const JsonValue& value, const EnumNames<Enum, N>& names, Enum if_unknown, Enum& out) {
  std::string_view text;
  if (!value.read(text)) return false;
  out = if_unknown;
  std::string choices;
  if (find_enum(text, names, out, choices)) return true;
  value.finding(ValidationCheck::kKnownName, "got " + value.describe() + ", expected one of " + choices);
  return true;
}

/// For read_enum(): of pods and of priority classes.
inline constexpr std::array<std::pair<std::string_view, PreemptionPolicy>, 2> kPreemptionPolicies = {
    {{"PreemptLowerPriority", PreemptionPolicy::kPreemptLowerPriority}, {"Never", PreemptionPolicy::kNever}}};

}  // namespace berth
