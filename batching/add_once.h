// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace berth {

/// Appends the value unless the list, which is short, holds it.
inline void add_once(std::vector<std::int32_t>& list, std::int32_t value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

}  // namespace berth
