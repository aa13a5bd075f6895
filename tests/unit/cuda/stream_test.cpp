// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/stream.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "cuda/launch/event.h"
#include "cuda/launch/ranges.h"
#include "tests/unit/cuda/device_test.h"

namespace berth::cuda {
namespace {

// A stream must be named: nothing creates the default one by accident.
static_assert(!std::is_default_constructible_v<StreamView>);
static_assert(!std::is_constructible_v<StreamView, int>);
static_assert(!std::is_constructible_v<StreamView, std::nullptr_t>);
static_assert(!std::is_convertible_v<cudaStream_t, StreamView>);
static_assert(!std::is_copy_constructible_v<Stream>);

TEST(Ranges, AreFreeWithoutAProfiler) {
  const StepRange<BuildRowsStep> outer;
  const StepRange<CommitStep> inner;
}

TEST(Stream, WithoutADeviceIsUnavailable) {
  try {
    const Stream stream;
    GTEST_SKIP() << "needs a machine without a device";
  } catch (const DeviceUnavailable& error) {
    EXPECT_FALSE(error.problem().empty());
  }
}

using StreamOnDevice = DeviceTest;

TEST_F(StreamOnDevice, EventsAreReachedInOrder) {
  Stream first;
  const Stream second;
  Event begin(EventTiming::kOn), end(EventTiming::kOn);
  begin.record(first.view());
  begin.hold(second.view());
  end.record(second.view());
  end.synchronize();
  EXPECT_TRUE(begin.is_passed());
  EXPECT_GE(end.elapsed_us_since(begin), 0.0);
  const StreamView view = first.view();
  const Stream moved = std::move(first);
  EXPECT_EQ(moved.view(), view);
}

}  // namespace
}  // namespace berth::cuda
