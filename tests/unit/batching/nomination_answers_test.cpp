// SPDX-License-Identifier: Apache-2.0
#include "batching/nomination_answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

/// Pods of one class and several priorities, and pods that are nominated to nodes a and b.
struct NominationAnswersTest : testing::Test {
  test::CompiledCluster cluster{
      "node a cpu=4 zone=z\nnode b cpu=4 zone=z\nnode c cpu=4 zone=z\n"
      "pod chosen cpu=2 priority=10 nominated=a\npod second cpu=2 priority=5 nominated=b\n"
      "pod low cpu=2 priority=0\npod equal cpu=2 priority=10\npod high cpu=2 priority=11\n"
      "pod urgent cpu=3 priority=10 nominated=a label:app=db\n"
      "pod away cpu=100m pod-anti-affinity=zone match=app=db\n"};
  CommitLog log;
  Nominations nominations{cluster.scenario.objects, cluster.scenario.config, cluster.snapshot, cluster.table};
  NominationAnswers answers{cluster.table, nominations, cluster.snapshot, log};

  const PodToPlace& pod(std::string_view name) const {
    for (const PodToPlace& pod : cluster.pods)
      if (pod.pod->name == name) return pod;
    throw std::out_of_range(std::string(name));
  }
  std::vector<std::int32_t> refused(std::string_view name) {
    const std::span<const std::int32_t> members = answers.of(pod(name)).nodes.members();
    std::vector<std::int32_t> sorted(members.begin(), members.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  void place(std::string_view name, std::int32_t node, int sign) {
    cluster.snapshot.apply(node, cluster.table[pod(name).class_index].delta, sign);
    log.append({node, pod(name).class_index, sign});
  }
  using Nodes = std::vector<std::int32_t>;
};

TEST_F(NominationAnswersTest, PodsOfEqualAndHigherPriorityCount) {
  EXPECT_EQ(refused("low"), (Nodes{0})) << "5 cores on a; two fit beside the pod on b";
  EXPECT_EQ(refused("equal"), (Nodes{0}));
  EXPECT_EQ(refused("high"), Nodes());
  EXPECT_EQ(refused("low"), (Nodes{0})) << "after a pod of the class with another priority";
}

TEST_F(NominationAnswersTest, APodDoesNotCountAgainstItself) {
  nominations.remove(*pod("urgent").pod);
  place("low", 0, 1);
  EXPECT_EQ(refused("low"), (Nodes{0}));
  EXPECT_EQ(refused("chosen"), Nodes());
  EXPECT_EQ(refused("low"), (Nodes{0})) << "the answer for the nominated pod is for that pod alone";
}

TEST_F(NominationAnswersTest, AnAnswerFollowsTheLoadOfItsNode) {
  EXPECT_EQ(refused("low"), (Nodes{0}));
  place("low", 1, 1);
  EXPECT_EQ(refused("low"), (Nodes{0, 1}));
  place("low", 1, -1);
  EXPECT_EQ(refused("low"), (Nodes{0}));
}

TEST_F(NominationAnswersTest, AnAnswerFollowsTheNominations) {
  EXPECT_EQ(refused("low"), (Nodes{0}));
  nominations.remove(*pod("urgent").pod);
  EXPECT_EQ(refused("low"), Nodes());
  nominations.set(pod("urgent").pod, "b", cluster.table, cluster.snapshot);
  EXPECT_EQ(refused("low"), (Nodes{1}));
  nominations.rebuild(cluster.table, cluster.snapshot);
  EXPECT_EQ(refused("low"), (Nodes{1}));
}

TEST_F(NominationAnswersTest, TheVersionChangesWithTheNodesAndIsZeroWithout) {
  const std::uint64_t first = answers.of(pod("low")).version;
  EXPECT_EQ(answers.of(pod("low")).version, first);
  EXPECT_TRUE(answers.of(pod("low")).changed.empty());
  nominations.set(pod("urgent").pod, "c", cluster.table, cluster.snapshot);
  const NominationAnswers::Refused moved = answers.of(pod("low"));
  EXPECT_NE(moved.version, first);
  EXPECT_EQ(moved.changed.size(), 2u);
  nominations.remove(*pod("urgent").pod);
  EXPECT_EQ(answers.of(pod("low")).version, 0u);
}

TEST_F(NominationAnswersTest, NominatedPodsCountInTopologyDomains) {
  EXPECT_EQ(refused("away"), (Nodes{0})) << "the pass adds nominated pods of one node at a time";
  nominations.remove(*pod("urgent").pod);
  EXPECT_EQ(refused("away"), Nodes());
}

TEST_F(NominationAnswersTest, CopiesOfARunAreCountedBesideTheNominatedPods) {
  EXPECT_FALSE(answers.refuses_after(pod("low"), 1, 0));
  EXPECT_TRUE(answers.refuses_after(pod("low"), 1, 1));
  EXPECT_FALSE(answers.refuses_after(pod("low"), 2, 1)) << "no pod is nominated to c";
}

}  // namespace
}  // namespace berth
