// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/backend_choice.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/scenario.h"

namespace berth {
namespace {

constexpr WorkShape kLarge{100'000, 2048, false};

DeviceFacts h100() {
  DeviceFacts facts;
  facts.name = "NVIDIA H100 80GB HBM3";
  facts.ordinal = 1;
  return facts;
}

TEST(BackendChoiceTest, LargeWorkUsesTheDeviceAndNamesIt) {
  const BackendChoice choice = choose_backend(kLarge, h100(), "");
  EXPECT_EQ(choice.backend, "cuda");
  EXPECT_EQ(choice.why, "100000 nodes x 2048 kinds of pods on device 1 (NVIDIA H100 80GB HBM3)");
}

TEST(BackendChoiceTest, SmallWorkStaysOnTheHostForAnyDevice) {
  for (const bool with_device : {false, true}) {
    const BackendChoice choice =
        choose_backend({500, 3, false}, with_device ? std::optional(h100()) : std::nullopt, "");
    EXPECT_EQ(choice.backend, "cpu");
    EXPECT_EQ(choice.why, "500 nodes x 3 kinds of pods is below the gain threshold");
  }
  EXPECT_EQ(choose_backend({1, 1, false}, h100(), "").why, "1 node x 1 kind of pods is below the gain threshold");
}

TEST(BackendChoiceTest, TheReasonForAMissingDeviceIsForwarded) {
  const BackendChoice choice = choose_backend(kLarge, std::nullopt, "no CUDA device: no NVIDIA driver is installed");
  EXPECT_EQ(choice.backend, "cpu");
  EXPECT_EQ(choice.why, "no CUDA device: no NVIDIA driver is installed");
}

TEST(BackendChoiceTest, WorkThatADeviceCannotDoDoesNotCount) {
  WorkShape work = kLarge;
  work.pod_by_pod = true;
  EXPECT_FALSE(may_gain(work));
  EXPECT_EQ(choose_backend(work, h100(), "").backend, "cpu");
}

TEST(BackendChoiceTest, BothThresholdsApply) {
  const GainThresholds thresholds{10, 1000};
  EXPECT_TRUE(may_gain({100, 10, false}, thresholds));
  EXPECT_FALSE(may_gain({99, 10, false}, thresholds));
  EXPECT_FALSE(may_gain({1000, 9, false}, thresholds));
  EXPECT_TRUE(may_gain({91, 11, false}, thresholds)) << "1001 evaluations";
  EXPECT_FALSE(may_gain({90, 11, false}, thresholds)) << "990 evaluations";
  EXPECT_FALSE(may_gain({1 << 30, 0, false}, thresholds)) << "no pod at all";
  EXPECT_FALSE(may_gain({0, 0, false}));
}

TEST(WorkShapeTest, CountsDistinctSpecsOfPendingPods) {
  const test::Scenario scenario =
      test::parse_scenario("node n*3 cpu=4\npod a*5 cpu=1\npod b*2 cpu=2\npod c on=n0 cpu=500m\n");
  const WorkShape work = work_shape(scenario.objects, scenario.engine);
  EXPECT_EQ(work.nodes, 3);
  EXPECT_FALSE(work.pod_by_pod);
  EXPECT_EQ(work.kinds_of_pods, 2);
}

TEST(WorkShapeTest, SamplingAndKubeTieBreakPlacePodByPod) {
  EngineConfig engine;
  EXPECT_FALSE(work_shape({}, engine).pod_by_pod);
  engine.tie_break = TieBreak::kFirst;
  EXPECT_FALSE(work_shape({}, engine).pod_by_pod);
  engine.tie_break = TieBreak::kKube;
  EXPECT_TRUE(work_shape({}, engine).pod_by_pod);
  engine.tie_break = TieBreak::kRandom;
  engine.node_sampling = NodeSampling::kKube;
  EXPECT_TRUE(work_shape({}, engine).pod_by_pod);
}

}  // namespace
}  // namespace berth
