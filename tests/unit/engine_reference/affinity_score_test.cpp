// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/affinity_score.h"

#include <gtest/gtest.h>

#include "tests/unit/engine_reference/asked_cluster.h"

namespace berth::reference {
namespace {

using test::AskedCluster;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHost = "kubernetes.io/hostname";

AffinityScores scores_of(const AskedCluster& cluster) {
  return pre_score(parse_terms(*cluster.request().pod), cluster.request());
}

AffinityScores scores_of_a5(const std::string& config) {
  const AskedCluster cluster(
      config +
      "node n1 zone=A host\nnode n2 zone=A host\nnode n3 zone=B host\nnode n4 zone=C host\npod db1 on=n1 label:app=db\n"
      "pod noisy on=n2 label:tier=noisy\npod db3 on=n3 label:app=db\npod e4 on=n3 pod-affinity=host match=app=web\n"
      "pod e5 on=n4 pod-affinity=zone:30 match=app=web\npod e6 on=n4 pod-anti-affinity=host:70 match=app=web\n"
      "ask p label:app=web pod-affinity=zone:50 match=app=db pod-anti-affinity=host:80 match=tier=noisy");
  return scores_of(cluster);
}

TEST(AffinityScores, E_A5_AreSummedPerDomain) {
  EXPECT_EQ(scores_of_a5(""), (AffinityScores{{kZone, {{"A", 50}, {"B", 50}, {"C", 30}}},
                                              {kHost, {{"n2", -80}, {"n3", 1}, {"n4", -70}}}}));
  EXPECT_EQ(scores_of_a5("config hard-pod-affinity-weight=10\n").at(kHost).at("n3"), 10);
  EXPECT_FALSE(scores_of_a5("config hard-pod-affinity-weight=0\n").at(kHost).contains("n3"));
}

TEST(AffinityScores, E_A7_KeepAnEntryThatCancels) {
  const AskedCluster cluster(
      "node n1 zone=A\nnode n2 zone=B\npod a on=n1 label:app=db\n"
      "ask p pod-affinity=zone:5 match=app=db pod-anti-affinity=zone:5 match=app=db");
  EXPECT_EQ(scores_of(cluster), (AffinityScores{{kZone, {{"A", 0}}}}));
}

TEST(AffinityScores, AreAbsentWhenNoTermContributes) {
  const AskedCluster cluster("node n1 zone=A\npod a on=n1 label:app=db\nask p pod-affinity=host:5 match=app=db");
  EXPECT_TRUE(scores_of(cluster).empty()) << "the node lacks the key";
}

TEST(AffinityScores, E_A6_Q9_AreTruncatedAfterDivision) {
  const std::map<std::int64_t, std::int64_t> odd = {{29, 28}, {57, 56}, {58, 57}};
  for (std::int64_t percent = 0; percent <= 100; ++percent) {
    std::vector<std::int64_t> scores = {0, percent, 100};
    normalize_affinity(scores);
    const auto found = odd.find(percent);
    EXPECT_EQ(scores[1], found == odd.end() ? percent : found->second);
  }
}

TEST(AffinityScores, NormalizeToZeroWhenAllAreEqual) {
  std::vector<std::int64_t> scores = {-7, -7};
  normalize_affinity(scores);
  EXPECT_EQ(scores, (std::vector<std::int64_t>{0, 0}));
}

}  // namespace
}  // namespace berth::reference
