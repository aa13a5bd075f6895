// SPDX-License-Identifier: Apache-2.0

// How a run selects a device, and what happens when it is missing or fails; the device is emulated.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "batching/device/device_errors.h"
#include "host/objects/errors.h"
#include "host/scheduler/backend_factory.h"
#include "host/scheduler/explainer.h"
#include "host/scheduler/scheduler.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/support/scenario.h"

namespace berth {
namespace {

constexpr const char* kCluster =
    "node n*7 cpu=8 memory=16Gi\npod a*20 cpu=300m\npod b*9 cpu=1 memory=1Gi port=80\npod c*3 cpu=500m memory=2Gi\n"
    "pod d cpu=99\npod e*4 cpu=700m\n";

ScheduleOptions options_for(const test::Scenario& scenario, const std::string& backend) {
  ScheduleOptions options;
  options.config = scenario.config;
  options.engine = scenario.engine;
  options.engine.backend = backend;
  options.engine.batch_pods_max = 5;
  return options;
}

OpenAccelerator emulated(std::int64_t fails_after = -1) {
  return [fails_after](int) {
    test::Emulation emulation;
    emulation.fails_after = fails_after;
    return std::make_unique<test::EmulatedAccelerator>(emulation);
  };
}

std::unique_ptr<Accelerator> no_device(int ordinal) {
  throw DeviceUnavailable("device " + std::to_string(ordinal), "no CUDA device has this number");
}

ScheduleResult run(const std::string& backend, OpenAccelerator open_accelerator, DeviceFailure on_failure) {
  const test::Scenario scenario = test::parse_scenario(kCluster);
  ScheduleOptions options = options_for(scenario, backend);
  options.open_accelerator = std::move(open_accelerator);
  options.engine.on_device_failure = on_failure;
  return schedule(scenario.objects, options);
}

std::vector<std::string> lines_of(const ScheduleResult& result) {
  std::vector<std::string> lines;
  for (const Placement& p : result.placements)
    lines.push_back(p.pod->name + " " + result.node_names[static_cast<std::size_t>(p.node.value)] + " " +
                    std::to_string(p.score));
  for (const Unplaced& u : result.unplaced)
    lines.push_back(u.pod->name + " " + result.messages[static_cast<std::size_t>(u.message)]);
  return lines;
}

std::int64_t launches_of(const ScheduleResult& result) {
  std::int64_t launches = 0;
  for (const DeviceStats::Kernel& kernel : result.stats.device.value().kernels) launches += kernel.launches;
  return launches;
}

TEST(DeviceRunTest, AWorkingDeviceIsUsedAndInTheStats) {
  const ScheduleResult result = run("cuda", emulated(), DeviceFailure::kStop);
  EXPECT_EQ(result.served_by, "cuda-emulated");
  EXPECT_EQ(result.why, "asked for by name");
  ASSERT_TRUE(result.stats.device.has_value());
  EXPECT_GT(launches_of(result), 4);
  EXPECT_GT(result.stats.device->uploaded_bytes, 0u);
  const ScheduleResult cpu = run("cpu", emulated(), DeviceFailure::kStop);
  EXPECT_EQ(lines_of(result), lines_of(cpu));
  EXPECT_FALSE(cpu.stats.device.has_value());
}

TEST(DeviceRunTest, TheDeviceNumberIsForwarded) {
  const test::Scenario scenario = test::parse_scenario(kCluster);
  ScheduleOptions options = options_for(scenario, "cuda");
  options.engine.device_ordinal = 3;
  options.open_accelerator = no_device;
  try {
    schedule(scenario.objects, options);
    FAIL() << "nothing was thrown";
  } catch (const DeviceUnavailable& error) {
    EXPECT_STREQ(error.what(), "device 3: no CUDA device has this number");
  }
}

TEST(DeviceFailureTest, StopForwardsTheError) {
  for (const std::int64_t launches : {0, 1, 4}) {
    try {
      run("cuda", emulated(launches), DeviceFailure::kStop);
      FAIL() << "nothing was thrown after " << launches << " launches";
    } catch (const DeviceLost& error) {
      EXPECT_NE(std::string(error.what()).find("an error was injected"), std::string::npos) << error.what();
    }
  }
}

TEST(DeviceFailureTest, ARerunEqualsCpuWheneverTheDeviceFails) {
  const std::vector<std::string> expected = lines_of(run("cpu", {}, DeviceFailure::kStop));
  const std::int64_t launches = launches_of(run("cuda", emulated(), DeviceFailure::kStop));
  for (std::int64_t fails_after = 0; fails_after < launches; ++fails_after) {
    const ScheduleResult result = run("cuda", emulated(fails_after), DeviceFailure::kRerunOnCpu);
    EXPECT_EQ(lines_of(result), expected) << fails_after;
    EXPECT_EQ(result.served_by, "cpu");
    EXPECT_TRUE(result.why.starts_with("cuda failed: device 0: ")) << result.why;
    EXPECT_TRUE(result.why.ends_with(": an error was injected; fell back to cpu")) << result.why;
    EXPECT_FALSE(result.stats.device.has_value());
    EXPECT_EQ(result.stats.pods, 37);
  }
}

TEST(DeviceFailureTest, InsufficientMemoryIsAFailure) {
  const auto tiny = [](int) { return std::make_unique<test::EmulatedAccelerator>(test::Emulation{64, 1, -1}); };
  EXPECT_THROW(run("cuda", tiny, DeviceFailure::kStop), DeviceOutOfMemory);
  const ScheduleResult result = run("cuda", tiny, DeviceFailure::kRerunOnCpu);
  EXPECT_EQ(result.served_by, "cpu");
  EXPECT_NE(result.why.find("out of memory"), std::string::npos) << result.why;
}

TEST(DeviceFailureTest, WithoutADeviceCpuIsUsedOnlyWhenAllowed) {
  EXPECT_THROW(run("cuda", no_device, DeviceFailure::kStop), DeviceUnavailable);
  const ScheduleResult result = run("cuda", no_device, DeviceFailure::kRerunOnCpu);
  EXPECT_EQ(result.served_by, "cpu");
  EXPECT_EQ(result.why, "cuda cannot be used: device 0: no CUDA device has this number; done by cpu");
  EXPECT_EQ(lines_of(result), lines_of(run("cpu", {}, DeviceFailure::kStop)));
}

TEST(DeviceFailureTest, ABuildWithoutCudaAlwaysRefusesCuda) {
  for (const DeviceFailure on_failure : {DeviceFailure::kStop, DeviceFailure::kRerunOnCpu}) try {
      run("cuda", {}, on_failure);
      FAIL() << "nothing was thrown";
    } catch (const InputError& error) {
      EXPECT_EQ(error.problems().front().message,
                "this build has no CUDA backend; build one with `make cuda`, or use auto, cpu or reference");
    }
}

TEST(DeviceFailureTest, ARerunRestartsItsProgress) {
  const test::Scenario scenario = test::parse_scenario(kCluster);
  ScheduleOptions options = options_for(scenario, "cuda");
  options.open_accelerator = emulated(4);
  options.engine.on_device_failure = DeviceFailure::kRerunOnCpu;
  std::vector<std::size_t> seen;
  options.progress = [&](std::size_t done, std::size_t) { seen.push_back(done); };
  schedule(scenario.objects, options);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), 37u);
  EXPECT_GT(std::count(seen.begin(), seen.end(), 5u), 1) << "the device got beyond the first batch";
}

