// SPDX-License-Identifier: Apache-2.0
// Compiles pod specs into the input of the rules.
#include "plugins/image_locality/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "plugins/node_declared_features/compile.h"
#include "plugins/node_ports/compile.h"
#include "plugins/node_resources_fit/compile.h"
#include "plugins/node_unschedulable/compile.h"
#include "plugins/taint_toleration/compile.h"

namespace berth {
namespace {

// TaintToleration

Toleration toleration(std::string key, TolerationOperator op, std::string value = "",
                      std::optional<TaintEffect> effect = {}) {
  return {std::move(key), op, std::move(value), effect};
}
constexpr TaintEffect kHard = TaintEffect::kNoSchedule;
constexpr TaintEffect kEvict = TaintEffect::kNoExecute;
constexpr TaintEffect kSoft = TaintEffect::kPreferNoSchedule;

struct TaintCase {
  const char* name;
  std::vector<Taint> taints;
  std::vector<Toleration> tolerations;
  bool gate;
  bool passes;
  std::int64_t raw;
};

class TaintTableTest : public testing::TestWithParam<TaintCase> {};

TEST_P(TaintTableTest, FilterAndScoreMatchTheTable) {
  const TaintCase& given = GetParam();
  const std::vector<std::vector<Taint>> sets{{}, given.taints};
  const CompiledTaintToleration compiled = compile_taint_toleration(given.tolerations, sets, given.gate);
  EXPECT_TRUE(TaintToleration::feasible(compiled.params(), 0));
  EXPECT_EQ(TaintToleration::score(compiled.params(), 0), 0);
  EXPECT_EQ(TaintToleration::feasible(compiled.params(), 1), given.passes);
  EXPECT_EQ(given.passes ? TaintToleration::score(compiled.params(), 1) : given.raw, given.raw);
}

INSTANTIATE_TEST_SUITE_P(
    Spec, TaintTableTest,
    testing::Values(
        TaintCase{
            "E_TT_1", {{"a", "1", kHard}}, {toleration("a", TolerationOperator::kEqual, "1", kHard)}, false, true, 0},
        TaintCase{"E_TT_2",
                  {{"a", "1", kHard}, {"b", "", kEvict}},
                  {toleration("a", TolerationOperator::kExists)},
                  false,
                  false,
                  0},
        TaintCase{"E_TT_3",
                  {{"a", "1", kSoft}, {"b", "2", kSoft}},
                  {toleration("a", TolerationOperator::kExists, "", kHard)},
                  false,
                  true,
                  2},
        TaintCase{"E_TT_4",
                  {{"a", "1", kSoft}, {"b", "2", kSoft}},
                  {toleration("b", TolerationOperator::kEqual, "2")},
                  false,
                  true,
                  1},
        TaintCase{"E_TT_5",
                  {{"a", "1", kHard}, {"c", "3", kSoft}},
                  {toleration("", TolerationOperator::kExists)},
                  false,
                  true,
                  0},
        TaintCase{
            "E_TT_6_off", {{"lvl", "5", kHard}}, {toleration("lvl", TolerationOperator::kGt, "3")}, false, false, 0},
        TaintCase{"E_TT_6_on", {{"lvl", "5", kHard}}, {toleration("lvl", TolerationOperator::kGt, "3")}, true, true, 0},
        TaintCase{
            "OtherValue", {{"a", "1", kHard}}, {toleration("a", TolerationOperator::kEqual, "2")}, false, false, 0},
        TaintCase{"OtherEffect",
                  {{"a", "1", kEvict}},
                  {toleration("a", TolerationOperator::kExists, "", kHard)},
                  false,
                  false,
                  0},
        TaintCase{"EmptyKeyComparesValues",
                  {{"a", "1", kHard}},
                  {toleration("", TolerationOperator::kEqual, "1")},
                  false,
                  true,
                  0},
        TaintCase{"EmptyKeyOtherValue",
                  {{"a", "1", kHard}},
                  {toleration("", TolerationOperator::kEqual, "")},
                  false,
                  false,
                  0},
        TaintCase{"OneSoftTaintCountsOnce", {{"a", "1", kSoft}}, {}, false, true, 1}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(TolerationTest, OnlyCanonicalIntegersAreCompared) {
  const auto gt = [](const std::string& bound, const std::string& value) {
    return tolerates(toleration("k", TolerationOperator::kGt, bound), {"k", value, kHard}, true);
  };
  EXPECT_TRUE(gt("3", "4"));
  EXPECT_FALSE(gt("3", "3"));
  EXPECT_TRUE(gt("-5", "-4"));
  for (const char* odd : {"+4", "04", "-0", " 4", "4 ", "", "four", "9223372036854775808"}) {
    EXPECT_FALSE(gt("3", odd)) << odd;
    EXPECT_FALSE(gt(odd, "99")) << odd;
  }
}

TEST(TolerationTest, LtComparesTheTaintsValue) {
  const Toleration lt = toleration("k", TolerationOperator::kLt, "10");
  EXPECT_TRUE(tolerates(lt, {"k", "9", kHard}, true));
  EXPECT_FALSE(tolerates(lt, {"k", "10", kHard}, true));
  EXPECT_FALSE(tolerates(lt, {"k", "9", kHard}, false)) << "the gate is off";
}

TEST(NodeUnschedulableTest, OnlyATolerationOfTheCordonTaintCounts) {
  const std::string key = "node.kubernetes.io/unschedulable";
  const auto passes = [&](std::vector<Toleration> tolerations) {
    return NodeUnschedulable::feasible(compile_node_unschedulable(tolerations, false), true);
  };
  EXPECT_TRUE(NodeUnschedulable::feasible(compile_node_unschedulable({}, false), false));
  EXPECT_FALSE(passes({}));
  EXPECT_TRUE(passes({toleration("", TolerationOperator::kExists)}));
  EXPECT_FALSE(passes({toleration(key, TolerationOperator::kExists, "", kEvict)}));
  EXPECT_TRUE(passes({toleration(key, TolerationOperator::kEqual, "", kHard)}));
  EXPECT_FALSE(passes({toleration(key, TolerationOperator::kEqual, "true", kHard)}));
}

// NodePorts

TEST(NodePortsTest, E_NP_TheIPv4WildcardConflictsWithEveryAddressOfItsProtocolAndPort) {
  const auto conflict = [](const HostPort& used, const HostPort& wanted) {
    return ports_conflict(std::vector{wanted}, std::vector{used});
  };
  EXPECT_FALSE(conflict({"127.0.0.1", "TCP", 8080}, {"127.0.0.2", "TCP", 8080}));
  EXPECT_TRUE(conflict({"127.0.0.1", "TCP", 8080}, {"0.0.0.0", "TCP", 8080}));
  EXPECT_TRUE(conflict({"0.0.0.0", "TCP", 8080}, {"10.0.0.1", "TCP", 8080}));
  EXPECT_FALSE(conflict({"0.0.0.0", "TCP", 53}, {"0.0.0.0", "UDP", 53}));
  EXPECT_FALSE(conflict({"127.0.0.1", "TCP", 80}, {"::", "TCP", 80}));
  EXPECT_TRUE(conflict({"0.0.0.0", "TCP", 80}, {"::", "TCP", 80}));
  EXPECT_TRUE(conflict({"::", "TCP", 80}, {"::", "TCP", 80}));
  EXPECT_FALSE(conflict({"0.0.0.0", "TCP", 80}, {"0.0.0.0", "TCP", 81}));
}

// ImageLocality

TEST(ImageNameTest, ATagIsAddedOnlyWithoutAColonAfterTheLastSlash) {
  EXPECT_EQ(normalized_image_name("app"), "app:latest");
  EXPECT_EQ(normalized_image_name("reg.example:5000/app"), "reg.example:5000/app:latest");
  EXPECT_EQ(normalized_image_name("app@sha256:00"), "app@sha256:00");
  EXPECT_EQ(normalized_image_name("r/app:v1"), "r/app:v1");
  EXPECT_EQ(normalized_image_name("reg.example:5000/app:v1"), "reg.example:5000/app:v1");
  EXPECT_EQ(normalized_image_name(""), ":latest");
}

TEST(ImageLocalityTest, ScoresDifferWhereSomeSetOfImagesScoresDifferently) {
  constexpr std::int64_t kMiB = 1024 * 1024;
  PodSpec spec;
  spec.containers.resize(2);
  const auto differ = [&](const std::vector<ImageSpread>& before, const std::vector<ImageSpread>& after) {
    return image_scores_may_differ(spec, before, after);
  };
  const ImageSpread rare{40 * kMiB, 5, 100};
  EXPECT_FALSE(differ({rare, rare}, {{40 * kMiB, 6, 101}, rare})) << "too small to count, alone and together";
  const ImageSpread common{900 * kMiB, 50, 100};
  EXPECT_FALSE(differ({common}, {{900 * kMiB, 5000, 10000}})) << "the same share";
  EXPECT_TRUE(differ({common}, {{900 * kMiB, 50, 110}}));
  const ImageSpread half{40 * kMiB, 50, 100};
  EXPECT_TRUE(differ({half, half}, {{44 * kMiB, 50, 100}, {44 * kMiB, 50, 100}})) << "together they count";
  EXPECT_TRUE(differ(std::vector<ImageSpread>(9, rare), std::vector<ImageSpread>(9, rare))) << "too many to compare";
}

// NodeResourcesFit

FitStrategy strategy_of(std::vector<ShapePoint> shape) {
  NodeResourcesFitArgs args;
  args.strategy = ScoringStrategyType::kRequestedToCapacityRatio;
  args.shape = std::move(shape);
  ClusterCache cache;
  Snapshot snapshot(cache);
  return compile_fit_strategy(args, snapshot, cache);
}

TEST(FitStrategyTest, E_RS_9_AShapeIsConstantOutsideItsPointsAndTruncatesBetween) {
  const auto f = strategy_of({{20, 3}, {60, 9}}).score_of_utilization;
  EXPECT_EQ((std::vector<std::int32_t>{f[0], f[21], f[37], f[60], f[100]}),
            (std::vector<std::int32_t>{30, 31, 55, 90, 90}));
}

TEST(FitStrategyTest, E_RS_7_AShapeMayDecrease) {
  const auto f = strategy_of({{0, 0}, {70, 10}, {100, 0}}).score_of_utilization;
  EXPECT_EQ((std::vector<std::int32_t>{f[70], f[80], f[85], f[99], f[100]}),
            (std::vector<std::int32_t>{100, 67, 50, 4, 0}));
}

TEST(FitStrategyTest, ASinglePointIsAConstant) {
  const auto f = strategy_of({{50, 4}}).score_of_utilization;
  EXPECT_EQ(f[0], 40);
  EXPECT_EQ(f[100], 40);
}

TEST(RequestedTest, IgnoredNamesAndGroupsApplyToExtendedResourcesOnly) {
  NodeResourcesFitArgs args;
  args.ignored_resources = {"example.com/a", "cpu", "memory"};
  args.ignored_resource_groups = {"vendor.example"};
  ResourceAmounts amounts;
  amounts.milli_cpu = 1;
  amounts.memory_bytes = 2;
  amounts.scalars = {{"example.com/a", 1},
                     {"example.com/b", 1},
                     {"hugepages-2Mi", 4},
                     {"vendor.example/gpu", 1},
                     {"zero.example/z", 0}};
  ClusterCache cache;
  Snapshot snapshot(cache);
  std::vector<std::string> names;
  for (const RequestedResource& requested : compile_requested(amounts, args, snapshot, cache)) {
    names.push_back(requested.name);
    EXPECT_TRUE(requested.column >= 0 || requested.name == "example.com/b" || requested.name == "hugepages-2Mi");
  }
  EXPECT_EQ(names, (std::vector<std::string>{"cpu", "memory", "example.com/b", "hugepages-2Mi"}));
}

TEST(RequestedTest, AScalarIsScoredOnlyWhenRequested) {
  ResourceAmounts amounts;
  amounts.scalars = {{"example.com/a", 3}};
  const std::vector<ScoredResource> scored{{"cpu", kCpuColumn, 1}, {"example.com/a", 3, 1}, {"example.com/b", 4, 1}};
  const auto requests = compile_scored_requests(amounts, scored);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_TRUE(requests[0].counts) << "cpu counts even at 0";
  EXPECT_TRUE(requests[1].counts);
  EXPECT_EQ(requests[1].amount, 3);
  EXPECT_FALSE(requests[2].counts);
}

// NodeDeclaredFeatures

TEST(DeclaredFeaturesTest, RestartAllContainersNeedsItsFeature) {
  PodSpec spec;
  spec.containers.emplace_back();
  EXPECT_TRUE(needed_features(spec).empty());
  spec.init_containers.emplace_back().restarts_all_containers = true;
  const auto needed = needed_features(spec);
  ASSERT_EQ(needed.size(), 1u);
  Node node;
  EXPECT_EQ(missing_features(needed, node), needed);
  node.declared_features = needed;
  EXPECT_TRUE(missing_features(needed, node).empty());
}

TEST(DeclaredFeaturesTest, OnlyV135NamesTheFeaturesInItsReason) {
  EXPECT_EQ(missing_features_reason({"A", "B"}, Release::k1_35),
            "node declared features check failed - unsatisfied requirements: A, B");
  EXPECT_EQ(missing_features_reason({"A"}, Release::k1_36), "node(s) didn't match Pod's required features");
}

}  // namespace
}  // namespace berth
