// SPDX-License-Identifier: Apache-2.0
// kube-scheduler's queue for programs that decide themselves: docs/behaviour/scheduler-core.md 1.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/answers.h"

namespace berth::test {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

class QueueTest : public testing::Test {
 protected:
  void SetUp() override { open("SchedulerPopFromBackoffQ=false"); }
  void open(const char* gates) {
    berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
    options.backend = "cpu";
    options.feature_gates = gates;
    berth_engine* engine = nullptr;
    berth_error error = BERTH_ERROR_INIT;
    ASSERT_EQ(berth_engine_create(&options, &engine, &error), BERTH_OK) << error.text;
    const OwnedEngine owned(engine);
    berth_cluster* made = nullptr;
    ASSERT_EQ(berth_cluster_create(engine, &made, nullptr), BERTH_OK);
    queue_.reset();
    cluster_.reset(made);
    berth_queue* queue = nullptr;
    ASSERT_EQ(berth_queue_create(made, nullptr, &queue, nullptr), BERTH_OK);
    queue_.reset(queue);
  }
  OwnedPod pod(const PodShape& shape) { return pod_of(cluster_.get(), pod_json(shape)); }
  OwnedPod added(const PodShape& shape) {
    OwnedPod made = pod(shape);
    EXPECT_EQ(berth_queue_add(queue_.get(), made.get(), nullptr), BERTH_OK);
    return made;
  }
  /// null: no pod is ready
  const berth_pod* pop() {
    berth_pod* popped = nullptr;
    EXPECT_EQ(berth_queue_pop(queue_.get(), &popped, nullptr), BERTH_OK);
    const berth_pod* const added = popped;
    berth_pod_free(&popped);  // it has other owners
    return added;
  }
  void fail(const OwnedPod& pod, const char* rejectors, const char* pending = nullptr) {
    EXPECT_EQ(berth_queue_fail(queue_.get(), pod.get(), rejectors, pending, nullptr), BERTH_OK);
  }
  void advance_to(double seconds) {
    EXPECT_EQ(berth_queue_advance(queue_.get(), static_cast<std::int64_t>(seconds * 1e6), nullptr), BERTH_OK);
  }
  std::uint64_t size(std::uint32_t place) {
    std::uint64_t count = 99;
    EXPECT_EQ(berth_queue_size(queue_.get(), place, &count, nullptr), BERTH_OK);
    return count;
  }
  void node_changed(const std::string& before, const std::string& after) {
    EXPECT_EQ(berth_queue_node_changed(queue_.get(), before.data(), before.size(), after.data(), after.size(), nullptr),
              BERTH_OK);
  }

