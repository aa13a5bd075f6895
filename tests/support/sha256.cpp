// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <vector>

namespace berth::test {
namespace {

using Words = std::array<std::uint32_t, 8>;
constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kRounds = 64;

/// The first 64 primes; the constants of the algorithm are digits of their roots.
std::vector<std::uint32_t> primes() {
  std::vector<std::uint32_t> found;
  for (std::uint32_t candidate = 2; found.size() < kRounds; ++candidate) {
    bool is_prime = true;
    for (const std::uint32_t divisor : found) is_prime &= candidate % divisor != 0;
    if (is_prime) found.push_back(candidate);
  }
  return found;
}

/// The first 32 fractional bits.
std::uint32_t fraction_bits(long double value) {
  return static_cast<std::uint32_t>((value - std::floor(value)) * 4294967296.0L);
}

void add_block(const std::uint8_t* block, const std::array<std::uint32_t, kRounds>& constants, Words& state) {
  std::array<std::uint32_t, kRounds> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t byte = 0; byte < 4; ++byte) w[i] = w[i] << 8 | block[4 * i + byte];
  }
  for (std::size_t i = 16; i < kRounds; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + constants[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const Words mixed = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

}  // namespace

std::string sha256(std::span<const std::uint8_t> bytes) {
  const std::vector<std::uint32_t> prime = primes();
  std::array<std::uint32_t, kRounds> constants{};
  Words state{};
  for (std::size_t i = 0; i < kRounds; ++i) constants[i] = fraction_bits(std::cbrt(static_cast<long double>(prime[i])));
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] = fraction_bits(std::sqrt(static_cast<long double>(prime[i])));

  std::vector<std::uint8_t> padded(bytes.begin(), bytes.end());
  padded.push_back(0x80);
  while (padded.size() % kBlockBytes != kBlockBytes - 8) padded.push_back(0);
  for (int shift = 56; shift >= 0; shift -= 8) {
    padded.push_back(static_cast<std::uint8_t>(std::uint64_t{bytes.size()} * 8 >> shift));
  }
  for (std::size_t at = 0; at < padded.size(); at += kBlockBytes) add_block(&padded[at], constants, state);

  std::string text;
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  }
  return text;
}

}  // namespace berth::test
