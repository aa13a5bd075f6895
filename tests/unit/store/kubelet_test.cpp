// SPDX-License-Identifier: Apache-2.0
#include "host/store/kubelet.h"

#include <gtest/gtest.h>

#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

class KubeletTest : public testing::Test {
 protected:
  KubeletTest() { test_.add_node("n1"); }
  void start(KubeletOptions options = {}) { kubelet_.emplace(test_.store, std::move(options)); }
  /// Seconds after the beginning of the clock at 100 s; each event happens at its own time.
  void run_until_s(double seconds) {
    const auto until_us = 100 * kSecondUs + static_cast<std::int64_t>(seconds * 1e6);
    while (kubelet_->next_event_us() <= until_us) {
      test_.clock.advance_to(kubelet_->next_event_us());
      kubelet_->run_until(test_.clock.now_us());
    }
    test_.clock.advance_to(until_us);
  }
  void add_bound(const std::string& name) { test_.create(test_.make_bound_pod(name)); }
  PodPhase phase(const std::string& name) { return test_.pod(name)->object->phase; }
  bool exists(const std::string& name) { return test_.pod(name) != nullptr; }
  void remove(const std::string& name, const DeleteOptions& options = {}) {
    test_.store.remove<Pod>(test_.key(name), options);
  }
  void remove_node() { test_.store.remove<Node>({.namespace_ = {}, .name = "n1"}); }

  StoreFixture test_;
  std::optional<Kubelet> kubelet_;
};

TEST_F(KubeletTest, ABoundPodRunsAtOnceWithAStartTime) {
  start();
  test_.create(test_.make_pod("p"));
  EXPECT_EQ(kubelet_->next_event_us(), Kubelet::kNeverUs);
  test_.bind("p");
  EXPECT_EQ(kubelet_->next_event_us(), 100 * kSecondUs);
  run_until_s(0);
  EXPECT_EQ(phase("p"), PodPhase::kRunning);
  EXPECT_EQ(test_.pod("p")->object->start_time_us, 100 * kSecondUs);
  EXPECT_EQ(kubelet_->next_event_us(), Kubelet::kNeverUs);
}

TEST_F(KubeletTest, TheStartDelayCountsFromTheBinding) {
  start({.start_delay_us = 2 * kSecondUs});
  add_bound("p");
  run_until_s(1);
  test_.update("p", [](Pod& pod) { pod.labels = {{"a", "b"}}; });
  run_until_s(1.9);
  EXPECT_EQ(phase("p"), PodPhase::kPending);
  run_until_s(2);
  EXPECT_EQ(phase("p"), PodPhase::kRunning);
}

TEST_F(KubeletTest, APodSucceedsAfterItsRunDuration) {
  start({.run_duration_us = [](const Pod& pod) {
    return pod.name == "job" ? std::optional<std::int64_t>(10 * kSecondUs) : std::nullopt;
  }});
  add_bound("job");
  add_bound("server");
  run_until_s(9.9);
  EXPECT_EQ(phase("job"), PodPhase::kRunning);
  run_until_s(1000);
  EXPECT_EQ(phase("job"), PodPhase::kSucceeded);
  EXPECT_EQ(phase("server"), PodPhase::kRunning);
}

TEST_F(KubeletTest, AllThatIsDueHappensInOneCallAtItsOwnTime) {
  start({.start_delay_us = 1 * kSecondUs, .run_duration_us = [](const Pod&) { return 5 * kSecondUs; }});
  add_bound("p");
  test_.advance_s(100);
  kubelet_->run_until(test_.clock.now_us());
  EXPECT_EQ(phase("p"), PodPhase::kSucceeded);
  EXPECT_EQ(test_.pod("p")->object->start_time_us, 101 * kSecondUs);
}

TEST_F(KubeletTest, APodThatIsDeletedGoesWhenItsGracePeriodEnds) {
  start();
  add_bound("p");
  run_until_s(10);
  remove("p");
  run_until_s(39.9);
  EXPECT_TRUE(exists("p"));
  EXPECT_EQ(phase("p"), PodPhase::kRunning);
  run_until_s(40);
  EXPECT_FALSE(exists("p"));
}

TEST_F(KubeletTest, AShorterGracePeriodIsFollowed) {
  start();
  add_bound("p");
  run_until_s(0);
  remove("p");
  run_until_s(1);
  remove("p", {.grace_period_s = 3});
  EXPECT_EQ(kubelet_->next_event_us(), 103 * kSecondUs);
}

TEST_F(KubeletTest, APodThatNeverRanGoesAtOnce) {
  start({.start_delay_us = 60 * kSecondUs});
  add_bound("p");
  run_until_s(1);
  remove("p");
  run_until_s(1);
  EXPECT_FALSE(exists("p"));
}