  OwnedCluster cluster_;
  OwnedQueue queue_;
};

TEST_F(QueueTest, PodsComeByPriorityAndThenByWhoWaitsLongest) {
  const OwnedPod first = added({.name = "first"});
  advance_to(1);
  const OwnedPod second = added({.name = "second"});
  const OwnedPod high = added({.name = "high", .priority = 5});
  EXPECT_EQ(size(BERTH_QUEUE_ACTIVE), 3U);
  EXPECT_EQ(pop(), high.get()) << "the handle that was added";
  EXPECT_EQ(pop(), first.get());
  EXPECT_EQ(size(BERTH_QUEUE_TRIED), 2U);
  EXPECT_EQ(pop(), second.get());
  EXPECT_EQ(pop(), nullptr);
  EXPECT_EQ(berth_queue_done(queue_.get(), first.get(), nullptr), BERTH_OK);
  EXPECT_EQ(size(BERTH_QUEUE_TRIED), 2U);
  EXPECT_EQ(berth_queue_remove(queue_.get(), second.get(), nullptr), BERTH_OK);
  EXPECT_EQ(size(BERTH_QUEUE_TRIED), 1U);
}

TEST_F(QueueTest, ARefusedPodWaitsForWhatMayHelpAndThenForItsBackoff) {
  const OwnedPod pod = added({.name = "p", .milli_cpu = 4000});
  ASSERT_EQ(pop(), pod.get());
  fail(pod, "NodeResourcesFit");
  EXPECT_EQ(size(BERTH_QUEUE_UNSCHEDULABLE), 1U);
  node_changed("", node_json({.name = "small", .cpu = 2}));
  EXPECT_EQ(size(BERTH_QUEUE_UNSCHEDULABLE), 1U) << "it is too small for the pod";
  node_changed("", node_json({.name = "large", .cpu = 8}));
  EXPECT_EQ(size(BERTH_QUEUE_BACKOFF), 1U);
  EXPECT_EQ(pop(), nullptr);
  std::int64_t now_us = 0;
  std::int64_t next_us = 0;
  EXPECT_EQ(berth_queue_times(queue_.get(), &now_us, &next_us, nullptr), BERTH_OK);
  EXPECT_EQ(now_us, 0);
  EXPECT_GT(next_us, 0);
  advance_to(2);
  EXPECT_EQ(pop(), pod.get());
  fail(pod, "NodeResourcesFit");
  node_changed(node_json({.name = "small", .cpu = 2}), node_json({.name = "small", .cpu = 4}));
  advance_to(3);
  EXPECT_EQ(pop(), nullptr) << "the second backoff takes two seconds";
  advance_to(5);
  EXPECT_EQ(pop(), pod.get());
  EXPECT_EQ(berth_queue_times(queue_.get(), nullptr, &next_us, nullptr), BERTH_OK);
  EXPECT_EQ(next_us, INT64_MAX) << "no pod waits";
}

TEST_F(QueueTest, WhatHappensWhileAPodIsTriedCountsWhenItFails) {
  const OwnedPod pod = added({.name = "p", .milli_cpu = 4000});
  ASSERT_EQ(pop(), pod.get());
  node_changed("", node_json({.name = "large", .cpu = 8}));
  fail(pod, "NodeResourcesFit");
  EXPECT_EQ(size(BERTH_QUEUE_BACKOFF), 1U);
}

TEST_F(QueueTest, PendingBringsAPodBackWithoutBackoff) {
  const OwnedPod pod = added({.name = "p", .milli_cpu = 4000});
  ASSERT_EQ(pop(), pod.get());
  fail(pod, "NodeResourcesFit", "NodeResourcesFit");
  EXPECT_EQ(pop(), nullptr);
  node_changed("", node_json({.name = "large", .cpu = 8}));
  EXPECT_EQ(pop(), pod.get());
}

TEST_F(QueueTest, AnErrorBacksOffWhateverHappens) {
  const OwnedPod pod = added({.name = "p"});
  ASSERT_EQ(pop(), pod.get());
  fail(pod, nullptr);
  EXPECT_EQ(size(BERTH_QUEUE_BACKOFF), 1U);
  advance_to(2);
  EXPECT_EQ(pop(), pod.get());
}

TEST_F(QueueTest, WithItsGateAPodIsTriedBeforeItsBackoffEndsWhereNoOtherIsReady) {
  open("SchedulerPopFromBackoffQ=true");
  const OwnedPod pod = added({.name = "p", .milli_cpu = 4000});
  ASSERT_EQ(pop(), pod.get());
  fail(pod, "NodeResourcesFit");
  EXPECT_EQ(pop(), nullptr);
  node_changed("", node_json({.name = "large", .cpu = 8}));
  EXPECT_EQ(size(BERTH_QUEUE_BACKOFF), 1U);
  EXPECT_EQ(pop(), pod.get());
}

TEST_F(QueueTest, PodsThatComeAndLeaveInAForkHelpThoseThatTheirPluginsSay) {
  upsert(cluster_.get(), node_json({.name = "n", .cpu = 4}));
  const OwnedPod big = added({.name = "big", .milli_cpu = 3000});
  const OwnedPod near = added({.name = "near", .app = 1, .near_app = 2});
  const OwnedPod friendly = pod({.name = "friend", .app = 2});
  ASSERT_EQ(pop(), big.get());
  ASSERT_EQ(pop(), near.get());
  fail(big, "NodeResourcesFit");
  fail(near, "InterPodAffinity");
  const OwnedSnapshot snapshot = snapshot_of(cluster_.get());
  const OwnedFork fork = fork_of(snapshot.get());
  ASSERT_EQ(berth_fork_add_pod(fork.get(), friendly.get(), node_number(cluster_.get(), "n"), nullptr), BERTH_OK);
  berth_str uid{};
  ASSERT_EQ(berth_pod_uid(friendly.get(), &uid, nullptr), BERTH_OK);
  EXPECT_EQ(berth_queue_pod_came(queue_.get(), fork.get(), uid.data, nullptr), BERTH_OK);
  EXPECT_EQ(size(BERTH_QUEUE_BACKOFF), 1U) << "near";
  EXPECT_EQ(berth_queue_pod_leaves(queue_.get(), fork.get(), uid.data, nullptr), BERTH_OK);
  EXPECT_EQ(size(BERTH_QUEUE_BACKOFF), 2U);
  ASSERT_EQ(berth_fork_remove_pod(fork.get(), uid.data, nullptr), BERTH_OK);
  EXPECT_EQ(berth_queue_pod_leaves(queue_.get(), fork.get(), uid.data, nullptr), BERTH_E_NOT_FOUND);
}

TEST_F(QueueTest, APodThatNothingHelpsIsTriedAgainAfterFiveMinutes) {
  const OwnedPod pod = added({.name = "p"});
  ASSERT_EQ(pop(), pod.get());
  fail(pod, "NodeName");
  advance_to(299);
  EXPECT_EQ(pop(), nullptr);
  advance_to(331);
  EXPECT_EQ(pop(), pod.get());
}

TEST_F(QueueTest, SchedulingGatesKeepAPodOut) {
  const OwnedPod gated = pod_of(cluster_.get(), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"g"},
      "spec":{"schedulingGates":[{"name":"later"}],"containers":[{"name":"c"}]}})");
  ASSERT_EQ(berth_queue_add(queue_.get(), gated.get(), nullptr), BERTH_OK);
  EXPECT_EQ(size(BERTH_QUEUE_GATED), 1U);
  EXPECT_EQ(pop(), nullptr);
}

