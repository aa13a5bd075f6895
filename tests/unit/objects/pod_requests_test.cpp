// SPDX-License-Identifier: Apache-2.0
#include "host/objects/pod_requests.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "host/objects/admission.h"

namespace berth {
namespace {

ResourceList list(std::initializer_list<std::pair<std::string, std::string_view>> entries) {
  ResourceList result;
  for (const auto& [name, text] : entries)
    result.emplace_back(name, Quantity::parse(text).value().rounded_up_to_milli());
  return result;
}

Container container(ResourceList requests, bool is_sidecar = false, std::string name = "c") {
  Container result;
  result.name = std::move(name);
  result.requests = std::move(requests);
  result.restart_always = is_sidecar;
  return result;
}

Pod pod_of(PodSpec spec) {
  Pod pod;
  pod.spec = std::make_shared<const PodSpec>(std::move(spec));
  return pod;
}

constexpr std::int64_t kMi = 1024 * 1024;

TEST(PodRequests, E_Q_6_EntriesAreRoundedBeforeTheyAreAdded) {
  PodSpec spec;
  spec.containers = {container(list({{"cpu", "0.5m"}})), container(list({{"cpu", "0.5m"}}))};
  EXPECT_EQ(filter_requests(pod_of(spec)).milli_cpu, 2);
}

TEST(PodRequests, E_R_1_AnInitContainerCountsWhenItIsLarger) {
  PodSpec spec;
  spec.containers = {container(list({{"cpu", "500m"}, {"memory", "256Mi"}})),
                     container(list({{"cpu", "250m"}, {"memory", "64Mi"}}))};
  spec.init_containers = {container(list({{"cpu", "600m"}, {"memory", "1Gi"}}))};
  const ResourceAmounts amounts = filter_requests(pod_of(spec));
  EXPECT_EQ(amounts.milli_cpu, 750);
  EXPECT_EQ(amounts.memory_bytes, 1073741824);
}

PodSpec example_r_2() {
  PodSpec spec;
  spec.containers = {container(list({{"cpu", "400m"}}))};
  spec.init_containers = {container(list({{"cpu", "300m"}})), container(list({{"cpu", "150m"}}), true),
                          container(list({{"cpu", "700m"}})), container(list({{"cpu", "50m"}}), true)};
  return spec;
}

TEST(PodRequests, E_R_2_SidecarsRunWithLaterInitContainers) {
  EXPECT_EQ(filter_requests(pod_of(example_r_2())).milli_cpu, 850);
}

TEST(PodRequests, E_R_3_OverheadIsAdded) {
  PodSpec spec = example_r_2();
  spec.overhead = list({{"cpu", "120m"}});
  EXPECT_EQ(filter_requests(pod_of(spec)).milli_cpu, 970);
}

TEST(PodRequests, E_R_4_PodLevelRequestsReplaceInTheFilterAndNotInTheScore) {
  PodSpec spec;
  spec.containers = {container(list({{"cpu", "300m"}, {"memory", "128Mi"}})),
                     container(list({{"cpu", "300m"}, {"memory", "128Mi"}}))};
  spec.pod_level_requests = list({{"cpu", "1"}});
  spec.has_pod_level_resources = true;
  spec.overhead = list({{"cpu", "100m"}});
  const Pod pod = pod_of(spec);
  EXPECT_EQ(filter_requests(pod).milli_cpu, 1100);
  EXPECT_EQ(filter_requests(pod).memory_bytes, 268435456);
  EXPECT_EQ(score_requests(pod).milli_cpu, 700);
  EXPECT_EQ(score_requests(pod).memory_bytes, 268435456);
}

TEST(PodRequests, E_R_5_DefaultsFillAbsentNamesPerContainer) {
  PodSpec spec;
  spec.containers = {container(list({{"memory", "64Mi"}})), container({})};
  const Pod pod = pod_of(spec);
  EXPECT_EQ(filter_requests(pod).milli_cpu, 0);
  EXPECT_EQ(filter_requests(pod).memory_bytes, 67108864);
  EXPECT_EQ(score_requests(pod).milli_cpu, 200);
  EXPECT_EQ(score_requests(pod).memory_bytes, 276824064);
}

TEST(PodRequests, E_R_6_AnExplicitZeroStaysZero) {
  PodSpec spec;
  spec.containers = {container(list({{"cpu", "0"}}))};
  const Pod pod = pod_of(spec);
  EXPECT_EQ(filter_requests(pod).milli_cpu, 0);
  EXPECT_EQ(filter_requests(pod).memory_bytes, 0);
  EXPECT_EQ(score_requests(pod).milli_cpu, 0);
  EXPECT_EQ(score_requests(pod).memory_bytes, 209715200);
}

TEST(PodRequests, E_R_7_InitContainersGetDefaultsToo) {
  PodSpec spec;
  spec.containers = {container(list({{"cpu", "200m"}}))};
  spec.init_containers = {container({})};
  const Pod pod = pod_of(spec);
  EXPECT_EQ(score_requests(pod).milli_cpu, 200);
  EXPECT_EQ(score_requests(pod).memory_bytes, 209715200);
}

PodSpec example_r_8(std::vector<Container> containers) {
  PodSpec spec;
  spec.containers = std::move(containers);
  spec.has_pod_level_resources = true;
  spec.pod_level_limits = list({{"cpu", "5"}, {"memory", "1Gi"}});
  apply_spec_defaults(spec);
  return spec;
}

TEST(PodRequests, E_R_8_PodLevelLimitsBecomeRequestsWithoutContainerRequests) {
  const ResourceAmounts a = filter_requests(pod_of(example_r_8({container({})})));
  EXPECT_EQ(a.milli_cpu, 5000);
  EXPECT_EQ(a.memory_bytes, 1073741824);
  const ResourceAmounts b =
      filter_requests(pod_of(example_r_8({container(list({{"cpu", "300m"}})), container(list({{"cpu", "1"}}))})));
  EXPECT_EQ(b.milli_cpu, 1300);
  EXPECT_EQ(b.memory_bytes, 1073741824);
}

TEST(PodRequests, UnsupportedPodLevelNamesAreIgnored) {
  PodSpec spec;
  spec.containers = {container(list({{"a.b/c", "1"}}))};
  spec.pod_level_requests = list({{"a.b/c", "7"}, {"hugepages-2Mi", "4Mi"}});
  const ResourceAmounts amounts = filter_requests(pod_of(spec));
  EXPECT_EQ(amounts.scalar("a.b/c"), 1);
  EXPECT_EQ(amounts.scalar("hugepages-2Mi"), 4 * kMi);
}

TEST(PodRequests, NodeNonZeroDefaultsOnlyNamesMissingFromThePodLevelTotal) {
  PodSpec spec;
  spec.containers = {container(list({{"cpu", "300m"}})), container({})};
  spec.pod_level_requests = list({{"cpu", "1"}});
  const ResourceAmounts amounts = non_zero_requested_on_node(pod_of(spec));
  EXPECT_EQ(amounts.milli_cpu, 1000);
  EXPECT_EQ(amounts.memory_bytes, 2 * 200 * kMi);  // absent everywhere: default per container
  spec.containers[0].requests = list({{"memory", "10Mi"}});
  EXPECT_EQ(non_zero_requested_on_node(pod_of(spec)).memory_bytes, 10 * kMi);
}

TEST(PodRequests, NodeNonZeroWithoutPodLevelDefaultsEveryContainer) {
  PodSpec spec;
  spec.containers = {container(list({{"cpu", "300m"}})), container({})};
  const ResourceAmounts amounts = non_zero_requested_on_node(pod_of(spec));
  EXPECT_EQ(amounts.milli_cpu, 400);
  EXPECT_EQ(amounts.memory_bytes, 400 * kMi);
}

struct StatusResources : testing::Test {
  PodSpec spec;
  PodRare rare;

