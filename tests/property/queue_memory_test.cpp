// SPDX-License-Identifier: Apache-2.0
// What the queue keeps of a pod beyond its object, by the allocator's count, at a million pods.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/queue/queue_plugins.h"
#include "host/queue/scheduling_queue.h"
#include "tests/support/live_heap.h"

namespace berth {
namespace {

constexpr std::uint64_t kPods = 1'000'000;
constexpr double kBytesPerPodMax = 400;

/// Pods of `specs` different requests.
std::vector<PodPtr> make_pods(std::int64_t specs) {
  std::vector<std::shared_ptr<const PodSpec>> shared;
  for (std::int64_t i = 0; i < specs; ++i) {
    PodSpec spec;
    spec.containers.emplace_back();
    spec.containers.back().requests = {{"cpu", Quantity{(i + 1) * 1'000'000}}};
    shared.push_back(std::make_shared<const PodSpec>(std::move(spec)));
  }
  std::vector<PodPtr> pods;
  for (std::uint64_t i = 0; i < kPods; ++i) {
    auto pod = std::make_shared<Pod>();
    pod->name = "pod-" + std::to_string(i);
    pod->spec = shared[i % shared.size()];
    pods.push_back(std::move(pod));
  }
  return pods;
}

class QueueMemoryTest : public testing::TestWithParam<std::int64_t> {};

TEST_P(QueueMemoryTest, AMillionPodsAreSmallWaitingActiveAndInBackoff) {
  if (test::live_heap_bytes() == 0) GTEST_SKIP() << "the allocator of a sanitizer does not count";
  const std::vector<PodPtr> pods = make_pods(GetParam());
  const SchedulerConfig config = default_scheduler_config(FeatureGates());
  const VirtualClock clock(1'000'000);
  QueuePlugins plugins(config, nullptr);
  const std::uint64_t before = test::live_heap_bytes();
  SchedulingQueue queue(plugins.take_profiles(), queue_options(config), clock);
  const auto per_pod = [&] { return static_cast<double>(test::live_heap_bytes() - before) / kPods; };

  for (const PodPtr& pod : pods) queue.add(pod);
  EXPECT_EQ(queue.sizes().active, kPods);
  EXPECT_LT(per_pod(), kBytesPerPodMax);
  RecordProperty("active_bytes", std::to_string(per_pod()));

  for (std::optional<QueuedPodInfo> info = queue.pop(); info && info->attempts == 1; info = queue.pop())
    queue.add_failed(*std::move(info), {.unschedulable = {"NodeResourcesFit"}});
  EXPECT_EQ(queue.sizes().unschedulable, kPods);
  EXPECT_LT(per_pod(), kBytesPerPodMax);
  RecordProperty("unschedulable_bytes", std::to_string(per_pod()));

  auto node = std::make_shared<Node>();
  node->allocatable.milli_cpu = INT64_MAX;
  node->allowed_pod_number = 1;
  queue.move_on_event({EventResource::kNode, EventAction::kAdd}, {.new_node = node});
  EXPECT_EQ(queue.sizes().backoff, kPods);
  EXPECT_LT(per_pod(), kBytesPerPodMax);
  RecordProperty("backoff_bytes", std::to_string(per_pod()));
}

INSTANTIATE_TEST_SUITE_P(Specs, QueueMemoryTest, testing::Values(1000, 1'000'000));

}  // namespace
}  // namespace berth
