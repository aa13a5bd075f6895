// SPDX-License-Identifier: Apache-2.0
// Worked examples of NodeResourcesFit's and NodeResourcesBalancedAllocation's scores, by their ids in
// docs/behaviour/plugins-node.md.

#include "tests/contract/backend_contract.h"

namespace berth::test {
namespace {

// NodeResourcesFit

/// 4000m and 16Gi with 1100m and 3Gi in use; the pod makes it 1600m (40 %) and 4Gi (25 %).
constexpr const char* kStrategyNode = R"(node n cpu=4 memory=16Gi
pod used on=n cpu=1100m memory=3Gi
pod p cpu=500m memory=1Gi
)";

TEST_P(BackendContract, E_RS_1_LeastAllocatedIsTheMeanOfFreeShares) {
  given(kStrategyNode);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 67);
}

TEST_P(BackendContract, E_RS_2_ResourceWeightsAreApplied) {
  given(std::string("config resources=cpu:3,memory:1\n") + kStrategyNode);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 63);
}

TEST_P(BackendContract, E_RS_3_AnOvercommittedResourceScoresZero) {
  // 3450m and one pod that names no cpu: 3550m non-zero, so that 500m more are 4050m, yet fit.
  const std::string cluster = R"(node n cpu=4 memory=16Gi
pod used on=n cpu=3450m memory=2872Mi
pod plain on=n
pod p cpu=500m memory=1Gi)";
  given(cluster);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 37);
  given("config strategy=MostAllocated\n" + cluster);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 62);
}

TEST_P(BackendContract, E_RS_4_MostAllocatedIsTheMeanOfUsedShares) {
  given(std::string("config strategy=MostAllocated\n") + kStrategyNode);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 32);
  given(std::string("config strategy=MostAllocated resources=cpu:3,memory:1\n") + kStrategyNode);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 36);
}

std::string ratio(const std::string& shape, const std::string& more = "") {
  return "config strategy=RequestedToCapacityRatio shape=" + shape + more + "\n";
}

TEST_P(BackendContract, E_RS_5_TheRatioIsRounded) {
  given(ratio("0:0,100:10") + kStrategyNode);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 33);
}

TEST_P(BackendContract, E_RS_6_AShapeMayDecrease) {
  given(ratio("0:10,100:0") + kStrategyNode);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 68);
}

/// f(p) of a shape, on a node of which the pod uses `percent`.
std::string one_resource(const std::string& shape, int percent) {
  return ratio(shape, " resources=cpu:1") + "node n cpu=100 memory=16Gi\npod p cpu=" + std::to_string(percent);
}

TEST_P(BackendContract, E_RS_7_AShapeIsPiecewiseLinear) {
  given(ratio("0:0,70:10,100:0") + kStrategyNode);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 46);
  const std::vector<std::pair<int, int>> points = {{70, 100}, {80, 67}, {85, 50}, {99, 4}, {100, 0}};
  for (const auto& [percent, score] : points) {
    given(one_resource("0:0,70:10,100:0", percent));
    EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), score) << percent;
  }
}

TEST_P(BackendContract, E_RS_8_AResourceThatScoresZeroIsNotInTheDenominator) {
  given(ratio("0:0,100:10") + "node n cpu=4 memory=16Gi\npod p cpu=0 memory=4Gi");
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 25);
  given(ratio("0:0,100:10") + "node n cpu=4 memory=16Gi\npod p cpu=0 memory=0");
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 0);
}

TEST_P(BackendContract, E_RS_9_AShapeIsConstantOutsideItsPoints) {
  const std::vector<std::pair<int, int>> points = {{0, 30}, {21, 31}, {37, 55}, {60, 90}, {100, 90}};
  for (const auto& [percent, score] : points) {
    given(one_resource("20:3,60:9", percent));
    EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), score) << percent;
  }
}

constexpr const char* kGpuNode =
    "node n cpu=4 memory=16Gi res:vendor.example/gpu=8\n"
    "pod used on=n cpu=1100m memory=3Gi res:vendor.example/gpu=2\n";

TEST_P(BackendContract, E_RS_10_AScalarThatThePodDoesNotRequestIsNotScored) {
  given(std::string("config resources=cpu,memory,vendor.example/gpu:5\n") + kGpuNode + "pod p cpu=500m memory=1Gi");
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 67);
}

