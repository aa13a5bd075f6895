// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

using Events = std::vector<std::string>;

TEST(Watch, DeliversWhatHappensAfterItsVersionInOrder) {
  StoreFixture test;
  test.create(test.make_pod("before"));
  Watch watch = test.store.watch(test.store.resource_version()).watch;
  test.create(test.make_pod("p"));
  test.bind("p");
  test.store.remove<Pod>(test.key("p"), {.grace_period_s = 0});
  const std::vector<WatchEvent> events = watch.poll().events;
  EXPECT_EQ(pod_events(events), (Events{"Added p", "Modified p", "Modified p", "Deleted p"}));
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].resource_version, 2 + i);
  EXPECT_EQ(events[1].get<Pod>()->before, events[0].get<Pod>()->after);
  EXPECT_EQ(events[1].get<Pod>()->after->object->node_name, "n1");
  EXPECT_TRUE(watch.poll().events.empty());
}

TEST(Watch, TakesAtMostTheLimit) {
  StoreFixture test;
  Watch watch = test.store.watch(0).watch;
  for (const char* const name : {"a", "b", "c"}) test.create(test.make_pod(name));
  EXPECT_EQ(pod_events(watch.poll(2).events), (Events{"Added a", "Added b"}));
  EXPECT_EQ(pod_events(watch.poll(2).events), (Events{"Added c"}));
}

TEST(Watch, SkipsOtherKinds) {
  StoreFixture test;
  Watch watch = test.store.watch(0, KindSet().with(ObjectKind::kNode)).watch;
  test.create(test.make_pod("p"));
  test.add_node("n");
  const std::vector<WatchEvent> events = watch.poll().events;
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind(), ObjectKind::kNode);
  EXPECT_EQ(events[0].type(), WatchEventType::kAdded);
}

TEST(Watch, EventsCarryTheTimeOfTheWrite) {
  StoreFixture test;
  Watch watch = test.store.watch(0).watch;
  test.advance_s(1.5);
  test.create(test.make_pod("p"));
  EXPECT_EQ(watch.poll().events.at(0).time_us, 101'500'000);
}

TEST(Watch, FromDroppedEventsIsExpired) {
  StoreFixture test;
  test.create(test.make_pod("a"));
  test.create(test.make_pod("b"));
  const WatchStart start = test.store.watch(1);
  EXPECT_EQ(start.status.reason, StoreReason::kExpired);
  EXPECT_EQ(start.status.message, "too old resource version: 1 (2)");
  EXPECT_FALSE(start.watch.is_open());
}

TEST(Watch, MayStartWhereAnotherWatchHasStillToRead) {
  StoreFixture test;
  Watch slow = test.store.watch(0).watch;
  test.create(test.make_pod("a"));
  test.create(test.make_pod("b"));
  Watch late = test.store.watch(1).watch;
  EXPECT_EQ(pod_events(late.poll().events), (Events{"Added b"}));
}

TEST(Watch, FromTheFutureIsRefused) {
  StoreFixture test;
  EXPECT_EQ(test.store.watch(1).status.message, "Timeout: Too large resource version: 1, current: 0");
}

TEST(Watch, ThatFallsBehindTheLimitExpires) {
  StoreFixture test({.watch_history_limit = 2});
  Watch watch = test.store.watch(0).watch;
  test.create(test.make_pod("a"));
  test.create(test.make_pod("b"));
  EXPECT_EQ(watch.poll(1).events.size(), 1U);
  for (const char* const name : {"c", "d", "e"}) test.create(test.make_pod(name));
  const WatchBatch batch = watch.poll();
  EXPECT_EQ(batch.status.reason, StoreReason::kExpired);
  EXPECT_TRUE(batch.events.empty());
  EXPECT_FALSE(watch.is_open());
}

TEST(Watch, ReadEventsAndThoseOfClosedWatchesAreDropped) {
  StoreFixture test;
  std::weak_ptr<const StoredPod> first;
  {
    Watch reader = test.store.watch(0).watch;
    std::optional<Watch> idle = test.store.watch(0).watch;
    first = test.create(test.make_pod("p")).stored;
    test.bind("p");
    reader.poll();
    EXPECT_FALSE(first.expired()) << "the idle watch has not read it";
    idle.reset();
    EXPECT_TRUE(first.expired());
  }
}

TEST(Watch, MayOutliveTheStore) {
  Watch watch;
  {
    StoreFixture test;
    watch = test.store.watch(0).watch;
    test.create(test.make_pod("p"));
  }
  EXPECT_EQ(watch.poll().events.size(), 1U);
}

TEST(Watch, AListAndAWatchFromItMissNothing) {
  StoreFixture test;
  test.create(test.make_pod("a"));
  test.add_node("n");
  const StoreContents contents = test.store.list_all();
  Watch watch = test.store.watch(contents.resource_version).watch;
  test.create(test.make_pod("b"));
  EXPECT_EQ(contents.of<Pod>().size(), 1U);
  EXPECT_EQ(contents.of<Node>().size(), 1U);
  EXPECT_EQ(pod_events(watch.poll().events), (Events{"Added b"}));
}

TEST(ObjectStoreThreads, OfSeveralThreadsOneBindsEachPod) {
  constexpr int kThreads = 4;
  constexpr int kPodCount = 200;
  StoreFixture test;
  for (int i = 0; i < kPodCount; ++i) test.create(test.make_pod("p" + std::to_string(i)));
  Watch watch = test.store.watch(test.store.resource_version()).watch;
  std::atomic<int> bound = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kPodCount; ++i)
        bound += test.bind("p" + std::to_string(i), "n" + std::to_string(thread)).is_success() ? 1 : 0;
    });
  }
  std::vector<WatchEvent> events;
  while (events.size() < kPodCount) {
    WatchBatch batch = watch.poll();
    for (WatchEvent& event : batch.events) {
      const StoredPodPtr& after = event.get<Pod>()->after;
      EXPECT_EQ(test.store.get<Pod>(key_of(*after->object)), after) << "an event is seen after its write";
      events.push_back(std::move(event));
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bound, kPodCount);
  EXPECT_TRUE(watch.poll().events.empty());
}

}  // namespace
}  // namespace berth::test