// auto

/// Objects whose number makes `auto` select the device: one node a million times, and a thousand pod specs.
ClusterObjects large_objects() {
  ClusterObjects objects = test::parse_scenario("node n cpu=4\n").objects;
  const NodePtr node = objects.nodes.front();
  objects.nodes.assign(1'000'000, node);
  for (int i = 0; i < 1000; ++i) {
    auto pod = std::make_shared<Pod>();
    pod->spec = std::make_shared<const PodSpec>();
    objects.pods.push_back(std::move(pod));
  }
  return objects;
}

OpenedBackend open_auto(const ClusterObjects& objects, const OpenAccelerator& open_accelerator) {
  static const test::Scenario scenario = test::parse_scenario("node n cpu=4\n");
  static const auto cache = std::make_shared<const ClusterCache>();
  EngineConfig engine;
  engine.backend = "auto";
  return open_backend(cache, objects, scenario.config, engine, open_accelerator);
}

TEST(AutoTest, SmallWorkOpensNoDevice) {
  const OpenAccelerator refuses = [](int) -> std::unique_ptr<Accelerator> {
    ADD_FAILURE() << "a device was opened";
    return nullptr;
  };
  const OpenedBackend opened = open_auto(test::parse_scenario("node n*2 cpu=4\npod p cpu=1\n").objects, refuses);
  EXPECT_EQ(opened.backend->name(), "cpu");
  EXPECT_EQ(opened.why, "2 nodes x 1 kind of pods is below the gain threshold");
}

TEST(AutoTest, LargeWorkUsesTheDevice) {
  const OpenedBackend opened = open_auto(large_objects(), emulated());
  EXPECT_EQ(opened.backend->name(), "cuda-emulated");
  EXPECT_TRUE(opened.why.starts_with("1000000 nodes x 1000 kinds of pods on device 0 (")) << opened.why;
}

TEST(AutoTest, LargeWorkWithoutADeviceUsesCpuAndSaysWhy) {
  const OpenedBackend opened = open_auto(large_objects(), no_device);
  EXPECT_EQ(opened.backend->name(), "cpu");
  EXPECT_EQ(opened.why, "device 0: no CUDA device has this number");
}

TEST(AutoTest, ABuildWithoutCudaGivesTheReason) {
  const OpenedBackend opened = open_auto(large_objects(), {});
  EXPECT_EQ(opened.backend->name(), "cpu");
  EXPECT_EQ(opened.why, "this build has no CUDA backend");
}

// Explaining

TEST(ExplainerOnDeviceTest, OpensNoDevice) {
  const test::Scenario scenario = test::parse_scenario(kCluster);
  for (const char* backend : {"auto", "cuda"}) {
    ScheduleOptions options = options_for(scenario, backend);
    options.open_accelerator = no_device;
    Explainer explainer(scenario.objects, options);
    EXPECT_EQ(explainer.explain(explainer.pending().front()).nodes.size(), 7u) << backend;
  }
}

TEST(ExplainerOnDeviceTest, ABuildWithoutCudaRefusesCudaLikeSchedule) {
  const test::Scenario scenario = test::parse_scenario(kCluster);
  ScheduleOptions options = options_for(scenario, "cuda");
  options.open_accelerator = {};
  EXPECT_THROW(Explainer(scenario.objects, options), InputError);
}

}  // namespace
}  // namespace berth
