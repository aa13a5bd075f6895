// SPDX-License-Identifier: Apache-2.0
// Values of the draws that a cluster spec may hold.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "host/generate/cluster_spec.h"
#include "host/generate/random.h"
#include "host/objects/label_map.h"
#include "host/objects/resources.h"

namespace berth {

using LabelEntries = std::vector<std::pair<std::string, std::string>>;

/// @param variant  number of the variant, node or service that the value is for: sequences count by it
std::string draw(const TextDraw& from, Random& random, std::size_t variant);
ResourceList draw(const ResourceDraws& from, Random& random, std::size_t variant);
LabelMap draw(const TextDraws& from, Random& random, std::size_t variant);
/// Appends to `entries`.
void draw_into(LabelEntries& entries, const TextDraws& from, Random& random, std::size_t variant);

}  // namespace berth
