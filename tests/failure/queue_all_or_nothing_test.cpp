// SPDX-License-Identifier: Apache-2.0
// Memory runs out at each allocation of each call of the queue, in any order of calls: afterwards the queue is as if
// the call had never been made, and it takes the same call again.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <new>
#include <sstream>
#include <string>

#include "tests/failure/failing_allocations.h"
#include "tests/property/queue_pair.h"

namespace berth {
namespace {

/// All that a queue tells of itself.
std::string text_of(const SchedulingQueue& queue) {
  std::ostringstream text;
  for (const PodPtr& pod : queue.head(SIZE_MAX)) text << pod->full_name() << ' ';
  const SchedulingQueue::PendingPods pods = queue.pending_pods();
  for (const auto* place : {&pods.active, &pods.backoff, &pods.unschedulable}) {
    text << '|';
    for (const PodPtr& pod : *place) {
      const QueuedPodInfo info = *queue.find(*pod);
      text << pod->full_name() << ' ' << pod.get() << ' ' << info.timestamp_us << ' ' << info.attempts << ' '
           << info.unschedulable_count << ' ' << info.consecutive_errors << ' ' << info.was_flushed << ' ';
    }
  }
  const SchedulingQueue::Sizes sizes = queue.sizes();
  text << '|' << sizes.active << ' ' << sizes.backoff << ' ' << sizes.unschedulable << ' ' << sizes.gated << ' '
       << sizes.held << ' ' << queue.scheduling_cycle() << ' ' << queue.next_flush_us() << '|';
  for (const PodPtr& pod : queue.nominated_pods("n1")) text << pod->full_name() << ' ';
  for (const auto& [label, count] : queue.in_flight().counts_by_label()) text << label << ' ' << count << ' ';
  for (const auto& [key, count] : queue.counts().incoming()) text << key.first << key.second << ' ' << count << ' ';
  for (const auto& [key, count] : queue.unschedulable_by_plugin(true)) text << key.first << ' ' << count << ' ';
  return text.str();
}

class AllOrNothing {
 public:
  AllOrNothing(std::uint64_t seed, test::Failure failure)
      : failure_(failure), pair_(seed, [this](const std::function<void()>& call) { make(call); }) {}
  void step() {
    pair_.step();
    pair_.compare();
  }
  std::size_t failures() const { return failures_; }

 private:
  /// @return whether it had all memory
  bool make_once(const std::function<void()>& call, std::int64_t failing) const {
    const test::FailingAllocation scope(failing, failure_);
    try {
      call();
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  void make(const std::function<void()>& call) {
    const std::string before = text_of(pair_.queue());
    for (std::int64_t failing = 1; !make_once(call, failing); ++failing) {
      ++failures_;
      RC_ASSERT(text_of(pair_.queue()) == before);
    }
  }

  test::Failure failure_;
  std::size_t failures_ = 0;
  test::QueuePair pair_;
};

RC_GTEST_PROP(QueueAllOrNothingTest, InAnyOrderOfCalls, ()) {
  for (const test::Failure failure : {test::Failure::kOnce, test::Failure::kAllBehind}) {
    AllOrNothing calls(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()), failure);
    for (int i = 0; i < 60; ++i) calls.step();
    RC_ASSERT(calls.failures() > 0U);
  }
}

}  // namespace
}  // namespace berth
