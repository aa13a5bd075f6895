// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace berth::test {

/// Everything a case is drawn from; its seed is printed by rapidcheck when it fails.
struct Dice {
  explicit Dice(std::uint64_t seed) : engine(seed) {}
  std::int64_t upto(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(engine); }
  bool one_in(std::int64_t n) { return upto(n - 1) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(upto(static_cast<std::int64_t>(from.size()) - 1))];
  }
  std::mt19937_64 engine;
};

}  // namespace berth::test
