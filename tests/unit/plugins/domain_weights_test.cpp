// SPDX-License-Identifier: Apache-2.0
#include "plugins/pod_topology_spread/domain_weights.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "tests/support/sha256.h"

namespace berth {
namespace {

/// SHA-256 of the weights of 0 to `size_max` domains, eight bytes each, the highest first.
std::string digest(std::size_t size_max) {
  const DomainWeights weights(size_max);
  std::vector<std::uint8_t> bytes;
  bytes.reserve(8 * (size_max + 1));
  for (std::size_t size = 0; size <= size_max; ++size) {
    const auto bits = std::bit_cast<std::uint64_t>(weights.of(size));
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
  }
  return test::sha256(bytes);
}

// Both digests are of Go 1.26's math.Log on amd64.
TEST(DomainWeightsTest, MatchGoLogarithmsUpToTwentyThousandDomains) {
  EXPECT_EQ(digest(20000), "c479d45cdd3fa66c0179f63cad670ad995f3ab4c9a3843be4aefbbde8c8df9fa");
}

TEST(DomainWeightsTest, MatchGoLogarithmsUpToAMillionDomains) {
  EXPECT_EQ(digest(1000000), "9fd5b44745ef89234cf6e8122dc1a9f9b4fdf55c89061e4871d94c4a8232d668");
}

TEST(DomainWeightsTest, GrowingKeepsEarlierWeights) {
  DomainWeights weights(3);
  const double before = weights.of(3);
  weights.grow(1000);
  EXPECT_EQ(weights.of(3), before);
  EXPECT_EQ(weights.of(1000), DomainWeights(1000).of(1000));
}

}  // namespace
}  // namespace berth