  StatusResources() {
    spec.containers = {container(list({{"cpu", "1"}}), false, "app")};
    rare.status_resources = {{"app", list({{"cpu", "2"}}), list({{"cpu", "1500m"}}), true}};
  }
  Pod running() const {
    Pod pod = pod_of(spec);
    pod.rare_fields = std::make_unique<const PodRare>(rare);
    return pod;
  }
  std::int64_t by_aggregate() const {
    return pod_requests(running(), {.status_resources = true, .status_resources_by_aggregate = true}).milli_cpu;
  }
};

TEST_F(StatusResources, CountWithTheirMaximumOnlyOnANode) {
  EXPECT_EQ(requested_on_node(running()).milli_cpu, 2000);
  EXPECT_EQ(filter_requests(running()).milli_cpu, 1000);
}

TEST_F(StatusResources, AnInfeasibleResizeExcludesTheSpec) {
  spec.containers[0].requests = list({{"cpu", "9"}});
  EXPECT_EQ(requested_on_node(running()).milli_cpu, 9000);
  rare.resize_infeasible = true;
  EXPECT_EQ(requested_on_node(running()).milli_cpu, 2000);
  EXPECT_EQ(by_aggregate(), 2000);
}

TEST_F(StatusResources, AnEntryWithoutResourcesCountsOnlyInV136) {
  rare.status_resources = {{"app", {}, list({{"cpu", "3"}}), false}};
  EXPECT_EQ(requested_on_node(running()).milli_cpu, 1000);
  EXPECT_EQ(by_aggregate(), 3000);
}

TEST_F(StatusResources, OrdinaryInitContainersCountOnlyInV136) {
  spec.init_containers = {container(list({{"cpu", "1"}}), false, "init"),
                          container(list({{"cpu", "1"}}), true, "sidecar")};
  rare.status_resources = {{"init", list({{"cpu", "8"}}), {}, true}};
  EXPECT_EQ(requested_on_node(running()).milli_cpu, 2000);
  EXPECT_EQ(by_aggregate(), 8000);
  rare.status_resources = {{"sidecar", list({{"cpu", "4"}}), {}, true}};
  EXPECT_EQ(requested_on_node(running()).milli_cpu, 5000);
}

TEST_F(StatusResources, V136TakesTheMaximumOverThePod) {
  spec.containers = {container(list({{"cpu", "3"}}), false, "app"), container(list({{"cpu", "1"}}), false, "other")};
  rare.status_resources = {{"app", list({{"cpu", "1"}}), list({{"cpu", "1"}}), true},
                           {"other", list({{"cpu", "2"}}), list({{"cpu", "2"}}), true}};
  EXPECT_EQ(requested_on_node(running()).milli_cpu, 5000);  // 3 + 2
  EXPECT_EQ(by_aggregate(), 4000);                          // max(3 + 1, 1 + 2)
}

TEST(PodRequests, HugeAmountsSaturate) {
  PodSpec spec;
  spec.containers = {container(list({{"memory", "8Ei"}})), container(list({{"memory", "8Ei"}}))};
  EXPECT_EQ(filter_requests(pod_of(spec)).memory_bytes, std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace berth
