// SPDX-License-Identifier: Apache-2.0
#include "host/objects/resources.h"

#include <gtest/gtest.h>

#include <limits>

namespace berth {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

Quantity quantity(std::string_view text) { return Quantity::parse(text).value(); }

TEST(ResourceNames, ExtendedNamesHaveAForeignPrefix) {
  EXPECT_TRUE(is_extended_resource("nvidia.com/gpu"));
  EXPECT_TRUE(is_extended_resource("vendor.example/a_B.c-1"));
  for (const auto* name :
       {"cpu", "foo", "hugepages-2Mi", "kubernetes.io/x", "a.kubernetes.io/x", "requests.nvidia.com/gpu", "a/b/c",
        "Vendor.example/x", "vendor.example/-x", "vendor.example/", "/x"}) {
    EXPECT_FALSE(is_extended_resource(name)) << name;
  }
}

TEST(ResourceNames, TheQuotaPrefixCountsForTheLengthLimit) {
  const std::string prefix =
      std::string(60, 'a') + "." + std::string(60, 'b') + "." + std::string(60, 'c') + "." + std::string(61, 'd');
  ASSERT_EQ(prefix.size(), 244u);
  EXPECT_TRUE(is_extended_resource(prefix + "/x"));
  EXPECT_FALSE(is_extended_resource(prefix + "d/x"));
}

TEST(ResourceNames, ScalarsAreExtendedOrNativeByPrefix) {
  for (const auto* name :
       {"hugepages-2Mi", "attachable-volumes-csi-x", "kubernetes.io/batch", "x.kubernetes.io/y", "a.b/c"}) {
    EXPECT_TRUE(is_scalar_resource(name)) << name;
  }
  for (const auto* name : {"cpu", "memory", "ephemeral-storage", "pods", "storage", "foo"}) {
    EXPECT_FALSE(is_scalar_resource(name)) << name;
  }
}

TEST(ToAmounts, CpuIsMilliAndOthersAreUnits) {
  const ResourceAmounts amounts = to_amounts({{"cpu", quantity("1.5")},
                                              {"ephemeral-storage", quantity("1Gi")},
                                              {"memory", quantity("1500m")},
                                              {"nvidia.com/gpu", quantity("2")}});
  EXPECT_EQ(amounts.milli_cpu, 1500);
  EXPECT_EQ(amounts.memory_bytes, 2);
  EXPECT_EQ(amounts.ephemeral_storage_bytes, 1073741824);
  EXPECT_EQ(amounts.scalar("nvidia.com/gpu"), 2);
}

TEST(ToAmounts, UnaccountedNamesAreDropped) {
  const ResourceAmounts amounts =
      to_amounts({{"foo", quantity("1")}, {"pods", quantity("9")}, {"storage", quantity("5")}});
  EXPECT_EQ(amounts, ResourceAmounts{});
}

TEST(ToAmounts, AScalarOfZeroIsPresent) {
  const ResourceAmounts amounts = to_amounts({{"nvidia.com/gpu", quantity("0")}});
  EXPECT_TRUE(amounts.has_scalar("nvidia.com/gpu"));
  EXPECT_FALSE(amounts.has_scalar("amd.com/gpu"));
  EXPECT_EQ(amounts.amount("amd.com/gpu"), 0);
}

TEST(ToAmounts, AmountFindsEveryName) {
  const ResourceAmounts amounts{1, 2, 3, {{"a.b/c", 4}}};
  EXPECT_EQ(amounts.amount("cpu"), 1);
  EXPECT_EQ(amounts.amount("memory"), 2);
  EXPECT_EQ(amounts.amount("ephemeral-storage"), 3);
  EXPECT_EQ(amounts.amount("a.b/c"), 4);
}

TEST(SaturatingAdd, StopsAtTheEndsOfInt64) {
  EXPECT_EQ(saturating_add(kMax, 1), kMax);
  EXPECT_EQ(saturating_add(kMin, -1), kMin);
  EXPECT_EQ(saturating_add(kMax, kMin), -1);
  EXPECT_EQ(saturating_add(2, 3), 5);
}

TEST(FindResource, FindsByNameInASortedList) {
  const ResourceList list = {{"cpu", quantity("1")}, {"memory", quantity("2")}};
  ASSERT_NE(find(list, "memory"), nullptr);
  EXPECT_EQ(find(list, "memory")->value(), 2);
  EXPECT_EQ(find(list, "x"), nullptr);
}

}  // namespace
}  // namespace berth
