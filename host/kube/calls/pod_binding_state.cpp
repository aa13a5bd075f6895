// SPDX-License-Identifier: Apache-2.0
#include "host/kube/calls/pod_binding_state.h"

#include "host/objects/json_value.h"

namespace berth {

std::optional<PodBindingState> read_binding_state(std::string_view json) {
  JsonParser parser;
  ProblemSink sink({});
  const auto root = parser.parse(json);
  if (!root) return std::nullopt;
  const JsonValue object(*root, sink);
  if (!object.is_object()) return std::nullopt;
  PodBindingState state;
  const JsonValue metadata = object.field("metadata");
  metadata.field("uid").read(state.uid);
  const JsonValue spec = object.field("spec");
  spec.field("nodeName").read(state.node_name);
  if (!sink.empty() || state.uid.empty()) return std::nullopt;
  return state;
}

}  // namespace berth
