// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/spread_score.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include "tests/support/sha256.h"
#include "tests/unit/engine_reference/asked_cluster.h"

namespace berth::reference {
namespace {

using test::AskedCluster;

TEST(GoLog, E_Q10_HasTheBitsOfUpstreamWeights) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(go_log(2)), 0x3fe62e42fefa39efu);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(go_log(3)), 0x3ff193ea7aad030au) << "where glibc differs";
  EXPECT_EQ(std::bit_cast<std::uint64_t>(go_log(14)), 0x40051cca16d7bba8u);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(go_log(5002)), 0x40210901f6dc84b9u);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(go_log(15002)), 0x40233b5c54bb9573u);
}

TEST(GoLog, E_Q10_HasTheChecksumOfTwentyThousandUpstreamWeights) {
  std::vector<std::uint8_t> bytes;
  for (int x = 2; x <= 20002; ++x) {
    const auto bits = std::bit_cast<std::uint64_t>(go_log(x));
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
  }
  EXPECT_EQ(test::sha256(bytes), "c479d45cdd3fa66c0179f63cad670ad995f3ab4c9a3843be4aefbbde8c8df9fa");
}

SoftSpreadState state_of(const AskedCluster& cluster) {
  return pre_score(soft_constraints(cluster.request()).list, cluster.request(), cluster.feasible());
}

TEST(SoftSpread, E_S2_ExcludesIgnoredNodesFromSizesAndCounts) {
  const AskedCluster cluster(
      "node a1 zone=A host\nnode a2 zone=A host\nnode b1 zone=B host\nnode b2 zone=B host\nnode x host\n"
      "pod a*2 on=a1 label:app=web\npod aa on=a2 label:app=web\npod b on=b1 label:app=web\npod c*5 on=x label:app=web\n"
      "ask p label:app=web soft-spread=zone match=app=web soft-spread=host skew=2 match=app=web");
  const SoftSpreadState state = state_of(cluster);
  EXPECT_EQ(state.weights, (std::vector<double>{go_log(4), go_log(6)}));
  EXPECT_EQ(state.ignored, (std::set<const NodeState*>{&cluster.node("x")}));
  EXPECT_EQ(state.counts[0].at("A"), 3);
  EXPECT_EQ(state.counts[0].at("B"), 1);
}

TEST(SoftSpread, E_S3_Q6_CountsTheEmptyZoneAsADomainInSystemMode) {
  const AskedCluster cluster(
      "node a1 zone=A host\nnode a2 zone=A host\nnode b1 zone=B host\nnode x host\nservice web select:app=web\n"
      "pod c*3 on=x label:app=web\nask p label:app=web");
  const SoftSpreadState state = state_of(cluster);
  EXPECT_EQ(state.weights, (std::vector<double>{go_log(6), go_log(5)})) << "hostname, zone";
  EXPECT_EQ(state.counts[1].at(""), 3);
  EXPECT_TRUE(state.ignored.empty());
}

TEST(SoftSpread, NormalizesToHundredWithoutPodsAndToZeroForIgnoredNodes) {
  const AskedCluster cluster("node a zone=A\nnode b\nask p soft-spread=rack match=a=b");
  const SoftSpreadState state = state_of(cluster);
  std::vector<std::int64_t> scores = {0, 0};
  normalize(state, cluster.feasible(), scores);
  EXPECT_EQ(scores, (std::vector<std::int64_t>{0, 0}));
  SoftSpreadState open = state;
  open.ignored.clear();
  normalize(open, cluster.feasible(), scores);
  EXPECT_EQ(scores, (std::vector<std::int64_t>{100, 100}));
}

}  // namespace
}  // namespace berth::reference
