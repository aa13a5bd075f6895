// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "batching/backend.h"

namespace berth::reference {

/// A node of the reference has its position in node order as its number.
inline NodeIndex to_index(std::size_t position) { return NodeIndex{static_cast<std::int32_t>(position)}; }
inline std::size_t to_position(NodeIndex node) { return static_cast<std::size_t>(node.value); }

}  // namespace berth::reference
