// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_probe.h"

#include <gtest/gtest.h>

#include <string>

#include "batching/device/device_errors.h"
#include "tests/unit/cuda/device_test.h"

namespace berth::cuda {
namespace {

// The reason why there is no device, or nothing when there is one.
std::string reason_without_device() {
  try {
    return list_devices().empty() ? "an empty list" : "";
  } catch (const DeviceUnavailable& error) {
    return error.what();
  }
}

TEST(DeviceProbe, AMachineWithoutADeviceGivesTheReason) {
  const std::string reason = reason_without_device();
  if (reason.empty()) GTEST_SKIP() << "needs a machine without a device";
  EXPECT_TRUE(reason.starts_with("no CUDA device: ") || reason.starts_with("the NVIDIA driver is too old: ")) << reason;
  EXPECT_THROW(open_device(0), DeviceUnavailable);
  EXPECT_THROW(use_device(0), DeviceUnavailable);
}

TEST(DeviceProbe, ADeviceNumberOutOfRangeIsUnavailable) { EXPECT_THROW(open_device(1000), DeviceUnavailable); }

using OpenDevice = DeviceTest;

TEST_F(OpenDevice, HasPlausibleProperties) {
  EXPECT_FALSE(facts.name.empty());
  EXPECT_GE(facts.sm, 80);
  EXPECT_GT(facts.multiprocessor_count, 0);
  EXPECT_GT(facts.memory_bytes_free, 0U);
  EXPECT_LE(facts.memory_bytes_free, facts.memory_bytes_total);
  EXPECT_GE(facts.driver_version, facts.runtime_version / 1000 * 1000);
  EXPECT_EQ(facts.has_clusters, facts.sm >= 90);
  EXPECT_TRUE(facts.has_cooperative_launch);
}

TEST_F(OpenDevice, IsTheListedDevice) {
  const DeviceFacts listed = list_devices().at(0);
  EXPECT_EQ(listed.name, facts.name);
  EXPECT_EQ(listed.memory_bytes_total, facts.memory_bytes_total);
  EXPECT_EQ(listed.memory_bytes_free, 0U);
}

}  // namespace
}  // namespace berth::cuda