/// A batch's rejectors are what the queue asks for.
TEST_F(QueueTest, RejectorsOfABatchSayWhatAPodWaitsFor) {
  upsert(cluster_.get(), node_json({.name = "n", .cpu = 2}));
  upsert(cluster_.get(), node_json({.name = "m", .cpu = 8, .cordoned = true}));
  const OwnedPod big = added({.name = "big", .milli_cpu = 4000});
  const OwnedPod small = added({.name = "small"});
  const OwnedSnapshot snapshot = snapshot_of(cluster_.get());
  for (const std::uint32_t choice : {BERTH_CHOICE_SCORE, BERTH_CHOICE_FIRST_FIT}) {
    const OwnedFork fork = fork_of(snapshot.get());
    berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
    options.flags = BERTH_WITH_REJECTORS;
    options.choice = choice;
    const berth_pod* const pods[] = {big.get(), small.get()};
    berth_result* result = nullptr;
    ASSERT_EQ(berth_fork_schedule(fork.get(), pods, 2, &options, &result, nullptr), BERTH_OK);
    const OwnedResult owned(result);
    EXPECT_EQ(texts_of(*owned, BERTH_COLUMN_REJECTORS),
              (std::vector<std::string>{"NodeResourcesFit, NodeUnschedulable", ""}));
    EXPECT_EQ(texts_of(*owned, BERTH_COLUMN_PENDING_REJECTORS), (std::vector<std::string>{"", ""}));
  }
  ASSERT_EQ(pop(), big.get());
  fail(big, "NodeResourcesFit, NodeUnschedulable");
  node_changed(node_json({.name = "m", .cpu = 8, .cordoned = true}), node_json({.name = "m", .cpu = 8}));
  EXPECT_EQ(size(BERTH_QUEUE_BACKOFF), 1U);
}

