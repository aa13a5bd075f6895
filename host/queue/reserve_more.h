// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth {

/// Room for `count` elements, and for as many as there was room for twice where there is not: reserve() for one element
/// at a time would copy all of them each time.
template <class Element>
void reserve_more(std::vector<Element>& elements, std::size_t count) {
  if (count > elements.capacity()) elements.reserve(std::max(count, 2 * elements.capacity()));
}

}  // namespace berth
