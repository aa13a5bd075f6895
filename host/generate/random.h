// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace berth {

/// Seeded numbers that are the same on every platform and compiler (splitmix64). The distributions of the standard
/// library are not, so nothing in this folder uses them.
///
/// Draws change the state: never draw twice within one argument list, whose order of evaluation is open.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
    return mixed ^ (mixed >> 31);
  }

  /// A number from 0 to bound - 1; 0 when `bound` is 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

  /// A number from `low` to `high`, both included; `low` when the range is empty.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    if (high <= low) return low;
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t offset = span == UINT64_MAX ? next() : below(span + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
  }

  bool chance(std::int32_t percent) { return percent > 0 && below(100) < static_cast<std::uint64_t>(percent); }

  /// @param range not empty
  template <class Range>
  const auto& pick(const Range& range) {
    return *(std::begin(range) + static_cast<std::ptrdiff_t>(below(std::size(range))));
  }

  /// An independent stream, so that more draws in one place do not change another.
  Random split() { return Random(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace berth
