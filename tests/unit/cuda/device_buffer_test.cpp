// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory/device_buffer.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "cuda/memory/pinned_buffer.h"
#include "tests/unit/cuda/device_test.h"

namespace berth::cuda {
namespace {

static_assert(!std::is_copy_constructible_v<DeviceBuffer<int>>);
static_assert(!std::is_copy_constructible_v<PinnedBuffer<int>>);
static_assert(std::is_nothrow_move_constructible_v<DeviceBuffer<int>>);

TEST(PinnedBuffer, WithoutElementsNeedsNoDevice) {
  const PinnedBuffer<int> buffer(0);
  EXPECT_TRUE(buffer.span().empty());
}

using DeviceBufferOnDevice = DeviceTest;

TEST_F(DeviceBufferOnDevice, RoundTripsItsContent) {
  const Stream stream;
  Pool pool(facts, 1 << 20);
  std::vector<std::int32_t> sent(1000);
  std::iota(sent.begin(), sent.end(), 0);
  DeviceBuffer<std::int32_t> first(sent.size(), stream.view(), pool);
  DeviceBuffer<std::int32_t> second(sent.size(), stream.view(), pool);
  PinnedBuffer<std::int32_t> received(sent.size());
  upload(sent, first.span(), stream.view());
  copy_on_device(first.span(), second.span(), stream.view());
  fill_bytes(second.span().first(1), 0xff, stream.view());
  download(second.span(), received.span(), stream.view());
  stream.view().synchronize();
  sent[0] = -1;
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), received.span().begin()));
}

TEST_F(DeviceBufferOnDevice, CopyingZeroBytesSucceeds) {
  const Stream stream;
  Pool pool(facts, 0);
  DeviceBuffer<int> empty(0, stream.view(), pool);
  upload({}, empty.span(), stream.view());
  fill_bytes(empty.span(), 0, stream.view());
  stream.view().synchronize();
}

}  // namespace
}  // namespace berth::cuda
