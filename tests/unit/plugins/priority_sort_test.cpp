// SPDX-License-Identifier: Apache-2.0
// The examples of docs/behaviour/plugins-node.md 3.

#include "plugins/priority_sort/priority_sort.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

struct Entry {
  std::int32_t priority = 0;
  std::int64_t timestamp_us = 0;
};

bool comes_first(Entry a, Entry b) {
  Pod pod_a, pod_b;
  pod_a.priority = a.priority;
  pod_b.priority = b.priority;
  return PrioritySort().less({&pod_a, a.timestamp_us}, {&pod_b, b.timestamp_us});
}

TEST(PrioritySort, E_PS_1_HigherPriorityFirst) {
  EXPECT_TRUE(comes_first({100, 9}, {0, 1}));
  EXPECT_FALSE(comes_first({0, 1}, {100, 9}));
}

TEST(PrioritySort, E_PS_2_TheEarlierPodComesFirstAtEqualPriority) {
  EXPECT_FALSE(comes_first({0, 5}, {0, 4}));
  EXPECT_TRUE(comes_first({0, 4}, {0, 5}));
}

TEST(PrioritySort, E_PS_3_AMissingPriorityIsZero) {
  EXPECT_FALSE(comes_first({-10, 1}, {0, 8}));
  EXPECT_TRUE(comes_first({0, 8}, {-10, 1}));
}

TEST(PrioritySort, E_PS_4_NeitherPrecedesWithEqualKeys) { EXPECT_FALSE(comes_first({7, 3}, {7, 3})); }

}  // namespace
}  // namespace berth
