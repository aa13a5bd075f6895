// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "batching/device/device_errors.h"
#include "cuda/launch/stream.h"
#include "tests/unit/cuda/device_test.h"
#include "tests/unit/cuda/toolchain_kernels.h"

namespace berth::cuda {
namespace {

using LostDevice = DeviceTest;

TEST_F(LostDevice, FailsTheNextWaitAndEveryLaterOne) {
  const Stream stream;
  write_astray(stream.view());
  EXPECT_THROW(stream.view().synchronize(), DeviceLost);
  EXPECT_THROW(stream.view().synchronize(), DeviceLost);
}

}  // namespace
}  // namespace berth::cuda
