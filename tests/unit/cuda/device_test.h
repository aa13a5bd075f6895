// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "batching/device/device_errors.h"
#include "batching/device/device_facts.h"
#include "cuda/device_probe.h"

namespace berth::cuda {

/// A test that needs a device: skipped without one, or failed with BERTH_REQUIRE_DEVICE.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      facts = open_device(0);
    } catch (const DeviceUnavailable& error) {
      if (std::getenv("BERTH_REQUIRE_DEVICE") != nullptr) FAIL() << "this machine promises a device: " << error.what();
      GTEST_SKIP() << "needs a device: " << error.what();
    }
  }

  DeviceFacts facts;
};

}  // namespace berth::cuda
