// SPDX-License-Identifier: Apache-2.0
#pragma once

// The draw among nodes of equal total, bit by bit: docs/architecture.md "Ties". Shared by every backend and compiled by
// both compilers. A draw has 48 bits, the highest wins, and it is never 0.

#include <cstdint>

namespace berth {

using Draw = std::uint64_t;
inline constexpr int kDrawBits = 48;
inline constexpr Draw kHighestDraw = (Draw{1} << kDrawBits) - 1;

/// What a draw is made of.
enum class DrawOrder : std::uint8_t {
  kEmptierFirst,  ///< 16 bits of emptiness, then 32 of a hash of seed, name and pod count
  kFullerFirst,   ///< 16 bits of fullness, then the same hash
  kByClass,       ///< 32 bits of a hash of seed, class, name and pod count, then 16 of name and pod count
  kNodeOrder,     ///< the rank in node order, the first node highest: no two draws are equal
};
constexpr bool reads_load(DrawOrder order) {
  return order == DrawOrder::kEmptierFirst || order == DrawOrder::kFullerFirst;
}

/// How the nodes of one profile's pods draw.
struct DrawRule {
  DrawOrder order = DrawOrder::kEmptierFirst;
  std::uint64_t seed = 0;  ///< mix_bits() of the run's seed
};

/// Finaliser of MurmurHash3: a bijection of 32 bits in which every input bit reaches every output bit.
[[gnu::always_inline]] constexpr std::uint32_t mix_bits(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  x ^= x >> 16;
  return x;
}
/// The same for 64 bits.
[[gnu::always_inline]] constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  x ^= x >> 33;
  return x;
}

/// Amounts of a node that its fullness is made of: offered, or in use.
struct DrawAmounts {
  std::int64_t milli_cpu = 0;     ///< in use: with the defaults that kube-scheduler counts for pods without a request
  std::int64_t memory_bytes = 0;  ///< likewise
  std::int64_t pods = 0;
};

/// How full a node is: the mean of its shares of cpu, memory and pods, in steps of 1/65535.
///
/// A share is in use x (1 / offered) in IEEE doubles, rounded to nearest at each of the two steps, and clamped to 0..1:
/// sums that wrapped to below 0 count as 0. Where nothing is offered (0 or less) the share is 1. The fullness is
/// (cpu + memory + pods) x 21845, added from the left and truncated. No step of it may be contracted.
///
/// It never falls when an amount in use grows. A pod more raises it where a node allows up to 21,844 pods and has room
/// for one; beyond, and above the allowed number, only where its amounts are large enough.
class FullnessScale {
 public:
  [[gnu::always_inline]] constexpr explicit FullnessScale(const DrawAmounts& offered)
      : cpu_(offered.milli_cpu), memory_(offered.memory_bytes), pods_(offered.pods) {}

  /// 0 to 65535.
  [[gnu::always_inline]] constexpr std::uint32_t fullness(const DrawAmounts& in_use) const {
    const double shares = cpu_.of(in_use.milli_cpu) + memory_.of(in_use.memory_bytes) + pods_.of(in_use.pods);
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(shares * 21845.0));
  }

 private:
  /// One share, without branches: it is computed for every copy of a run.
  struct Share {
    double inverse;  ///< of what is offered; 0 where nothing is
    double lowest;   ///< 1 where nothing is offered
    [[gnu::always_inline]] constexpr explicit Share(std::int64_t offered)
        : inverse(offered > 0 ? 1.0 / static_cast<double>(offered) : 0.0), lowest(offered > 0 ? 0.0 : 1.0) {}
    [[gnu::always_inline]] constexpr double of(std::int64_t in_use) const {
      const double share = static_cast<double>(in_use) * inverse;
      const double raised = share > lowest ? share : lowest;
      return raised < 1.0 ? raised : 1.0;
    }
  };

  Share cpu_, memory_, pods_;
};

/// What a class brings to draws by class; constant while the seed is.
[[gnu::always_inline]] constexpr std::uint32_t class_draw_seed(std::uint64_t seed, std::uint64_t class_hash) {
  const std::uint64_t x = (seed ^ class_hash) * 0x9e3779b97f4a7c15ull;
  return mix_bits(static_cast<std::uint32_t>(x >> 32) ^ static_cast<std::uint32_t>(seed));
}

/// What a node brings to a draw, equal for all classes of a profile. It changes with every pod that comes or goes.
struct NodeDraw {
  Draw bits = 0;           ///< the draw; of draws by class only the last 16 bits
  std::uint32_t seed = 0;  ///< of draws by class
};

/// The draws on one node, for any load.
class NodeDraws {
 public:
  /// @param rank  position in node order
  /// @param offered  read where reads_load(rule.order)
  [[gnu::always_inline]] constexpr NodeDraws(const DrawRule& rule, std::uint64_t name_hash, std::uint32_t rank,
                                             const DrawAmounts& offered)
      : rule_(rule), name_hash_(name_hash), rank_(rank), scale_(reads_load(rule.order) ? offered : DrawAmounts()) {}

  [[gnu::always_inline]] constexpr NodeDraw with(const DrawAmounts& in_use) const {
    if (rule_.order == DrawOrder::kNodeOrder) return {kHighestDraw - rank_, 0};
    // The product steps through 64 bits, so that different counts of one node never meet.
    const std::uint64_t state = name_hash_ + 0x9e3779b97f4a7c15ull * (static_cast<std::uint64_t>(in_use.pods) + 1);
    if (rule_.order == DrawOrder::kByClass) {
      const std::uint64_t hash = mix_bits(state);
      return {hash & 0xffff, static_cast<std::uint32_t>(hash >> 32)};
    }
    const std::uint32_t fullness = scale_.fullness(in_use);
    const std::uint32_t first = rule_.order == DrawOrder::kEmptierFirst ? 0xffffu - fullness : fullness;
    return {Draw{first} << 32 | never_zero(static_cast<std::uint32_t>(mix_bits(rule_.seed ^ state) >> 32)), 0};
  }

 private:
  [[gnu::always_inline]] static constexpr std::uint32_t never_zero(std::uint32_t bits) { return bits == 0 ? 1u : bits; }

  DrawRule rule_;
  std::uint64_t name_hash_;
  std::uint32_t rank_;
  FullnessScale scale_;
};

/// The draw of a class on a node where draws are by class.
[[gnu::always_inline]] constexpr Draw draw_by_class(const NodeDraw& node, std::uint32_t class_seed) {
  const std::uint32_t first = mix_bits(class_seed ^ node.seed);
  return Draw{first == 0 ? 1u : first} << 16 | node.bits;
}
/// The draw of a class on a node in any order.
[[gnu::always_inline]] constexpr Draw draw_of_class(DrawOrder order, const NodeDraw& node, std::uint32_t class_seed) {
  return order == DrawOrder::kByClass ? draw_by_class(node, class_seed) : node.bits;
}

}  // namespace berth
