// SPDX-License-Identifier: Apache-2.0
#include "plugins/pod_topology_spread/domain_weights.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace berth {
namespace {

/// The argument is 2^exponent * (1 + f) with 1 + f in (sqrt(1/2), sqrt(2)]; a rational approximation of ln(1 + f) and
/// the two halves of ln 2. Every operation rounds by itself, which -ffp-contract=off guards.
double go_log(double x) {
  constexpr double kLn2High = std::bit_cast<double>(std::uint64_t{0x3fe62e42fee00000});
  constexpr double kLn2Low = std::bit_cast<double>(std::uint64_t{0x3dea39ef35793c76});
  constexpr double kL1 = std::bit_cast<double>(std::uint64_t{0x3fe5555555555593});
  constexpr double kL2 = std::bit_cast<double>(std::uint64_t{0x3fd999999997fa04});
  constexpr double kL3 = std::bit_cast<double>(std::uint64_t{0x3fd2492494229359});
  constexpr double kL4 = std::bit_cast<double>(std::uint64_t{0x3fcc71c51d8e78af});
  constexpr double kL5 = std::bit_cast<double>(std::uint64_t{0x3fc7466496cb03de});
  constexpr double kL6 = std::bit_cast<double>(std::uint64_t{0x3fc39a09d078c69f});
  constexpr double kL7 = std::bit_cast<double>(std::uint64_t{0x3fc2f112df3e5244});
  constexpr double kHalfSqrt2 = 0.70710678118654752440;

  int exponent = 0;
  double fraction = std::frexp(x, &exponent);
  if (fraction <= kHalfSqrt2) {
    fraction *= 2;
    --exponent;
  }
  const double f = fraction - 1;
  const auto k = static_cast<double>(exponent);
  const double s = f / (2 + f);
  const double s2 = s * s;
  const double s4 = s2 * s2;
  const double odd = s2 * (kL1 + s4 * (kL3 + s4 * (kL5 + s4 * kL7)));
  const double even = s4 * (kL2 + s4 * (kL4 + s4 * kL6));
  const double remainder = odd + even;
  const double half_square = 0.5 * f * f;
  return k * kLn2High - ((half_square - (s * (half_square + remainder) + k * kLn2Low)) - f);
}

}  // namespace

void DomainWeights::grow(std::size_t size_max) {
  for (std::size_t size = weights_.size(); size <= size_max; ++size)
    weights_.push_back(go_log(static_cast<double>(size + 2)));
}

}  // namespace berth
