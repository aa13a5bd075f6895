// SPDX-License-Identifier: Apache-2.0
#include "host/objects/pod_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

Pod pod_with(PodPhase phase, std::string node_name) {
  Pod pod;
  pod.phase = phase;
  pod.node_name = std::move(node_name);
  return pod;
}

TEST(PodStateTest, APodIsPendingOrOnItsNodeUntilItFinishes) {
  for (const PodPhase phase : {PodPhase::kPending, PodPhase::kRunning, PodPhase::kUnknown}) {
    EXPECT_TRUE(is_pending(pod_with(phase, "")));
    EXPECT_FALSE(is_on_node(pod_with(phase, "")));
    EXPECT_TRUE(is_on_node(pod_with(phase, "n")));
    EXPECT_FALSE(is_pending(pod_with(phase, "n")));
    EXPECT_FALSE(is_finished(pod_with(phase, "n")));
  }
}

TEST(PodStateTest, AFinishedPodIsNeitherPendingNorOnANode) {
  for (const PodPhase phase : {PodPhase::kSucceeded, PodPhase::kFailed})
    for (const std::string node : {"", "n"}) {
      EXPECT_TRUE(is_finished(pod_with(phase, node)));
      EXPECT_FALSE(is_pending(pod_with(phase, node)));
      EXPECT_FALSE(is_on_node(pod_with(phase, node)));
      EXPECT_EQ(is_assigned(pod_with(phase, node)), !node.empty());
    }
}

TEST(HeapBytesTest, CountsBlocksOfTheAllocatorAndNothingForWhatLiesInPlace) {
  EXPECT_EQ(heap_bytes(std::string()), 0u);
  EXPECT_EQ(heap_bytes(std::string(15, 'x')), 0u);
  EXPECT_EQ(heap_bytes(std::string(16, 'x')), 32u) << "17 bytes and the allocator's 8, in blocks of 16";
  EXPECT_EQ(heap_bytes(std::vector<int>()), 0u);
  EXPECT_EQ(heap_bytes(std::vector<int>(2)), 16u);
  EXPECT_EQ(heap_bytes(std::vector<int>(3)), 32u);
}

TEST(HeapBytesTest, CountsNodesOfMapsAndBucketsOfSets) {
  EXPECT_EQ(heap_bytes(std::map<int, int>()), 0u);
  EXPECT_EQ(heap_bytes(std::map<int, int>{{1, 1}, {2, 2}}), 2 * 48u)
      << "32 bytes of links, 8 of the entry, 8 of the allocator";
  const tsl::robin_set<std::int64_t> set = {1, 2, 3};
  EXPECT_EQ(heap_bytes(set), heap_block_bytes(set.bucket_count() * 16));
}

TEST(HeapBytesTest, AddsUpSeveralContainers) {
  EXPECT_EQ(heap_bytes(std::vector<int>(2), std::vector<int>(3), std::string(16, 'x')), 16u + 32u + 32u);
}

}  // namespace
}  // namespace berth
