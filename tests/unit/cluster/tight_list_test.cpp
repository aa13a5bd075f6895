// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/tight_list.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace berth {
namespace {

std::vector<std::unique_ptr<int>> list_of(int size) {
  std::vector<std::unique_ptr<int>> list;
  for (int i = 0; i < size; ++i) {
    make_tight_room(list);
    list.push_back(std::make_unique<int>(i));
  }
  return list;
}

TEST(TightList, GrowsByAnEighth) {
  const auto list = list_of(1000);
  EXPECT_LE(list.capacity(), 1000U + 1000U / 8);
}

TEST(TightList, GivesBackTheRoomOfALongerState) {
  auto list = list_of(1000);
  list.resize(100);
  give_back_room(list);
  EXPECT_EQ(list.capacity(), 112U);
  ASSERT_EQ(list.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*list[static_cast<std::size_t>(i)], i);
}

TEST(TightList, KeepsRoomForTwoSteps) {
  std::vector<std::unique_ptr<int>> list;
  list.reserve(20);
  for (int i = 0; i < 12; ++i) list.push_back(std::make_unique<int>(i));
  give_back_room(list);
  EXPECT_EQ(list.capacity(), 20U);
  list.pop_back();
  give_back_room(list);
  EXPECT_EQ(list.capacity(), 15U);
}

}  // namespace
}  // namespace berth
