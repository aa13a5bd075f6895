// SPDX-License-Identifier: Apache-2.0
#pragma once

// What containers hold on the heap, as memory figures count it: blocks of 16 bytes, each with a word of the
// allocator's.

#include <cstdint>
#include <string>
#include <vector>

namespace berth {

/// Of one allocation of `size` bytes; 0 of none.
inline std::uint64_t heap_block_bytes(std::uint64_t size) { return size == 0 ? 0 : (size + 8 + 15) / 16 * 16; }

inline std::uint64_t heap_bytes(const std::string& text) {
  const std::size_t in_place = std::string().capacity();
  return text.capacity() > in_place ? heap_block_bytes(text.capacity() + 1) : 0;
}

/// What the elements themselves hold is not counted.
template <class T>
std::uint64_t heap_bytes(const std::vector<T>& vector) {
  return heap_block_bytes(vector.capacity() * sizeof(T));
}

}  // namespace berth
