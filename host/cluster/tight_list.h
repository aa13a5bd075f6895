// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth {

/// Makes room for one more. Grows by an eighth: where each of many nodes has a list whose length goes up and down,
/// lists that double would in time all have twice the room that they need.
template <class T>
void make_tight_room(std::vector<T>& list) {
  constexpr std::size_t kStepMin = 4;
  if (list.size() == list.capacity()) list.reserve(list.size() + std::max(kStepMin, list.size() / 8));
}

}  // namespace berth