TEST_P(BackendContract, E_RS_11_AScalarThatThePodRequestsIsScored) {
  const std::string cluster = std::string(kGpuNode) + "pod p cpu=500m memory=1Gi res:vendor.example/gpu=1";
  given("config resources=cpu,memory,vendor.example/gpu:5\n" + cluster);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 63);
  given("config strategy=MostAllocated resources=cpu,memory,vendor.example/gpu:5\n" + cluster);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 35);
}

TEST_P(BackendContract, E_RS_12_APodWithoutRequestsIsScoredWithDefaultRequests) {
  given("node n cpu=4 memory=16Gi\npod p");
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 97);
}

TEST_P(BackendContract, E_R_4_TheScoreIgnoresPodLevelRequests) {
  // The score figure is 700m although the pod asks for 1100m: a node of 1400m is half free, of 1399m less than half.
  const std::string pod =
      "pod p cpu=300m memory=128Mi container cpu=300m memory=128Mi pod-level:cpu=1 overhead:cpu=100m";
  given("config resources=cpu\nnode n cpu=1400m memory=16Gi\n" + pod);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 50);
  given("config resources=cpu\nnode n cpu=1399m memory=16Gi\n" + pod);
  EXPECT_EQ(raw("p", "n", "NodeResourcesFit"), 49);
}

// NodeResourcesBalancedAllocation

constexpr const char* kBalance = "NodeResourcesBalancedAllocation";

TEST_P(BackendContract, E_BA_1_TwoFractionsDeviateByHalfTheirDifference) {
  given("node n cpu=4 memory=16Gi\npod p cpu=1500m memory=3Gi");
  EXPECT_EQ(raw("p", "n", kBalance), 90);
}

TEST_P(BackendContract, E_BA_2_RoundingErrorGives89InsteadOf90) {
  given("node n cpu=1 memory=3000\npod p cpu=600m memory=2400");
  EXPECT_EQ(raw("p", "n", kBalance), 89);
}

TEST_P(BackendContract, E_BA_3_RoundingErrorGives90InsteadOf91) {
  given("node n cpu=1 memory=10000\npod p cpu=500m memory=6800");
  EXPECT_EQ(raw("p", "n", kBalance), 90);
}

TEST_P(BackendContract, E_BA_4_RoundingErrorGives64InsteadOf65) {
  given("node n cpu=1 memory=1000\npod p cpu=100m memory=800");
  EXPECT_EQ(raw("p", "n", kBalance), 64);
}

TEST_P(BackendContract, E_BA_5_AFractionAboveOneIsClipped) {
  given("node n cpu=4 memory=16Gi\npod used on=n cpu=4600m\npod p memory=4Gi");
  EXPECT_EQ(raw("p", "n", kBalance), 62);
}

TEST_P(BackendContract, E_BA_6_ThreeFractionsUseTheStandardDeviation) {
  given(
      "config balanced=cpu,memory,vendor.example/gpu\nnode n cpu=4 memory=16000 res:vendor.example/gpu=10\n"
      "pod p cpu=800m memory=6400 res:vendor.example/gpu=9");
  EXPECT_EQ(raw("p", "n", kBalance), 70);
}

TEST_P(BackendContract, E_BA_7_GpusCanBeBalancedWithCpuAndMemory) {
  given(
      "config balanced=cpu,memory,vendor.example/gpu\nnode n cpu=8 memory=16Gi res:vendor.example/gpu=8\n"
      "pod p cpu=2 memory=4Gi res:vendor.example/gpu=6");
  EXPECT_EQ(raw("p", "n", kBalance), 76);
}

TEST_P(BackendContract, E_BA_8_ASingleFractionIsBalanced) {
  given("node n cpu=4\npod p cpu=1500m");
  EXPECT_EQ(raw("p", "n", kBalance), 100);
}

TEST_P(BackendContract, E_BA_9_APodWithoutBalancedResourcesIsNotScored) {
  given("node n cpu=4 memory=16Gi res:vendor.example/gpu=8\npod p\npod gpu res:vendor.example/gpu=1");
  EXPECT_EQ(raw("p", "n", kBalance), -1);
  EXPECT_EQ(raw("gpu", "n", kBalance), -1);
}

TEST_P(BackendContract, E_BA_10_V136ScoresTheChangeOfBalance) {
  given("config release=1.36\nnode n cpu=4 memory=16Gi\npod used on=n cpu=1 memory=2Gi\npod p cpu=500m memory=1Gi");
  EXPECT_EQ(raw("p", "n", kBalance), 73);
}

}  // namespace
}  // namespace berth::test
