// SPDX-License-Identifier: Apache-2.0
// Worked examples of the cycle: node order, nominated pods, sampling, the choice of the host and the FitError text.
// docs/behaviour/plugins-node.md 1.5, 2, 15 and 16, by their ids.

#include <set>

#include "tests/contract/backend_contract.h"

namespace berth::test {
namespace {

using Names = std::vector<std::string>;

TEST_P(BackendContract, E_L_1_NodesAlternateBetweenZones) {
  given("node a1 zone=A\nnode a2 zone=A\nnode b1 zone=B\nnode a3 zone=A\nnode c1 zone=C\nnode c2 zone=C");
  Names names;
  for (std::int32_t i = 0; i < backend_->slot_count(); ++i) names.emplace_back(backend_->node_name(NodeIndex{i}));
  EXPECT_EQ(names, (Names{"a1", "b1", "c1", "a2", "c2", "a3"}));
}

// Nominated pods

constexpr const char* kNominated = R"(node n cpu=4
pod used on=n cpu=2
pod preemptor nominated=n priority=10 cpu=1500m
pod low priority=5 cpu=1
pod equal priority=10 cpu=1
pod high priority=11 cpu=1
)";

TEST_P(BackendContract, E_F_1_NominatedPodsOfEqualOrHigherPriorityReserveRoom) {
  given(kNominated);
  expect_refusal("low", "n", "NodeResourcesFit", StatusCode::kUnschedulable, {"Insufficient cpu"});
  expect_refusal("equal", "n", "NodeResourcesFit", StatusCode::kUnschedulable, {"Insufficient cpu"});
  expect_pass("high", "n");
}

TEST_P(BackendContract, ANominatedPodDoesNotBlockItself) {
  given(kNominated);
  expect_pass("preemptor", "n");
}

TEST_P(BackendContract, APlacedPodIsNoLongerNominated) {
  given("node n cpu=4\nnode m cpu=4\npod preemptor nominated=n priority=10 cpu=3\npod p cpu=4");
  // It is placed on its node without scoring, and reserves its room there once, not twice.
  const BatchResult result = place_pending();
  EXPECT_EQ(nodes_of(result), (Names{"n", "m"}));
  EXPECT_EQ(result.outcomes[0].score, 0);
}

TEST_P(BackendContract, ANominatedPodThatFailsLosesItsReservation) {
  given("node n cpu=4\npod huge nominated=n priority=10 cpu=3 select:a=b\npod p cpu=2");
  expect_refusal("p", "n", "NodeResourcesFit", StatusCode::kUnschedulable, {"Insufficient cpu"});
  EXPECT_EQ(nodes_of(place_pending()), (Names{"", "n"}));
}

TEST_P(BackendContract, ANominatedNodeIsTriedFirstAndSelectedWithoutScoring) {
  given("node small cpu=1 memory=1Gi\nnode large cpu=64 memory=256Gi\npod p nominated=small cpu=1 memory=1Gi");
  EXPECT_EQ(nodes_of(place_pending()), Names{"small"});
}

TEST_P(BackendContract, ANominatedNodeOutsideThePreFilterSetIsStillTried) {
  // The filter of NodeAffinity still rejects it, and that reason is counted instead of the absent status.
  given("node a\nnode b unschedulable\nnode c\npod p nominated=a need=@metadata.name:In:b");
  const BatchResult result = place_pending();
  ASSERT_EQ(result.messages.size(), 1u);
  EXPECT_EQ(result.messages[0].text,
            "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't satisfy "
            "plugin(s) [NodeAffinity], 1 node(s) were unschedulable.");
}

TEST_P(BackendContract, AnUnknownNominatedNodeIsIgnored) {
  given("node a\npod p nominated=gone");
  EXPECT_EQ(nodes_of(place_pending()), Names{"a"});
}

TEST_P(BackendContract, AGatedPodReservesNoRoom) {
  given("node n cpu=4\npod g nominated=n priority=9 cpu=4 gate=x\npod p cpu=4");
  expect_pass("p", "n");
}

// The queue registers its nomination when it is added, and skips it only when it is popped.
TEST_P(BackendContract, ATerminatingPodOccupiesItsRoomUntilItIsGone) {
  given("node n cpu=4\npod t nominated=n priority=9 cpu=4 terminating\npod p cpu=4");
  expect_refusal("p", "n", "NodeResourcesFit", StatusCode::kUnschedulable, {"Insufficient cpu"});
}

// Sampling. All nodes are so large that a pod changes no score, so that with the heap the first feasible node in search
// order wins, which reveals the start of the next search.

constexpr const char* kSampling = "engine sampling=kube ties=kube\n";
constexpr const char* kLarge = " cpu=100000 memory=100000Gi";

std::string every_third_cordoned(int count) {
  std::string text = kSampling;
  for (int i = 0; i < count; ++i)
    text += "node n" + std::to_string(i) + kLarge + (i % 3 == 0 ? " unschedulable\n" : "\n");
  return text;
}

// Hosts of the example for opportunistic batching: the same with batching on and off.
TEST_P(BackendContract, E_OB_1_EqualPodsThatFillTheirNodesUseTheBestRemainingOne) {
  given(
      "node n10 cpu=10 memory=32Gi pods=1\nnode n8 cpu=8 memory=32Gi pods=1\nnode n6 cpu=6 memory=32Gi pods=1\n"
      "node n4 cpu=4 memory=32Gi pods=1\npod a cpu=1\npod b cpu=1\npod c cpu=1");
  EXPECT_EQ(nodes_of(place_pending()), (Names{"n10", "n8", "n6"}));
}

TEST_P(BackendContract, E_S_1_TheNextSearchStartsWhereTheLastOneStopped) {
  given(every_third_cordoned(300) + "pod p*2");
  EXPECT_EQ(nodes_of(place_pending()), (Names{"n1", "n217"}));
}

TEST_P(BackendContract, E_S_2_TheStartIndexWrapsAround) {
  given(std::string(kSampling) + "node n*600" + kLarge + "\npod p*4");
  EXPECT_EQ(nodes_of(place_pending()), (Names{"n0", "n276", "n552", "n228"}));
}

TEST_P(BackendContract, E_S_3_AFullRoundReturnsToItsStart) {
  std::string text = kSampling;
  for (int i = 0; i < 200; ++i)
    text += "node n" + std::to_string(i) + kLarge + (i % 2 == 0 ? " unschedulable\n" : "\n");
  given(text + "pod p*2");
  EXPECT_EQ(nodes_of(place_pending()), (Names{"n1", "n1"}));
}

TEST_P(BackendContract, E_S_4_AHundredOfTwoHundredFeasibleNodesAreEnough) {
  // The first pod may go to seven named nodes only: all are feasible, and the start moves to 7.
  given(std::string(kSampling) + "node n*200" + kLarge +
        "\npod named need=@metadata.name:In:n0 need=@metadata.name:In:n1 need=@metadata.name:In:n2 "
        "need=@metadata.name:In:n3 need=@metadata.name:In:n4 need=@metadata.name:In:n5 need=@metadata.name:In:n6\npod "
        "p*2");
  EXPECT_EQ(nodes_of(place_pending()), (Names{"n0", "n7", "n107"}));
}

TEST_P(BackendContract, ThePercentageSetsTheNumberOfNodesToFind) {
  given(std::string(kSampling) + "config percentage=30\nnode n*500" + kLarge + "\npod p*2");
  EXPECT_EQ(nodes_of(place_pending()), (Names{"n0", "n150"}));
}

TEST_P(BackendContract, WithoutSamplingEveryNodeIsScored) {
  given(std::string("node n*300") + kLarge + "\nnode best cpu=200000 memory=200000Gi\npod p cpu=50000 memory=50000Gi");
  EXPECT_EQ(nodes_of(place_pending()), Names{"best"});
}

// The selected host

/// Nodes of these totals, up to a constant; the totals are the weights of preferred terms, at most 100.
std::string nodes_of_totals(const std::vector<int>& totals) {
  std::string text = "engine ties=kube\nconfig weight=NodeAffinity:1\n";
  std::string pod = "pod p";
  std::set<int> weights;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    text += "node n" + std::to_string(i) + " label:w=v" + std::to_string(totals[i]) + "\n";
    if (weights.insert(totals[i]).second) {
      pod += " prefer=" + std::to_string(totals[i]) + ":w:In:v" + std::to_string(totals[i]);
    }
  }
  return text + pod;
}

