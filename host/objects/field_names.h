// SPDX-License-Identifier: Apache-2.0
#pragma once

// The fields that the API types have, so that a misspelt one can be named instead of silently not being read.

#include <cstdint>
#include <string_view>

#include "host/objects/json_value.h"

namespace berth {

/// API types as Kubernetes names them.
enum class ApiType : std::uint8_t {
#define BERTH_API_TYPE(type, ...) k##type,
#include "host/objects/field_names.inc"
#undef BERTH_API_TYPE
};

/// Position of `name` among the fields of `type`, below 64; -1 when the type has no such field.
int field_index(ApiType type, std::string_view name);

/// Reports fields of `object` that `type` does not have, and fields that stand twice. Does nothing for a value that is
/// no object.
void validate_fields(const JsonValue& object, ApiType type);

/// Reports keys of a map that stand twice.
void validate_map_keys(const JsonValue& map);

}  // namespace berth
