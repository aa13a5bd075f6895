// SPDX-License-Identifier: Apache-2.0
#include "host/objects/field_names.h"

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/objects/edit_distance.h"
#include "host/objects/validation.h"

namespace berth {
namespace {

/// Field names of one type differ in their length or their outer letters, mostly.
struct NameHash {
  std::size_t operator()(std::string_view name) const {
    if (name.empty()) return 0;
    const auto at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(name[i])); };
    return name.size() * 73 + at(0) * 31 + at(name.size() / 2) * 7 + at(name.size() - 1);
  }
};

struct TypeFields {
  std::string_view type;
  std::vector<std::string_view> names;
  tsl::robin_map<std::string_view, int, NameHash> index;
};

TypeFields fields_of(std::string_view type, std::vector<std::string_view> names) {
  TypeFields fields{type, std::move(names), {}};
  for (std::size_t i = 0; i < fields.names.size(); ++i) fields.index.emplace(fields.names[i], static_cast<int>(i));
  return fields;
}

const std::vector<TypeFields>& all_types() {
  static const std::vector<TypeFields> kTypes = {
#define BERTH_API_TYPE(type, ...) fields_of(#type, {__VA_ARGS__}),
#include "host/objects/field_names.inc"
#undef BERTH_API_TYPE
  };
  return kTypes;
}

const TypeFields& fields_of(ApiType type) { return all_types()[static_cast<std::size_t>(type)]; }

std::string in_lower_case(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), ascii_lower);
  return lower;
}

/// Short names have near neighbours that are words of their own.
std::size_t distance_allowed(std::string_view name) {
  if (name.size() < 12) return name.size() < 5 ? 1 : 2;
  return std::max<std::size_t>(3, name.size() / 7);
}

/// The field that `name` was most likely meant to be; empty when none is near.
std::string_view nearest_field(const TypeFields& fields, std::string_view name) {
  constexpr std::size_t kNameBytesMax = 64;
  if (name.size() > kNameBytesMax) return {};
  std::string_view nearest;
  const std::string wanted = in_lower_case(name);
  std::size_t least = distance_allowed(name) + 1;
  for (const std::string_view field : fields.names) {
    const std::size_t distance = edit_distance(wanted, in_lower_case(field), least - 1);
    if (distance < least) {
      least = distance;
      nearest = field;
    }
  }
  return nearest;
}

/// `name` in lower case without '-' and '_': what is left of it in any style of writing.
std::string letters_of(std::string_view name) {
  std::string letters = in_lower_case(name);
  std::erase_if(letters, [](char c) { return c == '-' || c == '_'; });
  return letters;
}

/// The only field that begins or ends with `name`: an abbreviation. Empty when there is none or more than one.
std::string_view field_that_contains(const TypeFields& fields, std::string_view name) {
  const std::string part = letters_of(name);
  if (part.size() < 2) return {};
  std::string_view found;
  for (const std::string_view field : fields.names) {
    const std::string whole = in_lower_case(field);
    if (!whole.starts_with(part) && !whole.ends_with(part)) continue;
    if (!found.empty()) return {};
    found = field;
  }
  return found;
}

/// The type that has a field of exactly that name, where a field of another type cannot be meant: a wrong indentation.
std::string_view home_of(std::string_view name) {
  constexpr std::array kMovable = {
      ApiType::kPodSpec,       ApiType::kContainer,        ApiType::kAffinity,
      ApiType::kNodeAffinity,  ApiType::kPodAffinityTerm,  ApiType::kTopologySpreadConstraint,
      ApiType::kNodeSelector,  ApiType::kNodeSelectorTerm, ApiType::kResourceRequirements,
      ApiType::kLabelSelector, ApiType::kObjectMeta,       ApiType::kContainerPort};
  for (const ApiType type : kMovable) {
    const TypeFields& fields = fields_of(type);
    if (fields.index.contains(name)) return fields.type;
  }
  return {};
}

void report_unknown(const JsonValue& field, const TypeFields& fields, std::string_view name) {
  const std::string where(fields.type);
  std::string_view meant = nearest_field(fields, name);
  const std::string_view home = meant.empty() ? home_of(name) : std::string_view();
  if (meant.empty() && home.empty()) meant = field_that_contains(fields, name);
  if (!meant.empty()) {
    return field.finding(ValidationCheck::kUnknownField,
                         where + " has no such field and it is not read, expected " + std::string(meant));
  }
  if (!home.empty()) {
    return field.finding(ValidationCheck::kUnknownField,
                         where + " has no such field and it is not read; it is a field of " + std::string(home));
  }
  field.finding(ValidationCheck::kUnknownField, "unknown to " + where + " of Kubernetes 1.35 and 1.36 and not read");
}

}  // namespace

int field_index(ApiType type, std::string_view name) {
  const auto& index = fields_of(type).index;
  const auto at = index.find(name);
  return at == index.end() ? -1 : at->second;
}

void validate_fields(const JsonValue& object, ApiType type) {
  if (!object.is_object()) return;
  const TypeFields& fields = fields_of(type);
  std::uint64_t seen = 0;
  object.for_each_entry([&](std::string_view name, const JsonValue& field) {
    const auto at = fields.index.find(name);
    if (at == fields.index.end()) return report_unknown(field, fields, name);
    const std::uint64_t bit = std::uint64_t{1} << at->second;
    if ((seen & bit) != 0) field.finding(ValidationCheck::kDuplicateField, "stands twice, expected once");
    seen |= bit;
  });
}

void validate_map_keys(const JsonValue& map) {
  if (!map.is_object()) return;
  tsl::robin_set<std::string_view> seen;
  map.for_each_entry([&](std::string_view key, const JsonValue& value) {
    if (!seen.insert(key).second) value.finding(ValidationCheck::kDuplicateField, "stands twice, expected once");
  });
}

}  // namespace berth
