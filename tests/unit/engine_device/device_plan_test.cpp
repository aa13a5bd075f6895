// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_plan.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "batching/device/device_errors.h"
#include "host/engine/device/device_backend.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth {
namespace {

TEST(DevicePlanTest, EntriesEndInOne) {
  EXPECT_EQ(entries_in_order(0), 0u);
  EXPECT_EQ(entries_in_order(1), 1u);
  EXPECT_EQ(entries_in_order(8), 9u);
  EXPECT_EQ(entries_in_order(9), 9u + 2 + 1);
  EXPECT_EQ(entries_in_order(64), 64u + 8 + 1);
}

/// Places two pods of two classes and returns the bytes on the device afterwards.
std::uint64_t allocated_bytes(std::int32_t nodes, const test::Emulation& emulation = {}) {
  const test::Scenario scenario =
      test::parse_scenario("node n*" + std::to_string(nodes) + " cpu=4 memory=8Gi\npod p cpu=1\npod q cpu=2\n");
  const auto cache = test::fill_cache(scenario.objects);
  DeviceBackend backend(std::make_unique<test::EmulatedAccelerator>(emulation), cache, scenario.objects,
                        scenario.config, scenario.engine);
  std::vector<PodToPlace> pods;
  for (const PodPtr& pod : scenario.pending()) pods.push_back({pod, 0, -1});
  backend.compile(pods);
  backend.commit_batch(pods, {});
  return backend.accelerator().allocated_bytes();
}

DeviceShape shape_of(std::uint64_t nodes) {
  DeviceShape shape;
  shape.nodes = nodes;
  shape.rows = 2;
  shape.launch_pods = 2;
  return shape;
}

TEST(DevicePlanTest, APlanListsEverythingThatGrowsWithTheNodes) {
  const auto unplanned = [](std::uint64_t nodes) {
    return allocated_bytes(static_cast<std::int32_t>(nodes)) - plan_device(shape_of(nodes)).total();
  };
  // Parameters of classes and layouts remain, which are the same for any number of nodes.
  EXPECT_LT(unplanned(1000), 8192u);
  EXPECT_LT(unplanned(5000), 8192u);
}

TEST(DevicePlanTest, AClusterThatDoesNotFitIsRefusedWithNeededAndAvailableBytes) {
  test::Emulation emulation;
  emulation.memory_bytes = plan_device(shape_of(1000)).total() / 2;
  try {
    allocated_bytes(1000, emulation);
    FAIL() << "expected DeviceOutOfMemory";
  } catch (const DeviceOutOfMemory& error) {
    EXPECT_GT(error.needed_bytes(), emulation.memory_bytes);
    EXPECT_LE(error.free_bytes().value_or(0), emulation.memory_bytes);
    EXPECT_NE(std::string(error.what()).find("columns of 1000 nodes"), std::string::npos) << error.what();
  }
}

TEST(DevicePlanTest, ColumnsThatFillMostOfADeviceCanBeUploadedAgain) {
  test::Scenario scenario = test::parse_scenario("node n*1000 cpu=4 memory=8Gi\npod p cpu=1\npod q cpu=2\n");
  const auto cache = test::fill_cache(scenario.objects);
  scenario.engine.device_memory_bytes_max = plan_device(shape_of(1000)).row_bytes;
  test::Emulation emulation;
  emulation.memory_bytes = plan_device(shape_of(1000)).total() + 8192;
  DeviceBackend backend(std::make_unique<test::EmulatedAccelerator>(emulation), cache, scenario.objects,
                        scenario.config, scenario.engine);
  for (const PodPtr& pod : scenario.pending()) {
    std::vector<PodToPlace> pods{{pod, 0, -1}};
    backend.compile(pods);
    const BatchResult placed = backend.commit_batch(pods, {});
    ASSERT_EQ(placed.outcomes.front().kind, OutcomeKind::kPlaced);
    auto changed = std::make_shared<Node>(*scenario.objects.nodes.front());
    changed->unschedulable = true;
    backend.apply(std::vector<ClusterChange>{NodeUpsert(changed)});
  }
}

}  // namespace
}  // namespace berth