TEST_F(KubeletTest, ATerminatingPodGoesWhenItsRunEndsFirst) {
  start({.run_duration_us = [](const Pod&) { return 20 * kSecondUs; }});
  add_bound("p");
  run_until_s(15);
  remove("p");
  Watch watch = test_.store.watch(test_.store.resource_version()).watch;
  run_until_s(20);
  EXPECT_FALSE(exists("p"));
  EXPECT_EQ(watch.poll().events.at(0).get<Pod>()->after->object->phase, PodPhase::kSucceeded);
}

TEST_F(KubeletTest, APodThatIsKilledFailsBeforeItGoes) {
  start();
  add_bound("p");
  run_until_s(0);
  remove("p");
  Watch watch = test_.store.watch(test_.store.resource_version()).watch;
  run_until_s(30);
  const std::vector<WatchEvent> events = watch.poll().events;
  EXPECT_EQ(pod_events(events), (std::vector<std::string>{"Modified p", "Modified p", "Deleted p"}));
  EXPECT_EQ(events.at(0).get<Pod>()->after->object->phase, PodPhase::kFailed);
}

TEST_F(KubeletTest, FinalizersKeepAPodThatHasEnded) {
  start();
  test_.create(test_.make_bound_pod("p"), {.finalizers = {"f"}});
  run_until_s(0);
  remove("p");
  run_until_s(1000);
  EXPECT_EQ(phase("p"), PodPhase::kFailed);
  EXPECT_EQ(kubelet_->next_event_us(), Kubelet::kNeverUs);
}

TEST_F(KubeletTest, PodsOfADeletedNodeStayUntilTheyAreCollected) {
  start();
  add_bound("p");
  run_until_s(0);
  remove_node();
  run_until_s(39.9);
  EXPECT_EQ(phase("p"), PodPhase::kRunning);
  Watch watch = test_.store.watch(test_.store.resource_version()).watch;
  run_until_s(40);
  EXPECT_FALSE(exists("p"));
  const StoredPodPtr failed = watch.poll().events.at(0).get<Pod>()->after;
  EXPECT_EQ(failed->object->phase, PodPhase::kFailed);
  EXPECT_EQ(failed->find_condition("DisruptionTarget")->reason, "DeletionByPodGC");
}

TEST_F(KubeletTest, APodOfADeletedNodeStaysUntilItIsCollected) {
  start();
  add_bound("p");
  run_until_s(0);
  remove("p", {.grace_period_s = 5});
  remove_node();
  run_until_s(39.9);
  EXPECT_TRUE(exists("p"));
  run_until_s(40);
  EXPECT_FALSE(exists("p"));
}

TEST_F(KubeletTest, ANodeThatComesBackKeepsItsPods) {
  start();
  add_bound("p");
  run_until_s(0);
  remove_node();
  run_until_s(20);
  test_.add_node("n1");
  run_until_s(1000);
  EXPECT_EQ(phase("p"), PodPhase::kRunning);
}

TEST_F(KubeletTest, APodOnANodeThatNeverWasIsCollected) {
  start();
  test_.create(test_.make_bound_pod("p", "nowhere"));
  run_until_s(39.9);
  EXPECT_EQ(phase("p"), PodPhase::kPending);
  run_until_s(40);
  EXPECT_FALSE(exists("p"));
}

TEST_F(KubeletTest, TakesOverPodsThatAreThere) {
  const auto pod = test_.make_bound_pod("p");
  pod->phase = PodPhase::kRunning;
  pod->start_time_us = 95 * kSecondUs;
  test_.create(pod, {.keeps_status = true});
  start({.run_duration_us = [](const Pod&) { return 10 * kSecondUs; }});
  EXPECT_EQ(kubelet_->next_event_us(), 105 * kSecondUs) << "counted from its start time";
}

TEST_F(KubeletTest, EventsOfOneTimeHappenInTheOrderInWhichTheyBecameKnown) {
  start();
  for (const char* const name : {"b", "a", "c"}) add_bound(name);
  Watch watch = test_.store.watch(test_.store.resource_version()).watch;
  run_until_s(0);
  EXPECT_EQ(pod_events(watch.poll().events), (std::vector<std::string>{"Modified b", "Modified a", "Modified c"}));
}

TEST_F(KubeletTest, ListsAgainWhenItFellBehind) {
  StoreFixture small({.watch_history_limit = 2});
  small.add_node("n1");
  Kubelet kubelet(small.store);
  for (const char* const name : {"a", "b", "c", "d"}) small.create(small.make_bound_pod(name));
  kubelet.run_until(small.clock.now_us());
  EXPECT_EQ(small.pod("a")->object->phase, PodPhase::kRunning);
  EXPECT_EQ(small.pod("d")->object->phase, PodPhase::kRunning);
}

}  // namespace
}  // namespace berth::test
