// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/objects/json_value.h"
#include "host/objects/pod.h"

namespace berth {

/// The shared part of a pod's spec, with the admission of apply_spec_defaults() applied.
PodSpec read_pod_spec(const JsonValue& value);

/// Of an entry of spec.volumes: hostPath, and emptyDir of another medium than Memory, which are of the node's disk.
bool stays_on_node(const JsonValue& volume);

/// Appends a compact form of exactly the fields that read_pod_spec() looks at: specs with equal bytes decode equal.
/// Cheaper than decoding; fields that differ from pod to pod (mounts, environment, probes) are not among them.
void append_spec_source(std::string& out, simdjson::dom::object spec);

}  // namespace berth
