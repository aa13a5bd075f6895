// SPDX-License-Identifier: Apache-2.0
// What the object store keeps of a pod beyond its object, by the allocator's count, at a million pods.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/framework/clock.h"
#include "host/store/object_store.h"
#include "tests/support/live_heap.h"

namespace berth {
namespace {

constexpr std::uint64_t kPods = 1'000'000;
constexpr double kBytesPerPodMax = 250;

/// Of objects that a caller would hold without a store: as the store makes them, with a uid of 36 bytes.
std::shared_ptr<Pod> make_pod(std::uint64_t number, const std::shared_ptr<const PodSpec>& spec) {
  auto pod = std::make_shared<Pod>();
  pod->name = "pod-" + std::to_string(number);
  pod->stored_uid = std::string(36, 'u');
  pod->creation_time_us = 1'000'000;
  pod->spec = spec;
  return pod;
}

TEST(StoreMemoryTest, AMillionPodsAreSmallPendingAndBound) {
  if (test::live_heap_bytes() == 0) GTEST_SKIP() << "the allocator of a sanitizer does not count";
  const auto spec = std::make_shared<const PodSpec>();
  const std::uint64_t empty = test::live_heap_bytes();
  std::vector<PodPtr> pods;
  pods.reserve(kPods);
  for (std::uint64_t i = 0; i < kPods; ++i) pods.push_back(make_pod(i, spec));
  const std::uint64_t objects = test::live_heap_bytes() - empty - kPods * sizeof(PodPtr);
  pods = {};

  const VirtualClock clock(1'000'000);
  ObjectStore store(clock);
  const std::uint64_t before = test::live_heap_bytes();
  const auto per_pod = [&] {
    return (static_cast<double>(test::live_heap_bytes() - before) - static_cast<double>(objects)) / kPods;
  };
  for (std::uint64_t i = 0; i < kPods; ++i) store.create<Pod>(make_pod(i, spec));
  EXPECT_EQ(store.count<Pod>(), kPods);
  EXPECT_LT(per_pod(), kBytesPerPodMax);
  RecordProperty("pending_bytes", std::to_string(per_pod()));

  for (std::uint64_t i = 0; i < kPods; ++i)
    store.bind({.namespace_ = "default", .name = "pod-" + std::to_string(i), .node_name = "node-1"});
  EXPECT_EQ(store.resource_version(), 2 * kPods);
  EXPECT_LT(per_pod(), kBytesPerPodMax);
  RecordProperty("bound_bytes", std::to_string(per_pod()));
}

}  // namespace
}  // namespace berth
