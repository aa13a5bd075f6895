// SPDX-License-Identifier: Apache-2.0
#pragma once

// Objects that are no objects of a cluster: answers of an API server that refused, tables, client configurations.

#include <string>
#include <string_view>

#include "host/objects/json_value.h"

namespace berth {

/// Says what an object of no known kind is when it shows that a dump failed or that the wrong file was given.
/// @return "is a Status object (code 403, Forbidden): ..., expected ..."; "" for any other object of a cluster
std::string describe_foreign_object(const JsonValue& object, std::string_view api_version, std::string_view kind);

/// True for a list whose "items" is null, which Kubernetes' own readers take as an empty one.
bool is_empty_list(const JsonValue& object, std::string_view kind);

}  // namespace berth
