// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

constexpr const char* kNodes = "node a cpu=4 memory=8Gi res:example.com/x=4 label:disk=ssd\nnode b cpu=4 memory=8Gi\n";

std::vector<std::int32_t> classes_of(const std::string& pods) {
  test::CompiledCluster cluster(kNodes + pods);
  std::vector<std::int32_t> classes;
  for (const PodToPlace& pod : cluster.pods) classes.push_back(pod.class_index);
  return classes;
}

TEST(ClassTableTest, EqualSpecsShareAClass) {
  const auto classes =
      classes_of("pod p*2 cpu=1 memory=1Gi\npod q cpu=1 memory=1Gi\npod r cpu=1000m memory=1024Mi priority=9\n");
  EXPECT_EQ(std::set<std::int32_t>(classes.begin(), classes.end()).size(), 1u);
}

TEST(ClassTableTest, EveryFieldThatARuleReadsSplitsClasses) {
  const auto classes = classes_of(
      "pod p cpu=1\npod q cpu=2\npod r cpu=1 memory=1\npod s cpu=1 select:disk=ssd\npod t cpu=1 tolerate=a\n"
      "pod u cpu=1 need=disk:Exists\npod v cpu=1 prefer=1:disk:Exists\npod w cpu=1 port=80\npod x cpu=1 image=app\n"
      "pod y cpu=1 overhead:cpu=1\npod z cpu=1 restarts-all\npod sidecar cpu=1 sidecar cpu=1\npod init cpu=1 init "
      "cpu=1\n"
      "pod level cpu=1 pod-level:cpu=1\npod scalar cpu=1 res:example.com/x=1\n");
  EXPECT_EQ(std::set<std::int32_t>(classes.begin(), classes.end()).size(), classes.size());
}

TEST(ClassTableTest, ClassesThatDifferOnlyInRequestsShareTheirNodeSide) {
  test::CompiledCluster cluster(std::string(kNodes) +
                                "pod p cpu=1 select:disk=ssd\npod q cpu=2 port=80 select:disk=ssd\npod r cpu=1\n");
  EXPECT_EQ(&cluster.row_of(0), &cluster.row_of(1));
  EXPECT_NE(&cluster.row_of(0), &cluster.row_of(2));
}

TEST(ClassTableTest, EachProfileHasItsOwnClasses) {
  test::Scenario scenario = test::parse_scenario(std::string(kNodes) + "pod p cpu=1\n");
  scenario.config.profiles.push_back(scenario.config.profiles.front());
  scenario.config.profiles.back().scheduler_name = "second";
  const EngineCluster cluster(test::fill_cache(scenario.objects), scenario.objects);
  Snapshot snapshot(cluster.cache());
  ClassTable table(cluster, scenario.config, scenario.engine, snapshot);
  std::vector<PodToPlace> pods{{scenario.pending().front(), 0, -1}, {scenario.pending().front(), 1, -1}};
  table.compile(pods);
  EXPECT_NE(pods[0].class_index, pods[1].class_index);
  EXPECT_EQ(table[pods[1].class_index].profile, 1);
}

TEST(ClassTableTest, CompilingAgainGivesTheSameClass) {
  test::CompiledCluster cluster(std::string(kNodes) + "pod p cpu=1\npod q cpu=2\n");
  std::vector<PodToPlace> again = cluster.pods;
  for (PodToPlace& pod : again) pod.class_index = -1;
  cluster.table.compile(again);
  for (std::size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].class_index, cluster.pods[i].class_index);
  EXPECT_EQ(cluster.table.size(), 2);
}

TEST(ClassTableTest, APodThatNeedsAnUnsupportedPluginGetsAnErrorAndNoClass) {
  test::CompiledCluster cluster(std::string(kNodes) +
                                "pod p resource-claim=a\npod q resource-claim=gpu\npod r resource-claim=a cpu=3\n");
  for (const PodToPlace& pod : cluster.pods) EXPECT_TRUE(ClassTable::is_error(pod.class_index));
  EXPECT_EQ(cluster.pods[0].class_index, cluster.pods[2].class_index) << "equal texts are kept once";
  EXPECT_NE(cluster.pods[0].class_index, cluster.pods[1].class_index);
  EXPECT_NE(cluster.table.error(cluster.pods[0].class_index).find("\"a\""), std::string::npos);
  EXPECT_NE(cluster.table.error(cluster.pods[1].class_index).find("\"DynamicResources\""), std::string::npos);
  EXPECT_EQ(cluster.table.size(), 0);
}

TEST(ClassTableTest, AnEqualPodWithoutTheClaimIsNoError) {
  test::Scenario scenario = test::parse_scenario(std::string(kNodes) + "pod p cpu=1 resource-claim=gpu\n");
  const EngineCluster cluster(test::fill_cache(scenario.objects), scenario.objects);
  Snapshot snapshot(cluster.cache());
  ClassTable table(cluster, scenario.config, scenario.engine, snapshot);
  auto twin = std::make_shared<Pod>();
  twin->name = "twin";
  twin->spec = scenario.pending().front()->spec;
  std::vector<PodToPlace> pods{{scenario.pending().front(), 0, -1}, {twin, 0, -1}, {scenario.pending().front(), 0, -1}};
  table.compile(pods);
  EXPECT_TRUE(ClassTable::is_error(pods[0].class_index));
  EXPECT_FALSE(ClassTable::is_error(pods[1].class_index));
  EXPECT_TRUE(ClassTable::is_error(pods[2].class_index));
}

