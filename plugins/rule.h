// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every rule.h stands on. A rule is written once, as plain functions on numbers that both compilers accept: no
// allocation, no strings, no virtual calls. Arithmetic is templated on the number: std::int64_t where amounts may be
// anything, double (exact below 2^46, and it vectorises) on the hot path. Both give the same integers.

#include <cstdint>

#if defined(__CUDACC__)
#define BERTH_HD __host__ __device__ __forceinline__
#else
#define BERTH_HD [[gnu::always_inline]] inline
#endif

namespace berth {

inline constexpr std::int64_t kMaxNodeScore = 100;

/// Integer division that truncates toward zero, as Go's.
BERTH_HD std::int64_t divide_truncated(std::int64_t a, std::int64_t b) { return a / b; }
/// Exact for integers below 2^53 in magnitude whose quotient is at most 100 while b is below 2^46: the rounding error of
/// the quotient is then smaller than its distance to the next integer.
BERTH_HD double divide_truncated(double a, double b) { return __builtin_trunc(a / b); }

/// Go's int64 multiplication wraps; amounts that large are nonsense, but no input may be undefined behaviour.
BERTH_HD std::int64_t multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
BERTH_HD double multiply(double a, double b) { return a * b; }

/// What incremental rows need to know of a rule, part one: what a placement on node n can change for another class.
enum class Touches : std::uint8_t { kNothing, kColumnOfNode, kDomainsOfNode, kAsksHost };

}  // namespace berth
