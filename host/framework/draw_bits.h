// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace berth {

/// Finaliser of MurmurHash3: a bijection of 32 bits in which every input bit reaches every output bit.
[[gnu::always_inline]] constexpr std::uint32_t mix_bits(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  x ^= x >> 16;
  return x;
}

/// What a class brings to its draws; constant while the seed is.
[[gnu::always_inline]] constexpr std::uint32_t class_draw_seed(std::uint64_t seed, std::uint64_t class_hash) {
  const std::uint64_t x = (seed ^ class_hash) * 0x9e3779b97f4a7c15ull;
  return mix_bits(static_cast<std::uint32_t>(x >> 32) ^ static_cast<std::uint32_t>(seed));
}

/// What a node brings: it changes with every pod that comes or goes.
[[gnu::always_inline]] constexpr std::uint32_t node_draw_seed(std::uint32_t node_hash, std::uint32_t pods_on_node) {
  return mix_bits(node_hash + 0x9e3779b9u * (pods_on_node + 1u));
}

/// The draw of a class on a node, 1 .. 2^32-1: the highest wins, then the lowest node index.
[[gnu::always_inline]] constexpr std::uint32_t tie_draw(std::uint32_t class_seed, std::uint32_t node_seed) {
  const std::uint32_t draw = mix_bits(class_seed ^ node_seed);
  return draw == 0 ? 1u : draw;
}

/// Every node's draw where nothing is drawn (--tie-break first): the lowest index decides.
inline constexpr std::uint32_t kNoDraw = 1;

}  // namespace berth
