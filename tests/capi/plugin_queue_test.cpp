// SPDX-License-Identifier: Apache-2.0
// What plugins by C ABI say to a queue of berth.h.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/capi/answers.h"
#include "tests/capi/scripted_plugin.h"

namespace berth::test {
namespace {

OwnedQueue queue_of(berth_cluster* cluster) {
  berth_queue* queue = nullptr;
  EXPECT_EQ(berth_queue_create(cluster, nullptr, &queue, nullptr), BERTH_OK);
  return OwnedQueue(queue);
}

std::uint64_t size(berth_queue* queue, std::uint32_t place) {
  std::uint64_t count = 99;
  EXPECT_EQ(berth_queue_size(queue, place, &count, nullptr), BERTH_OK);
  return count;
}

void node_came(berth_queue* queue, const std::string& node) {
  EXPECT_EQ(berth_queue_node_changed(queue, nullptr, 0, node.data(), node.size(), nullptr), BERTH_OK);
}

TEST(PluginQueue, HintsSayWhichEventHelps) {
  Script script = by_pool();
  script.queueing_hint = [&script](berth_plugin_call* call, Script::Pod, const berth_plugin_change* change) {
    const bool helps = change->new_node != nullptr && script.name(call, change->new_node) == "good";
    return helps ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
  };
  const OwnedCluster cluster = cluster_with(script);
  const OwnedPod pod = pod_of(cluster.get(), pod_with("p", "red"));
  const OwnedQueue queue = queue_of(cluster.get());
  ASSERT_EQ(berth_queue_add(queue.get(), pod.get(), nullptr), BERTH_OK);
  berth_pod* tried = nullptr;
  ASSERT_EQ(berth_queue_pop(queue.get(), &tried, nullptr), BERTH_OK);
  const OwnedPod popped(tried);
  ASSERT_EQ(berth_queue_fail(queue.get(), tried, "Scripted", nullptr, nullptr), BERTH_OK);
  node_came(queue.get(), node_with("bad", "red"));
  EXPECT_EQ(size(queue.get(), BERTH_QUEUE_UNSCHEDULABLE), 1U);
  node_came(queue.get(), node_with("good", "red"));
  EXPECT_EQ(size(queue.get(), BERTH_QUEUE_UNSCHEDULABLE), 0U);
}

TEST(PluginQueue, PreEnqueueKeepsAPodOut) {
  Script script = by_pool();
  bool is_open = false;
  script.pre_enqueue = [&](berth_plugin_call* call, Script::Pod) -> std::int32_t {
    if (is_open) return kOk;
    script.host->add_reason(call, "the gate is closed");
    return BERTH_CODE_UNSCHEDULABLE;
  };
  const OwnedCluster cluster = cluster_with(script);
  const OwnedPod pod = pod_of(cluster.get(), pod_with("p", "red"));
  const OwnedQueue queue = queue_of(cluster.get());
  ASSERT_EQ(berth_queue_add(queue.get(), pod.get(), nullptr), BERTH_OK);
  EXPECT_EQ(size(queue.get(), BERTH_QUEUE_GATED), 1U);
  is_open = true;
  node_came(queue.get(), node_with("n", "red"));
  EXPECT_EQ(size(queue.get(), BERTH_QUEUE_GATED), 0U);
  EXPECT_EQ(size(queue.get(), BERTH_QUEUE_ACTIVE), 1U);
}

}  // namespace
}  // namespace berth::test
