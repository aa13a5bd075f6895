// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/cluster/snapshot.h"
#include "host/objects/pod.h"
#include "plugins/image_locality/rule.h"

namespace berth {

/// "app" -> "app:latest"; names with a tag or digest stay as they are: docs/behaviour/plugins-node.md 12.
std::string normalized_image_name(const std::string& name);

/// The score of every node, [node_count]; empty when it is 0 everywhere.
/// @param sum_image_volumes v1.36: images of image volumes are added to the sum
std::vector<std::uint8_t> compile_image_locality(const PodSpec& spec, const Snapshot& snapshot, bool sum_image_volumes);

}  // namespace berth
