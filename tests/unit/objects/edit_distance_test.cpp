// SPDX-License-Identifier: Apache-2.0
#include "host/objects/edit_distance.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(EditDistance, CountsChangesInsertionsRemovalsAndSwapsOfNeighbours) {
  EXPECT_EQ(edit_distance("", "", 3), 0u);
  EXPECT_EQ(edit_distance("web", "web", 3), 0u);
  EXPECT_EQ(edit_distance("web", "wed", 3), 1u);
  EXPECT_EQ(edit_distance("web", "webs", 3), 1u);
  EXPECT_EQ(edit_distance("web", "eb", 3), 1u);
  EXPECT_EQ(edit_distance("affinity", "affintiy", 3), 1u);
  EXPECT_EQ(edit_distance("", "abc", 3), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 9), 3u);
}

TEST(EditDistance, IsAboveTheLimitWhenItsResultWouldBe) {
  EXPECT_GT(edit_distance("abcdef", "uvwxyz", 2), 2u);
  EXPECT_GT(edit_distance("a", "abcdef", 2), 2u);
  EXPECT_GT(edit_distance("", "abc", 2), 2u);
}

}  // namespace
}  // namespace berth
