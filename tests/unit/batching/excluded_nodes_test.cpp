// SPDX-License-Identifier: Apache-2.0
#include "batching/excluded_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace berth {
namespace {

std::vector<std::int32_t> members_of(const ExcludedNodes& excluded) {
  return {excluded.members().begin(), excluded.members().end()};
}

TEST(ExcludedNodesTest, ContainsEachInsertedNodeOnce) {
  ExcludedNodes excluded;
  for (const std::int32_t node : {64, 3, 700, 64}) excluded.insert(node);
  EXPECT_EQ(members_of(excluded), (std::vector<std::int32_t>{64, 3, 700}));
  for (const std::int32_t node : {64, 3, 700}) EXPECT_TRUE(excluded.contains(node)) << node;
  for (const std::int32_t node : {0, 63, 65, 699, 100000}) EXPECT_FALSE(excluded.contains(node)) << node;
}

TEST(ExcludedNodesTest, ManyNodesAreFoundAsFewAre) {
  ExcludedNodes excluded;
  std::vector<std::int32_t> expected;
  for (std::int32_t i = 0; i < 100; ++i) {
    const std::int32_t node = i * 37 % 101;
    excluded.insert(node);
    excluded.insert(node);
    expected.push_back(node);
    EXPECT_EQ(members_of(excluded), expected);
    for (std::int32_t other = 0; other < 130; ++other)
      EXPECT_EQ(excluded.contains(other), std::find(expected.begin(), expected.end(), other) != expected.end());
  }
  for (const std::int32_t node : {37, 0}) {
    excluded.erase(node);
    std::erase(expected, node);
    EXPECT_FALSE(excluded.contains(node));
  }
  EXPECT_EQ(members_of(excluded), expected);
  excluded.clear();
  for (std::int32_t other = 0; other < 130; ++other) EXPECT_FALSE(excluded.contains(other));
  excluded.insert(7);
  EXPECT_TRUE(excluded.contains(7));
}

TEST(ExcludedNodesTest, AnErasedNodeIsNoMember) {
  ExcludedNodes excluded;
  for (const std::int32_t node : {9, 3, 700}) excluded.insert(node);
  excluded.erase(3);
  excluded.erase(4);
  EXPECT_FALSE(excluded.contains(3));
  EXPECT_EQ(members_of(excluded), (std::vector<std::int32_t>{9, 700}));
}

TEST(ExcludedNodesTest, ClearLeavesAnEmptySet) {
  ExcludedNodes excluded;
  excluded.insert(5);
  excluded.clear();
  EXPECT_TRUE(excluded.empty());
  EXPECT_FALSE(excluded.contains(5));
  excluded.insert(6);
  EXPECT_EQ(members_of(excluded), (std::vector<std::int32_t>{6}));
}

}  // namespace
}  // namespace berth
