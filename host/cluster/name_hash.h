// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

/// 64-bit hash of a node's name, the same on every platform, because draws depend on it.
std::uint64_t node_name_hash(std::string_view name);

}  // namespace berth