TEST(ClassTableTest, IgnoredResourcesAreNotRequested) {
  test::CompiledCluster cluster(std::string("config ignored=example.com/x\n") + kNodes +
                                "pod p cpu=1 res:example.com/x=1\n");
  ASSERT_EQ(cluster.class_of(0).requested.size(), 1u);
  EXPECT_EQ(cluster.class_of(0).requested.front().name, "cpu");
}

TEST(ClassTableTest, RequestedResourcesAreInTheOrderOfTheirReasons) {
  test::CompiledCluster cluster(std::string(kNodes) +
                                "pod p res:example.com/z=1 res:example.com/a=1 ephemeral=1 memory=1 cpu=1\n");
  std::vector<std::string> names;
  for (const RequestedResource& requested : cluster.class_of(0).requested) names.push_back(requested.name);
  EXPECT_EQ(names, (std::vector<std::string>{"cpu", "memory", "ephemeral-storage", "example.com/a", "example.com/z"}));
}

TEST(ClassTableTest, AClassHasTheAmountsThatAPodAddsToANode) {
  test::CompiledCluster cluster(std::string(kNodes) + "pod p cpu=1 res:example.com/x=2\n");
  const PodClass& pod_class = cluster.class_of(0);
  const std::int32_t x = cluster.snapshot.ensure_resource("example.com/x", cluster.cluster.cache());
  EXPECT_EQ(pod_class.delta.requested,
            (std::vector<std::pair<std::int32_t, std::int64_t>>{{kCpuColumn, 1000}, {x, 2}}));
  EXPECT_EQ(pod_class.delta.non_zero_milli_cpu, 1000);
  EXPECT_EQ(pod_class.delta.non_zero_memory_bytes, 200ll << 20);
}

TEST(ClassTableTest, ALaterColumnIsInTheDeltasOfEarlierClasses) {
  test::CompiledCluster cluster(std::string("config ignored=example.com/x\n") + kNodes + "pod p res:example.com/x=2\n");
  EXPECT_TRUE(cluster.class_of(0).delta.requested.empty());
  const std::int32_t x = cluster.snapshot.ensure_resource("example.com/x", cluster.cluster.cache());
  cluster.table.recompile();
  EXPECT_EQ(cluster.class_of(0).delta.requested, (std::vector<std::pair<std::int32_t, std::int64_t>>{{x, 2}}));
}

TEST(ClassTableTest, AmountsFrom2To43NeedInteger64) {
  test::CompiledCluster cluster(std::string(kNodes) + "pod p memory=8796093022207\npod q memory=8796093022208\n");
  EXPECT_FALSE(cluster.class_of(0).needs_int64);
  EXPECT_TRUE(cluster.class_of(1).needs_int64);
}

TEST(ClassTableTest, TheDrawsDependOnTheSeedAndNotOnTheOrderOfClasses) {
  test::CompiledCluster first(std::string("engine seed=1\n") + kNodes + "pod p cpu=1\npod q cpu=2\n");
  test::CompiledCluster other_order(std::string("engine seed=1\n") + kNodes + "pod q cpu=2\npod p cpu=1\n");
  test::CompiledCluster other_seed(std::string("engine seed=2\n") + kNodes + "pod p cpu=1\npod q cpu=2\n");
  EXPECT_EQ(first.class_of(0).draw_seed, other_order.class_of(1).draw_seed);
  EXPECT_NE(first.class_of(0).draw_seed, first.class_of(1).draw_seed);
  EXPECT_NE(first.class_of(0).draw_seed, other_seed.class_of(0).draw_seed);
}

TEST(CompiledProfileTest, RanksFollowTheFilterListAndAbsentPluginsAreDisabled) {
  test::CompiledCluster cluster(std::string("config disable=NodePorts\n") + kNodes);
  const CompiledProfile& profile = cluster.profile();
  EXPECT_LT(profile.rank<NodeUnschedulable>(), profile.rank<NodeName>());
  EXPECT_LT(profile.rank<TaintToleration>(), profile.rank<NodeAffinityRule>());
  EXPECT_LT(profile.rank<NodeAffinityRule>(), profile.rank<NodeResourcesFit>());
  EXPECT_EQ(profile.rank<NodePorts>(), kNotEnabled);
  EXPECT_EQ(profile.rank<NodeDeclaredFeatures>(), kNotEnabled) << "its gate is off";
}

TEST(CompiledProfileTest, WeightsAreTakenFromTheConfiguration) {
  test::CompiledCluster cluster(std::string("config weight=NodeAffinity:7 disable=ImageLocality\n") + kNodes);
  EXPECT_EQ(cluster.profile().weight<NodeAffinityRule>(), 7);
  EXPECT_EQ(cluster.profile().weight<ImageLocality>(), 0);
  EXPECT_EQ(cluster.profile().weight<NodeResourcesFit>(), 1);
  EXPECT_TRUE(cluster.profile().scores_anything);
}

}  // namespace
}  // namespace berth
