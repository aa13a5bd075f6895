// SPDX-License-Identifier: Apache-2.0
#pragma once

// What containers hold on the heap, as memory figures count it: blocks of 16 bytes, each with a word of the
// allocator's.

#include <tsl/robin_set.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace berth {

/// Of one allocation of `size` bytes; 0 of none.
inline std::uint64_t heap_block_bytes(std::uint64_t size) { return size == 0 ? 0 : (size + 8 + 15) / 16 * 16; }

inline std::uint64_t heap_bytes(const std::string& text) {
  const std::size_t in_place = std::string().capacity();
  return text.capacity() > in_place ? heap_block_bytes(text.capacity() + 1) : 0;
}

/// What the elements themselves hold is not counted.
template <class T, class Allocator>
std::uint64_t heap_bytes(const std::vector<T, Allocator>& vector) {
  return heap_block_bytes(vector.capacity() * sizeof(T));
}

/// Likewise. A node of the tree also holds a colour and three links, as the standard libraries lay it out.
template <class Key, class T, class Compare>
std::uint64_t heap_bytes(const std::map<Key, T, Compare>& map) {
  return map.size() * heap_block_bytes(4 * sizeof(void*) + sizeof(std::pair<const Key, T>));
}

/// Likewise. A bucket holds the key, a truncated hash and a distance.
template <class Key, class Hash, class Equal, class Allocator, bool kStoresHash>
std::uint64_t heap_bytes(const tsl::robin_set<Key, Hash, Equal, Allocator, kStoresHash>& set) {
  return heap_block_bytes(set.bucket_count() * (sizeof(Key) + 8));
}

/// Of several containers together.
template <class First, class Second, class... Rest>
std::uint64_t heap_bytes(const First& first, const Second& second, const Rest&... rest) {
  return heap_bytes(first) + heap_bytes(second) + (std::uint64_t{0} + ... + heap_bytes(rest));
}

}  // namespace berth
