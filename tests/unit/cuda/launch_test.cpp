// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "batching/device/device_errors.h"
#include "cuda/launch/stream.h"
#include "cuda/memory/device_buffer.h"
#include "tests/unit/cuda/device_test.h"
#include "tests/unit/cuda/toolchain_kernels.h"

namespace berth::cuda {
namespace {

// 0 and nullptr are not streams, so it is some other address.
StreamView made_up_stream() {
  static char place;
  return StreamView(reinterpret_cast<cudaStream_t>(&place));
}

TEST(Launch, EmptyLaunchNeedsNoDevice) {
  EXPECT_NO_THROW(sum_by_blocks({}, nullptr, made_up_stream()));
  EXPECT_NO_THROW(sum_cluster_ranks({}, 8, made_up_stream()));
  EXPECT_NO_THROW(count_across_grid(nullptr, {}, made_up_stream()));
}

class LaunchOnDevice : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    stream.emplace();
    pool.emplace(facts, std::uint64_t{1} << 24);
  }

  template <class T>
  DeviceBuffer<T> zeros(std::size_t size) {
    DeviceBuffer<T> buffer(size, stream->view(), *pool);
    fill_bytes(buffer.span(), 0, stream->view());
    return buffer;
  }

  template <class T>
  std::vector<T> contents_of(const DeviceBuffer<T>& buffer) {
    std::vector<T> contents(buffer.size());
    download(buffer.span(), std::span(contents), stream->view());
    stream->view().synchronize();
    return contents;
  }

  std::optional<Stream> stream;
  std::optional<Pool> pool;
};

TEST_F(LaunchOnDevice, CubReducesBelowAtAndAboveAWarpAndABlock) {
  for (const std::size_t count : {1U, 31U, 32U, 33U, 255U, 256U, 257U, 5000U}) {
    std::vector<std::int64_t> values(count, 3);
    DeviceBuffer<std::int64_t> d_values(count, stream->view(), *pool);
    upload(values, d_values.span(), stream->view());
    DeviceBuffer<std::int64_t> d_sum = zeros<std::int64_t>(1);
    sum_by_blocks(d_values.span(), d_sum.data(), stream->view());
    EXPECT_EQ(contents_of(d_sum)[0], static_cast<std::int64_t>(3 * count)) << count;
  }
}

TEST_F(LaunchOnDevice, BlocksOfAClusterSeeOneAnother) {
  if (!facts.has_clusters)
    GTEST_SKIP() << "needs thread block clusters (sm_90), which " << device_text(facts) << " has not";
  DeviceBuffer<std::int32_t> d_sums = zeros<std::int32_t>(8);
  sum_cluster_ranks(d_sums.span(), 4, stream->view());
  EXPECT_EQ(contents_of(d_sums), (std::vector<std::int32_t>{6, 6, 6, 6, 22, 22, 22, 22}));
}

TEST_F(LaunchOnDevice, BlocksOfACooperativeGridWaitForOneAnother) {
  DeviceBuffer<std::int32_t> d_count = zeros<std::int32_t>(1);
  DeviceBuffer<std::int32_t> d_seen = zeros<std::int32_t>(16);
  count_across_grid(d_count.data(), d_seen.span(), stream->view());
  EXPECT_EQ(contents_of(d_seen), std::vector<std::int32_t>(16, 16));
}

TEST_F(LaunchOnDevice, ProductAndSumAreRoundedSeparately) {
  // 1 + 2^-27 squared is 1 + 2^-26 + 2^-54; the last part is lost in the product, but not in a fused multiply-add.
  const double a = 1.0 + 0x1p-27;
  DeviceBuffer<double> d_result = zeros<double>(1);
  multiply_add(a, a, -(1.0 + 0x1p-26), d_result.data(), stream->view());
  EXPECT_EQ(contents_of(d_result)[0], 0.0);
}

TEST_F(LaunchOnDevice, AFailedLaunchNamesItsKernelAndTheDeviceStaysUsable) {
  DeviceBuffer<std::int32_t> d_count = zeros<std::int32_t>(1);
  DeviceBuffer<std::int32_t> d_seen = zeros<std::int32_t>(1 << 20);  // more blocks than any device holds at once
  try {
    count_across_grid(d_count.data(), d_seen.span(), stream->view());
    ADD_FAILURE() << "a grid that does not fit was launched";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("launch of grid_kernel"), std::string::npos) << error.what();
  }
  EXPECT_EQ(contents_of(d_count)[0], 0);
}

}  // namespace
}  // namespace berth::cuda
