// SPDX-License-Identifier: Apache-2.0
#include "host/objects/thread_count.h"

#include <gtest/gtest.h>
#include <tbb/info.h>

namespace berth {
namespace {

TEST(ThreadCount, ZeroIsOneThreadPerCore) { EXPECT_EQ(thread_count(0), tbb::info::default_concurrency()); }

TEST(ThreadCount, IsWhatWasAskedForUpToTheNumberOfCores) {
  EXPECT_EQ(thread_count(1), 1);
  EXPECT_EQ(thread_count(tbb::info::default_concurrency()), tbb::info::default_concurrency());
  EXPECT_EQ(thread_count(100'000), tbb::info::default_concurrency());
}

}  // namespace
}  // namespace berth
