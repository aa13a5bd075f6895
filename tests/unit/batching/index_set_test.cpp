// SPDX-License-Identifier: Apache-2.0
#include "batching/index_set.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(IndexSetTest, ContainsWhatWasInsertedBelowAndAboveOneWord) {
  IndexSet set;
  EXPECT_TRUE(set.empty());
  for (const std::size_t i : {0u, 63u, 64u, 200u}) set.insert(i);
  for (const std::size_t i : {0u, 63u, 64u, 200u}) EXPECT_TRUE(set.contains(i)) << i;
  for (const std::size_t i : {1u, 62u, 65u, 199u, 201u, 5000u}) EXPECT_FALSE(set.contains(i)) << i;
  EXPECT_FALSE(set.empty());
  EXPECT_EQ(set.first_word(), (std::uint64_t{1} << 63) | 1u);
}

TEST(IndexSetTest, SetWithoutSmallIndicesIsNotEmpty) {
  IndexSet set;
  set.insert(64);
  EXPECT_FALSE(set.empty());
}

TEST(IndexSetTest, SetsAreEqualWhateverTheOrderOfInsertion) {
  IndexSet a, b;
  for (const std::size_t i : {70u, 3u, 90u}) a.insert(i);
  for (const std::size_t i : {90u, 70u, 3u}) b.insert(i);
  EXPECT_EQ(a, b);
  b.insert(91);
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace berth