TEST_P(BackendContract, E_SH_TheHeapSelectsAmongTheHighestTotals) {
  struct Row {
    const char* id;
    std::vector<int> totals;
    const char* host;
  };
  const std::vector<Row> rows = {{"E-SH-1", {10, 10, 10}, "n0"},
                                 {"E-SH-2", {10, 20, 20, 20}, "n1"},
                                 {"E-SH-3", {10, 5, 20, 20}, "n3"},
                                 {"E-SH-4", {1, 2, 3, 3, 3, 3, 3}, "n3"},
                                 {"E-SH-5", {50, 64, 64, 30, 64}, "n1"}};
  for (const Row& row : rows) {
    given(nodes_of_totals(row.totals));
    EXPECT_EQ(nodes_of(place_pending()), Names{row.host}) << row.id;
  }
}

TEST_P(BackendContract, TieBreakFirstSelectsTheFirstNode) {
  given("engine ties=first\nnode low taint=a:PreferNoSchedule\nnode n1\nnode n2\npod p");
  EXPECT_EQ(nodes_of(place_pending()), Names{"n1"});
}

TEST_P(BackendContract, TheDrawDependsOnSeedClassNodeAndItsPods) {
  const auto hosts = [&](const std::string& seed) {
    given("engine ties=random seed=" + seed + "\nnode n*50" + kLarge + "\npod p*30");
    return nodes_of(place_pending());
  };
  const Names once = hosts("1");
  EXPECT_EQ(once, hosts("1"));
  EXPECT_NE(once, hosts("2"));
  EXPECT_GT(std::set<std::string>(once.begin(), once.end()).size(), 10u) << "ties are spread over the nodes";
}

