// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/objects/json_value.h"

namespace berth {

/// A manifest that a client sends, in the form in which an API server would store it, so that the reader of stored
/// objects (host/objects/loader.h) takes it.
struct StoredForm {
  std::string json;
  std::string kind;
  bool has_name = false;  ///< false: `json` has the placeholder
  std::string generate_name;
  std::vector<std::string> finalizers;
};

/// Moves metadata.generateName and finalizers out of the text, sets the namespace, fills a node's allocatable from its
/// capacity (SetDefaults_NodeStatus), and spells the fields of topologySpreadConstraints as the API does: Go reads them
/// in any case, and one of upstream's templates begins them with a capital.
/// @param object       problems are added to its sink
/// @param name_space   empty: as the text says
/// @param placeholder  the name that an object without one gets
StoredForm stored_form(const JsonValue& object, std::string_view name_space, std::string_view placeholder);

}  // namespace berth
