// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <new>
#include <vector>

namespace berth {

/// By how many entries such a list grows: an eighth.
template <class T>
std::size_t tight_step(const std::vector<T>& list) {
  constexpr std::size_t kStepMin = 4;
  return std::max(kStepMin, list.size() / 8);
}

/// Makes room for one more. Where each of many nodes has a list whose length goes up and down, lists that double would
/// in time all have twice the room that they need.
template <class T>
void make_tight_room(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(list.size() + tight_step(list));
}

/// Call after entries went: gives back room for more than two steps. Otherwise each list would in time have the room
/// of its longest state.
template <class T>
void give_back_room(std::vector<T>& list) noexcept {
  if (list.capacity() - list.size() <= 2 * tight_step(list)) return;
  try {
    std::vector<T> tight;
    tight.reserve(list.size() + tight_step(list));
    tight.insert(tight.end(), std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()));
    list.swap(tight);
  } catch (const std::bad_alloc&) {
    return;  // the room stays: nothing has moved
  }
}

}  // namespace berth