// The FitError text

constexpr const char* kCluster7 = R"(node a cpu=1 memory=64Gi
node b cpu=1 memory=64Gi
node c cpu=1 memory=1Gi
node d cpu=8 memory=64Gi taint=k:NoSchedule
node e cpu=8 memory=64Gi taint=k:NoExecute
node f cpu=8 memory=64Gi unschedulable
node g cpu=8 memory=64Gi label:pool=old
)";

TEST_P(BackendContract, E_FE_1_ReasonsAreCountedAndSorted) {
  given(std::string(kCluster7) + "pod p cpu=2 memory=2Gi need=pool:NotIn:old");
  EXPECT_EQ(fit_error("p"),
            "0/7 nodes are available: 1 Insufficient memory, 1 node(s) didn't match Pod's node affinity/selector, 1 "
            "node(s) were unschedulable, 2 node(s) had untolerated taint(s), 3 Insufficient cpu.");
}

TEST_P(BackendContract, E_FE_2_CountsAreSortedAsText) {
  given("node n*10 cpu=1\nnode t*2 cpu=8 taint=k:NoSchedule\npod p cpu=2");
  EXPECT_EQ(fit_error("p"), "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) had untolerated taint(s).");
}

TEST_P(BackendContract, E_FE_3_NodesOutsideThePreFilterSetAreCountedTogether) {
  given("node n*5 cpu=1\npod p cpu=2 need=@metadata.name:In:n3");
  EXPECT_EQ(fit_error("p"),
            "0/5 nodes are available: 1 Insufficient cpu, 4 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

TEST_P(BackendContract, E_FE_4_ThePinnedNodeMayNotExist) {
  given("node n*5 cpu=1\npod p need=@metadata.name:In:gone");
  EXPECT_EQ(fit_error("p"), "0/5 nodes are available: 5 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

TEST_P(BackendContract, E_FE_5_APreFilterRejectionIsTheWholeText) {
  given("node n*5 cpu=1\npod p need=@metadata.name:In:n1&@metadata.name:In:n2");
  EXPECT_EQ(fit_error("p"), "0/5 nodes are available: pod affinity terms conflict.");
}

TEST_P(BackendContract, E_FE_6_ANodeMayHaveTwoReasons) {
  given(
      "node full cpu=1 memory=64Gi pods=0\nnode c*10 cpu=1 memory=64Gi\nnode m*9 cpu=8 memory=1Gi\n"
      "node x unschedulable\npod p cpu=2 memory=2Gi");
  EXPECT_EQ(fit_error("p"),
            "0/21 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, 11 Insufficient cpu, 9 "
            "Insufficient memory.");
}

TEST_P(BackendContract, ScheduleAndExplainGiveTheSameText) {
  given(std::string(kCluster7) + "pod p*3 cpu=20");
  const BatchResult result = place_pending();
  ASSERT_EQ(result.messages.size(), 1u) << "equal texts are kept once";
  EXPECT_EQ(result.messages[0].text, fit_error("p1"));
  for (const Outcome& outcome : result.outcomes) {
    EXPECT_EQ(outcome.kind, OutcomeKind::kUnschedulable);
    EXPECT_EQ(outcome.message, 0);
  }
}

TEST_P(BackendContract, AClusterWithoutNodesGivesItsOwnError) {
  given("pod p");
  EXPECT_EQ(fit_error("p"), "no nodes available to schedule pods");
  const BatchResult result = place_pending();
  ASSERT_EQ(result.outcomes.size(), 1u);
  EXPECT_EQ(result.outcomes[0].kind, OutcomeKind::kUnschedulable);
  EXPECT_EQ(result.messages.at(0).text, "no nodes available to schedule pods");
}

// Unsupported plugins

TEST_P(BackendContract, APodThatNeedsAnUnsupportedPluginGetsAnErrorThatNamesIt) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"resource-claim=gpu",
       "plugin \"DynamicResources\" is not supported yet: the pod uses the resource claim \"gpu\""}};
  for (const auto& [words, text] : rows) {
    given("node n\npod p " + words);
    EXPECT_EQ(ask("p").error, text);
    const BatchResult result = place_pending();
    ASSERT_EQ(result.outcomes.at(0).kind, OutcomeKind::kError);
    EXPECT_EQ(result.messages.at(0).text, text);
  }
}

TEST_P(BackendContract, ADisabledUnsupportedPluginIsNoError) {
  given("config disable=PodTopologySpread disable=InterPodAffinity\nnode n\npod p spread=zone pod-affinity=zone");
  expect_pass("p", "n");
}

}  // namespace
}  // namespace berth::test
