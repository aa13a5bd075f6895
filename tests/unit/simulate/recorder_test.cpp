// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/recorder.h"

#include <gtest/gtest.h>

#include "host/framework/clock.h"

namespace berth {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kStartUs = 1'000 * kSecondUs;

class RecorderTest : public testing::Test {
 protected:
  void add_node(const std::string& name) {
    auto node = std::make_shared<Node>();
    node->name = name;
    node->allocatable.milli_cpu = 4000;
    node->allowed_pod_number = 10;
    store.create<Node>(node);
  }
  void add_pod(const std::string& name) {
    auto spec = std::make_shared<PodSpec>();
    Container container;
    container.requests.emplace_back("cpu", Quantity{std::int64_t{1'000'000'000}});
    spec->containers.push_back(std::move(container));
    auto pod = std::make_shared<Pod>();
    pod->name = name;
    pod->spec = std::move(spec);
    store.create<Pod>(pod);
  }
  void set_phase(const std::string& name, PodPhase phase) {
    PodStatusPatch patch;
    patch.phase = phase;
    ASSERT_TRUE(store.update_status({"default", name}, patch).is_success());
  }
  void bind(const std::string& name, const std::string& node) {
    ASSERT_TRUE(store.bind({"default", name, node, {}, {}}).is_success());
  }
  bool end_instant(int second) {
    const bool has_changed = recorder.read_events();
    recorder.end_instant(kStartUs + second * kSecondUs);
    return has_changed;
  }
  void advance_to(int second) { clock.advance_to(kStartUs + second * kSecondUs); }

  VirtualClock clock{kStartUs};
  ObjectStore store{clock};
  Recorder recorder{store, {"cpu", "memory", "pods"}, kStartUs};
};

TEST_F(RecorderTest, FollowsAPodFromArrivalToEnd) {
  add_node("n");
  add_pod("p");
  EXPECT_TRUE(end_instant(0));
  EXPECT_EQ(recorder.state().pending, 1);
  EXPECT_EQ(recorder.totals().arrived, 1);
  advance_to(10);
  bind("p", "n");
  EXPECT_TRUE(end_instant(10));
  EXPECT_EQ(recorder.state().pending, 0);
  EXPECT_EQ(recorder.state().running, 1);
  EXPECT_EQ(utilisation(recorder.state(), 0), 0.25);
  EXPECT_EQ(utilisation(recorder.state(), 2), 0.1);
  advance_to(30);
  set_phase("p", PodPhase::kSucceeded);
  EXPECT_TRUE(end_instant(30));
  EXPECT_EQ(recorder.state().finished, 1);
  EXPECT_EQ(recorder.state().running, 0);
  EXPECT_EQ(utilisation(recorder.state(), 0), 0);
  store.remove<Pod>({"default", "p"}, {0, {}, {}});
  end_instant(30);
  EXPECT_EQ(recorder.state().removed, 0) << "it had finished";
  ASSERT_EQ(recorder.pods().size(), 1u);
  const SimulatedPod& pod = recorder.pods().front();
  EXPECT_EQ(pod.outcome, PodOutcome::kFinished);
  EXPECT_EQ(pod.placed_us, 10 * kSecondUs);
  EXPECT_EQ(pod.ended_us, 30 * kSecondUs);
  EXPECT_EQ(recorder.mean_utilisation(0, 40 * kSecondUs), 0.125);
}

TEST_F(RecorderTest, ReportsOnAPodAreNoChange) {
  add_pod("p");
  end_instant(0);
  PodStatusPatch patch;
  patch.conditions.push_back({"PodScheduled", ConditionStatus::kFalse, "Unschedulable", "0/0 nodes", 0, 0});
  store.update_status({"default", "p"}, patch);
  EXPECT_FALSE(end_instant(1));
  EXPECT_EQ(recorder.timeline().samples().size(), 1u);
}

TEST_F(RecorderTest, PodsOfADeletedNodeUseNoResources) {
  add_node("n");
  add_node("other");
  add_pod("p");
  bind("p", "n");
  end_instant(0);
  EXPECT_EQ(utilisation(recorder.state(), 0), 0.125);
  store.remove<Node>({{}, "n"});
  end_instant(1);
  EXPECT_EQ(recorder.state().nodes, 1);
  EXPECT_EQ(recorder.state().running, 1);
  EXPECT_EQ(utilisation(recorder.state(), 0), 0);
  add_node("n");
  end_instant(2);
  EXPECT_EQ(utilisation(recorder.state(), 0), 0.125);
}

TEST_F(RecorderTest, EvictedPodsAreCountedAsPreempted) {
  add_node("n");
  add_pod("p");
  bind("p", "n");
  end_instant(0);
  recorder.on_preempted(store.get<Pod>({"default", "p"})->object, nullptr, "n");
  store.remove<Pod>({"default", "p"}, {0, {}, {}});
  end_instant(1);
  EXPECT_EQ(recorder.totals().preempted, 1);
  EXPECT_EQ(recorder.state().removed, 1);
  EXPECT_EQ(recorder.pods().front().outcome, PodOutcome::kPreempted);
}

TEST(WaitTimes, AreNearestRanks) {
  std::vector<SimulatedPod> pods(101);
  for (std::size_t i = 0; i < 100; ++i) pods[i].placed_us = static_cast<std::int64_t>(i + 1);
  const WaitTimes waits = wait_times(pods);
  EXPECT_EQ(waits.count, 100) << "one was never placed";
  EXPECT_EQ(waits.p50_us, 50);
  EXPECT_EQ(waits.p90_us, 90);
  EXPECT_EQ(waits.p99_us, 99);
  EXPECT_EQ(waits.max_us, 100);
  EXPECT_EQ(wait_times({}).count, 0);
}

}  // namespace
}  // namespace berth
