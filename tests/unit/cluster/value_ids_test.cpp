// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/value_ids.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth {
namespace {

std::vector<std::int32_t> defined_since(const ValueIds& ids, std::uint64_t known) {
  std::vector<std::int32_t> defined;
  ids.for_each_defined_since(known, [&](std::int32_t id) { defined.push_back(id); });
  return defined;
}

TEST(ValueIdsTest, EqualValuesShareANumber) {
  ValueIds ids;
  EXPECT_EQ(ids.add("a"), 1);
  EXPECT_EQ(ids.add("b"), 2);
  EXPECT_EQ(ids.add("a"), 1);
  EXPECT_EQ(ids.end(), 3);
  EXPECT_EQ(ids.value(2), "b");
}

TEST(ValueIdsTest, ANumberIsFreeWhenItsLastNodeLosesTheValueAndThenMeansAnother) {
  ValueIds ids;
  ids.add("a");
  ids.add("a");
  ids.add("b");
  const std::uint64_t known = ids.definition_count();
  ids.drop(1);
  EXPECT_EQ(ids.add("c"), 3) << "one node still has a";
  ids.drop(1);
  EXPECT_EQ(ids.add("d"), 1);
  EXPECT_EQ(ids.value(1), "d");
  EXPECT_EQ(defined_since(ids, known), (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(ids.add("a"), 4) << "it had to be defined again";
}

TEST(ValueIdsTest, DroppingNothingHasNoEffect) {
  ValueIds ids;
  ids.drop(0);
  EXPECT_EQ(ids.end(), 1);
}

TEST(ValueIdsTest, ALongHistoryIsDroppedAndReportsEveryNumber) {
  ValueIds ids;
  ids.add("stays");
  const std::uint64_t known = ids.definition_count();
  for (int i = 0; i < 1000; ++i) ids.drop(ids.add("v" + std::to_string(i)));
  EXPECT_EQ(ids.end(), 3) << "one number served all of them";
  EXPECT_EQ(ids.definition_count(), known + 1000);
  const std::vector<std::int32_t> defined = defined_since(ids, known);
  EXPECT_LT(defined.size(), 200u);
  EXPECT_EQ(std::vector<std::int32_t>(defined.begin(), defined.begin() + 2), (std::vector<std::int32_t>{1, 2}));
}

}  // namespace
}  // namespace berth