TEST_F(QueueTest, WhatCannotBeIsRefusedAndChangesNothing) {
  const OwnedPod pod = added({.name = "p"});
  const auto says = [&](berth_status status, berth_status expected, const berth_error& error, const char* text) {
    EXPECT_EQ(status, expected) << error.text;
    const std::string said = std::string(error.object) + " " + error.text;
    EXPECT_NE(said.find(text), std::string::npos) << said;
  };
  berth_error error = BERTH_ERROR_INIT;
  says(berth_queue_add(queue_.get(), pod.get(), &error), BERTH_E_EXISTS, error, "default/p");
  const OwnedPod same_name = pod_of(cluster_.get(), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",
      "uid":"another"},"spec":{"containers":[{"name":"c"}]}})");
  says(berth_queue_add(queue_.get(), same_name.get(), &error), BERTH_E_EXISTS, error, "default/p");
  const OwnedPod of_others = pod_of(cluster_.get(), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"o"},
      "spec":{"schedulerName":"another","containers":[{"name":"c"}]}})");
  says(berth_queue_add(queue_.get(), of_others.get(), &error), BERTH_E_ARGUMENT, error, "schedulerName");
  says(berth_queue_remove(queue_.get(), same_name.get(), &error), BERTH_E_NOT_FOUND, error, "not in the queue");
  says(berth_queue_fail(queue_.get(), pod.get(), "NodeName", nullptr, &error), BERTH_E_NOT_FOUND, error, "not tried");
  says(berth_queue_done(queue_.get(), pod.get(), &error), BERTH_E_NOT_FOUND, error, "not tried");
  advance_to(3);
  says(berth_queue_advance(queue_.get(), 2 * kSecondUs, &error), BERTH_E_ARGUMENT, error, "before the queue's time");
  says(berth_queue_advance(queue_.get(), INT64_MAX, &error), BERTH_E_ARGUMENT, error, "BERTH_QUEUE_TIME_MAX");
  says(berth_queue_node_changed(queue_.get(), nullptr, 0, nullptr, 0, &error), BERTH_E_ARGUMENT, error, "no node");
  const std::string a = node_json({.name = "a"});
  const std::string b = node_json({.name = "b"});
  says(berth_queue_node_changed(queue_.get(), a.data(), a.size(), b.data(), b.size(), &error), BERTH_E_ARGUMENT, error,
       "another node");
  std::uint64_t count = 7;
  says(berth_queue_size(queue_.get(), 9, &count, &error), BERTH_E_ARGUMENT, error, "BERTH_QUEUE_");
  EXPECT_EQ(count, 7U);
  const OwnedCluster other = make_cluster("cpu", 1);
  const OwnedPod foreign = pod_of(other.get(), pod_json({.name = "f"}));
  says(berth_queue_add(queue_.get(), foreign.get(), &error), BERTH_E_ARGUMENT, error, "another cluster");
  const OwnedSnapshot snapshot = snapshot_of(other.get());
  const OwnedFork fork = fork_of(snapshot.get());
  says(berth_queue_pod_came(queue_.get(), fork.get(), "u", &error), BERTH_E_ARGUMENT, error, "another cluster");
  ASSERT_EQ(pop(), pod.get());
  std::string names;
  for (int i = 0; i < 70; ++i) names += "Plugin" + std::to_string(i) + ",";
  says(berth_queue_fail(queue_.get(), pod.get(), names.c_str(), nullptr, &error), BERTH_E_ARGUMENT, error,
       "64 plugins");
  EXPECT_EQ(size(BERTH_QUEUE_TRIED), 1U);
  berth_queue_options options = BERTH_QUEUE_OPTIONS_INIT;
  options.now_us = -1;
  berth_queue* queue = nullptr;
  says(berth_queue_create(cluster_.get(), &options, &queue, &error), BERTH_E_ARGUMENT, error, "now_us");
  EXPECT_EQ(queue, nullptr);
}

TEST_F(QueueTest, APodThatIsTriedKeepsItsNameAndUidTaken) {
  const OwnedPod pod = pod_of(cluster_.get(), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","uid":"one"},
      "spec":{"containers":[{"name":"c"}]}})");
  const OwnedPod same_name = pod_of(cluster_.get(), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",
      "uid":"another"},"spec":{"containers":[{"name":"c"}]}})");
  const OwnedPod same_uid = pod_of(cluster_.get(), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"q",
      "uid":"one"},"spec":{"containers":[{"name":"c"}]}})");
  ASSERT_EQ(berth_queue_add(queue_.get(), pod.get(), nullptr), BERTH_OK);
  berth_pod* popped = nullptr;
  ASSERT_EQ(berth_queue_pop(queue_.get(), &popped, nullptr), BERTH_OK);
  berth_pod_free(&popped);
  EXPECT_EQ(berth_queue_add(queue_.get(), same_name.get(), nullptr), BERTH_E_EXISTS);
  EXPECT_EQ(berth_queue_add(queue_.get(), same_uid.get(), nullptr), BERTH_E_EXISTS);
  EXPECT_EQ(berth_queue_done(queue_.get(), same_name.get(), nullptr), BERTH_E_NOT_FOUND);
  ASSERT_EQ(berth_queue_done(queue_.get(), pod.get(), nullptr), BERTH_OK);
  EXPECT_EQ(berth_queue_add(queue_.get(), same_name.get(), nullptr), BERTH_OK);
}

TEST_F(QueueTest, KeepsPodsAndClusterAliveAndTellsItsMemory) {
  std::uint64_t empty = 0;
  ASSERT_EQ(berth_queue_memory(queue_.get(), &empty, nullptr), BERTH_OK);
  for (int i = 0; i < 100; ++i) added({.name = "p" + std::to_string(i)});  // the caller's handles go at once
  std::uint64_t full = 0;
  ASSERT_EQ(berth_queue_memory(queue_.get(), &full, nullptr), BERTH_OK);
  EXPECT_GT(full, empty + 100 * 100);
  cluster_.reset();
  berth_pod* popped = nullptr;
  ASSERT_EQ(berth_queue_pop(queue_.get(), &popped, nullptr), BERTH_OK);
  const OwnedPod pod(popped);
  EXPECT_EQ(berth_queue_fail(queue_.get(), pod.get(), "NodeName", nullptr, nullptr), BERTH_OK);
  queue_.reset();
  berth_str uid{};
  EXPECT_EQ(berth_pod_uid(pod.get(), &uid, nullptr), BERTH_OK);
}

}  // namespace
}  // namespace berth::test
