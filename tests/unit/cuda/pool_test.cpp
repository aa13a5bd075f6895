// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory/pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "batching/device/device_errors.h"
#include "cuda/memory/device_buffer.h"
#include "tests/unit/cuda/device_test.h"

namespace berth::cuda {
namespace {

constexpr MemoryUse kRows{"rows", "batch.max_classes"};

// Without a device nothing is enqueued on the stream. 0 and nullptr are not streams, so it is some other address.
StreamView stream_without_queue() {
  static char place;
  return StreamView(reinterpret_cast<cudaStream_t>(&place));
}

// Host memory that fails on demand and counts its allocations.
class RefusingMemory : public RawMemory {
 public:
  cudaError_t allocate(void** memory, std::size_t bytes, StreamView) override {
    if (answer != cudaSuccess) return answer;
    *memory = std::malloc(bytes);
    bytes_out += bytes;
    return cudaSuccess;
  }
  void release(void* memory, std::size_t bytes, StreamView) noexcept override {
    std::free(memory);
    bytes_out -= bytes;
  }
  std::optional<std::uint64_t> bytes_free() override { return free; }

  cudaError_t answer = cudaSuccess;
  std::uint64_t bytes_out = 0;
  std::optional<std::uint64_t> free = 5000;
};

class PoolTest : public testing::Test {
 protected:
  PoolTest() : pool(std::unique_ptr<RawMemory>(raw), 1000, "device 0") {}

  std::optional<DeviceOutOfMemory> refusal_of(std::size_t bytes) {
    try {
      pool.release(pool.allocate(bytes, stream, kRows), bytes, stream);
      return std::nullopt;
    } catch (const DeviceOutOfMemory& error) {
      return error;
    }
  }

  RefusingMemory* raw = new RefusingMemory;  // the pool owns it
  Pool pool;
  StreamView stream = stream_without_queue();
};

TEST_F(PoolTest, AllocationsAndReleasesAreCounted) {
  {
    DeviceBuffer<std::int64_t> first(10, stream, pool, kRows);
    const DeviceBuffer<char> second(20, stream, pool, kRows);
    EXPECT_EQ(pool.counts().bytes_in_use, 100U);
    first.reset(1);
    EXPECT_EQ(pool.counts().bytes_in_use, 28U);
  }
  const PoolCounts counts = pool.counts();
  EXPECT_EQ(counts.allocation_count, 3U);
  EXPECT_EQ(counts.release_count, 3U);
  EXPECT_EQ(counts.bytes_in_use, 0U);
  EXPECT_EQ(counts.bytes_peak, 100U);
  EXPECT_EQ(raw->bytes_out, 0U);
}

TEST_F(PoolTest, TheLimitFitsAndOneByteMoreDoesNot) {
  EXPECT_FALSE(refusal_of(1000).has_value());
  const auto refusal = refusal_of(1001);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(std::string(refusal->what()),
            "device 0: out of memory: rows needs 1.0 kB, 1.0 kB free; lower batch.max_classes");
  EXPECT_EQ(refusal->needed_bytes(), 1001U);
  EXPECT_EQ(refusal->free_bytes(), 1000U);
}

TEST_F(PoolTest, TheLimitCoversAllBuffers) {
  const DeviceBuffer<char> held(400, stream, pool);
  EXPECT_FALSE(refusal_of(600).has_value());
  ASSERT_TRUE(refusal_of(601).has_value());
  EXPECT_EQ(refusal_of(601)->free_bytes(), 600U);
}

TEST_F(PoolTest, AFailedDeviceAllocationDoesNotChangeThePool) {
  const DeviceBuffer<char> held(100, stream, pool);
  raw->answer = cudaErrorMemoryAllocation;
  raw->free = 50;
  const auto refusal = refusal_of(200);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->free_bytes(), 50U);
  EXPECT_EQ(pool.counts().bytes_in_use, 100U);
  EXPECT_EQ(pool.counts().allocation_count, 1U);
  raw->answer = cudaSuccess;
  EXPECT_FALSE(refusal_of(200).has_value());
}

TEST_F(PoolTest, AnotherErrorIsNotReportedAsOutOfMemory) {
  raw->answer = cudaErrorIllegalAddress;
  EXPECT_THROW(pool.allocate(8, stream, kRows), DeviceLost);
  EXPECT_EQ(pool.counts().bytes_in_use, 0U);
}

TEST_F(PoolTest, ZeroBytesAllocateNothing) {
  DeviceBuffer<std::int64_t> empty(0, stream, pool);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_TRUE(empty.span().empty());
  EXPECT_EQ(pool.counts().allocation_count, 0U);
}

TEST_F(PoolTest, AnOverflowingSizeIsRefused) {
  EXPECT_THROW((DeviceBuffer<std::int64_t>(SIZE_MAX / 8 + 2, stream, pool)), DeviceOutOfMemory);
}

TEST_F(PoolTest, ABufferThatFailedToGrowIsEmptyAndUsable) {
  DeviceBuffer<char> buffer(100, stream, pool);
  EXPECT_THROW(buffer.reset(2000), DeviceOutOfMemory);
  EXPECT_EQ(buffer.size(), 0U);
  buffer.reset(1000);
  EXPECT_EQ(buffer.size(), 1000U);
}

TEST_F(PoolTest, AMovedBufferIsReleasedOnce) {
  DeviceBuffer<char> from(100, stream, pool);
  DeviceBuffer<char> to(50, stream, pool);
  to = std::move(from);
  const DeviceBuffer<char> last(std::move(to));
  EXPECT_EQ(last.size(), 100U);
  EXPECT_EQ(pool.counts().bytes_in_use, 100U);
  EXPECT_EQ(pool.counts().release_count, 1U);
}

using DevicePool = DeviceTest;

TEST_F(DevicePool, MoreThanTheDeviceMemoryIsRefusedAndLessStillWorks) {
  const Stream stream;
  Pool pool(facts, UINT64_MAX);
  EXPECT_THROW(pool.allocate(2 * facts.memory_bytes_total, stream.view(), kRows), DeviceOutOfMemory);
  const DeviceBuffer<char> buffer(1 << 20, stream.view(), pool);
  EXPECT_NE(buffer.data(), nullptr);
  stream.view().synchronize();
}

}  // namespace
}  // namespace berth::cuda
