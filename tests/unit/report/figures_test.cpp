// SPDX-License-Identifier: Apache-2.0
#include "host/report/figures.h"

#include <gtest/gtest.h>

#include <limits>

namespace berth {
namespace {

TEST(Figures, GroupsDigitsByThrees) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Figures, UsesTheSingularForOne) {
  EXPECT_EQ(counted(1, "pod", "pods"), "1 pod");
  EXPECT_EQ(counted(0, "pod", "pods"), "0 pods");
  EXPECT_EQ(counted(2000, "pod", "pods"), "2,000 pods");
}

TEST(Figures, WritesCpuAsMillicoresOrCores) {
  EXPECT_EQ(amount_text("cpu", 500), "500m");
  EXPECT_EQ(amount_text("cpu", 1000), "1 core");
  EXPECT_EQ(amount_text("cpu", 80'000'000), "80,000 cores");
  EXPECT_EQ(amount_text("cpu", 80'000'500), "80,000.5 cores");
}

TEST(Figures, WritesBytesForMemoryAndCountsForOthers) {
  EXPECT_EQ(amount_text("memory", 3 * (std::int64_t{1} << 30) / 2), "1.5 GiB");
  EXPECT_EQ(amount_text("hugepages-2Mi", 2 << 20), "2 MiB");
  EXPECT_EQ(amount_text("nvidia.com/gpu", 6212), "6,212");
  EXPECT_EQ(amount_text("memory", -1024), "-1,023 B");
}

TEST(Figures, PicksTheUnitOfADurationAndARate) {
  EXPECT_EQ(duration(0.0000005), "0 us");
  EXPECT_EQ(duration(0.031), "31.0 ms");
  EXPECT_EQ(duration(2.5), "2.50 s");
  EXPECT_EQ(rate(1'240'000), "1.24 million");
  EXPECT_EQ(rate(98'700), "98,700");
  EXPECT_EQ(rate(12.5), "12.5");
}

TEST(Figures, OmitsAnUndefinedShare) {
  EXPECT_EQ(percent(0.413), "41.3 %");
  EXPECT_EQ(percent(std::numeric_limits<double>::quiet_NaN()), "-");
}

}  // namespace
}  // namespace berth
