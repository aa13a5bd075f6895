// SPDX-License-Identifier: Apache-2.0
#pragma once

// The basis of every rule.h. A rule consists of plain functions on numbers that both compilers accept: no allocation,
// no strings, no virtual calls. Arithmetic is templated on the number type: std::int64_t for any amount, double (exact
// below kExactBelow, and it vectorises) on the hot path. Both give the same integers.

#include <cstdint>
#include <string_view>

#include "host/config/node_score.h"

// BERTH_HD_APART is for what is rarely called: a kernel that has it inlined needs more registers on its usual way.
#if defined(__CUDACC__)
#define BERTH_HD __host__ __device__ __forceinline__
#define BERTH_HD_APART __host__ __device__ __noinline__ inline
#else
#define BERTH_HD [[gnu::always_inline]] inline
#define BERTH_HD_APART inline
#endif

namespace berth {

/// Integer division that truncates toward zero, as Go's.
BERTH_HD std::int64_t divide_truncated(std::int64_t a, std::int64_t b) { return a / b; }
/// Amounts below this are exact in the double arithmetic of the rules: docs/decisions/0002-exact-doubles.md.
inline constexpr std::int64_t kExactBelow = std::int64_t{1} << 43;

/// A divisor for doubles that hold integers, with its reciprocal: many lanes divide by the same amount.
struct LaneDivisor {
  double value = 0;
  double reciprocal = 0;

  LaneDivisor() = default;
  BERTH_HD explicit LaneDivisor(double divisor) : value(divisor), reciprocal(1.0 / divisor) {}
  BERTH_HD explicit operator double() const { return value; }
};

/// The same for non-negative integers in doubles, without a division. A true quotient (a + 0.5) / b is at least 0.5 / b
/// away from every integer; that is more than the roundings of the reciprocal and the product come to while the
/// quotient is at most 100 and b below kExactBelow.
BERTH_HD double divide_truncated(double a, const LaneDivisor& b) { return __builtin_trunc((a + 0.5) * b.reciprocal); }
BERTH_HD double divide_truncated(double a, double b) { return __builtin_trunc((a + 0.5) * (1.0 / b)); }

/// Go's int64 arithmetic wraps. Such large amounts make no sense, but no input may cause undefined behaviour.
BERTH_HD std::int64_t multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
BERTH_HD double multiply(double a, double b) { return a * b; }
BERTH_HD std::int64_t add_wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
BERTH_HD std::int64_t subtract(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
BERTH_HD double subtract(double a, double b) { return a - b; }

/// Truncated toward zero. Values outside int64 become INT64_MIN, as in Go on amd64.
BERTH_HD std::int64_t to_integer(double x) {
  return x >= -0x1p63 && x < 0x1p63 ? static_cast<std::int64_t>(x) : INT64_MIN;
}

/// How a placement on node n can change a rule's result for another class.
enum class Touches : std::uint8_t { kNothing, kColumnOfNode, kDomainsOfNode };

/// Which part of a row a rule belongs to; it follows from what placements change.
enum class RowPart : std::uint8_t { kNodeSide, kLoad, kTopology };
constexpr RowPart row_part(Touches touches) {
  switch (touches) {
    case Touches::kNothing:
      return RowPart::kNodeSide;
    case Touches::kColumnOfNode:
      return RowPart::kLoad;
    case Touches::kDomainsOfNode:
      break;
  }
  return RowPart::kTopology;
}

/// How raw scores are scaled to 0..kMaxNodeScore.
enum class Normalizer : std::uint8_t {
  kNone,               ///< not at all: they are in the range
  kByMaximum,          ///< default_normalize(): the largest raw score of the feasible nodes becomes 100
  kByMaximumReversed,  ///< the same, and then 100 minus it
  kByRange,            ///< normalize() of the rule, given the smallest and the largest raw score
};

/// Describes a rule to profiles and rows. Each rule.h has one as `descriptor`; plugins/rules.h lists the rules.
struct RuleDescriptor {
  std::string_view name;  ///< of kube-scheduler's plugin
  Touches touches = Touches::kNothing;
  bool filters = false;  ///< it has a Filter that refuses nodes
  bool scores = false;
  Normalizer normalizer = Normalizer::kNone;
  std::string_view filter_gate = {};  ///< the feature gate without which its Filter accepts everything
  std::string_view missing = {};      ///< the part that is not built; empty: the rule is exact

  constexpr RowPart part() const { return row_part(touches); }
};

}  // namespace berth
