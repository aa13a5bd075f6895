// SPDX-License-Identifier: Apache-2.0
// Pods that find no node, through the whole loop: their time is linear, and what the scheduler keeps of each is small.
// Tests assert no times: a quadratic one is ended by ctest (TIMEOUT in CMakeLists.txt).

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "host/objects/pod_copy.h"
#include "host/scheduler/loop/store_scheduler.h"
#include "tests/support/live_heap.h"
#include "tests/support/object_text.h"
#include "tests/support/sanitized.h"

namespace berth::test {
namespace {

/// A few above a power of two: tables that double have just doubled, and are as empty as they get. Fewer where neither
/// time nor memory tells of the program.
constexpr std::size_t kEqualPods = (std::size_t{1} << (kIsSanitized ? 16 : 19)) + 1'000;
constexpr std::size_t kUnlikePods = (std::size_t{1} << (kIsSanitized ? 15 : 16)) + 1'000;
/// With so many, what has a limit has reached it: rows of the engine, prepared hint functions, kept failures.
constexpr std::size_t kFewPods = 20'000;
constexpr double kBytesPerPodMax = 400;

PodPtr pod_of(const std::string& words) { return make_pods(split_words("pod " + words)).front(); }

struct Kind {
  const char* name;
  std::size_t pods;
  /// Pod `i`, apart from its name.
  std::function<PodPtr(std::size_t i)> make;
};

/// In the list of tests, where bytes would stand otherwise.
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

Kind equal_pods(const char* name, const std::string& words) {
  return {name, kEqualPods, [pod = pod_of("p " + words)](std::size_t) { return pod; }};
}

/// @param words  end where the number of the pod follows
Kind unlike_pods(const char* name, const std::string& words) {
  return {name, kUnlikePods, [words](std::size_t i) { return pod_of("p " + words + std::to_string(100 + i)); }};
}

class PendingPodsTest : public testing::TestWithParam<Kind> {
 protected:
  PendingPodsTest() {
    options_.config = default_scheduler_config(FeatureGates());
    options_.engine.backend = "cpu";
    options_.engine.threads = 1;
    ClusterObjects objects;
    add_nodes(split_words("node n*3 cpu=4 pods=110"), objects);
    for (const NodePtr& node : objects.nodes) store_.create<Node>(node);
    add_on_node("running on=n-0 cpu=1 label:app=web");
  }

  void add_on_node(const std::string& words) { store_.create<Pod>(pod_of(words), {.keeps_status = true}); }

  /// Pods up to this number, tried by a scheduler of their own, and then an event for which their hint functions are
  /// asked. @return bytes that go with the scheduler
  std::uint64_t bytes_with(std::size_t pods) {
    auto scheduler = std::make_unique<StoreScheduler>(store_, options_, observer_);
    for (; added_ < pods; ++added_) {
      const std::shared_ptr<Pod> pod = copy_of(*GetParam().make(added_));
      pod->name = "pod-" + std::to_string(added_);
      store_.create<Pod>(pod);
    }
    scheduler->run();
    add_on_node("db-" + std::to_string(pods) + " on=n-1 label:app=db");
    scheduler->run();
    EXPECT_EQ(scheduler->loop().queue().sizes().unschedulable, pods);
    const std::uint64_t with_scheduler = live_heap_bytes();
    scheduler.reset();
    return with_scheduler - live_heap_bytes();
  }

  VirtualClock clock_{100'000'000};
  ObjectStore store_{clock_, {.watch_history_limit = SIZE_MAX}};
  LoopObserver observer_;
  LoopOptions options_;
  std::size_t added_ = 0;
};

TEST_P(PendingPodsTest, TakeLinearTimeAndLittleMemory) {
  const std::uint64_t few_bytes = bytes_with(kFewPods);
  const std::uint64_t bytes = bytes_with(GetParam().pods);
  if (live_heap_bytes() == 0) return;  // the allocator of a sanitizer does not count
  const double per_pod = static_cast<double>(bytes - few_bytes) / static_cast<double>(GetParam().pods - kFewPods);
  RecordProperty("bytes_per_pod", std::to_string(per_pod));
  EXPECT_LT(per_pod, kBytesPerPodMax);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, PendingPodsTest,
    testing::Values(equal_pods("Equal", "cpu=100"),                                                              //
                    unlike_pods("Unlike", "cpu="),                                                               //
                    equal_pods("EqualAffinity", "cpu=1 pod-affinity=kubernetes.io/hostname match=app=none"),     //
                    unlike_pods("UnlikeAffinity", "cpu=1 pod-affinity=kubernetes.io/hostname match=app=none-"),  //
                    equal_pods("EqualPreemptors", "cpu=100 priority=5"),                                         //
                    unlike_pods("UnlikePreemptors", "priority=5 cpu=")),
    [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace berth::test
