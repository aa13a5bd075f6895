// SPDX-License-Identifier: Apache-2.0
// Scheduling loops over random clusters that change while they are scheduled: batches of any size give what popping one
// pod after another gives, and the cpu backend and the emulated device give what the reference gives.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"
#include "host/scheduler/loop/scheduling_loop.h"
#include "host/store/kubelet.h"
#include "tests/property/drawn_case.h"
#include "tests/property/drawn_importance.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/support/faulty_client.h"

namespace berth::test {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

/// One scheduler over a store of its own.
class Side : public LoopObserver {
 public:
  /// @param kept_events  by the store for a watch that does not read: beyond that the side lists again
  Side(const ClusterObjects& start, const LoopOptions& options, std::uint64_t fault_seed,
       std::size_t kept_events = SIZE_MAX)
      : store(clock, {.watch_history_limit = kept_events}),
        client_(store, [this, fault_seed](const ApiCall& call) { return fault_of(call, fault_seed); }) {
    for (const NodePtr& node : start.nodes) store.create<Node>(node);
    for (const Service& service : start.services) store.create<Service>(std::make_shared<const Service>(service));
    for (const Namespace& name_space : start.namespaces)
      store.create<Namespace>(std::make_shared<const Namespace>(name_space));
    for (const PodDisruptionBudget& budget : start.pod_disruption_budgets)
      store.create<PodDisruptionBudget>(std::make_shared<const PodDisruptionBudget>(budget), with_status());
    for (const PodPtr& pod : start.pods)
      if (!pod->node_name.empty()) store.create<Pod>(pod, with_status());
    const StoreContents contents = store.list_all();
    watch_ = store.watch(contents.resource_version).watch;
    loop = std::make_unique<SchedulingLoop>(contents, options, clock, client_, *this);
  }

  void read_events() {
    const WatchBatch batch = watch_.poll();
    if (batch.status.reason == StoreReason::kExpired) {
      const StoreContents contents = store.list_all();
      watch_ = store.watch(contents.resource_version).watch;
      loop->take_list(contents);
    } else {
      loop->take(batch.events);
    }
  }
  /// Lets time pass in the steps in which something is to be done.
  void advance(std::int64_t duration_us, std::size_t pods_max) {
    const std::int64_t end_us = clock.now_us() + duration_us;
    for (;;) {
      kubelet.run_until(clock.now_us());
      read_events();
      loop->run(pods_max);
      const std::int64_t next_us = std::min(kubelet.next_event_us(), loop->next_wake_us());
      if (next_us > end_us) break;
      clock.advance_to(std::max(next_us, clock.now_us() + 1));
    }
    clock.advance_to(end_us);
  }

  void on_attempt(const Attempt& attempt) override {
    log.push_back(std::to_string(clock.now_us()) + " " + attempt.info.pod->full_name() + " attempt " +
                  std::to_string(attempt.info.attempts) + " " + std::string(to_string(attempt.result)) + " " +
                  std::string(attempt.node_name) + " " + std::to_string(attempt.score) + " " +
                  std::string(attempt.message));
  }
  void on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) override {
    log.push_back(victim->full_name() + " leaves " + std::string(node_name) + " for " + preemptor->full_name());
  }

  static CreateOptions with_status() {
    CreateOptions options;
    options.keeps_status = true;
    return options;
  }

  VirtualClock clock{100 * kSecondUs};
  ObjectStore store;
  Kubelet kubelet{store};
  std::unique_ptr<SchedulingLoop> loop;
  std::vector<std::string> log;

 private:
  /// The n-th call of a kind about a pod meets the same fault on every side. Failures are told later than the call, so
  /// that it does not matter how many pods are tried at one moment.
  CallFault fault_of(const ApiCall& call, std::uint64_t seed) {
    CallFault fault;
    fault.failure_us = 1;
    if (seed == 0 || !std::holds_alternative<PodBinding>(call.request)) return fault;
    Dice dice(seed + std::hash<std::string>()(call.pod->full_name()) + 7919 * ++calls_[call.pod->uid()]);
    if (!dice.one_in(4)) return fault;
    fault.answer_us = dice.upto(3 * kSecondUs);
    if (dice.one_in(2)) fault.refusal = {StoreReason::kInternalError, "refused"};
    fault.is_answered_twice = dice.one_in(3);
    fault.loses_answer = dice.one_in(5);
    return fault;
  }

  Watch watch_;
  std::map<std::string, std::uint64_t> calls_;
  FaultyClient client_;
};

/// A random history, done to several sides alike.
class History {
 public:
  explicit History(std::uint64_t seed) : drawn_(seed), dice_(seed + 1) {
    for (PodPtr& pod : drawn_.objects.pods) pod = with_drawn_importance(dice_, *pod);
    drawn_.objects.pod_disruption_budgets = draw_budgets(dice_, drawn_.objects);
    options_.config = drawn_.config;
    options_.engine = drawn_.engine;
    options_.engine.threads = 1;
    const auto on_or_off = [&](const char* gate) { return std::string(gate) + (dice_.one_in(2) ? "=true" : "=false"); };
    options_.config.gates.apply(on_or_off("SchedulerPopFromBackoffQ") + "," + on_or_off("SchedulerAsyncPreemption") +
                                "," + on_or_off("SchedulerAsyncAPICalls"));
    fault_seed_ = dice_.one_in(2) ? 0 : seed;
    for (const PodPtr& pod : drawn_.objects.pods)
      if (is_pending(*pod) && !pod->terminating) arrivals_.push_back(pod);
    std::shuffle(arrivals_.begin(), arrivals_.end(), dice_.engine);
    while (drawn_.objects.nodes.size() > 1 && dice_.one_in(2)) {
      nodes_to_come_.push_back(drawn_.objects.nodes.back());
      drawn_.objects.nodes.pop_back();
    }
  }

  std::unique_ptr<Side> open(const std::string& backend, std::size_t batch_pods,
                             std::size_t kept_events = SIZE_MAX) const {
    LoopOptions options = options_;
    options.engine.backend = backend == "cuda-emulated" ? "cuda" : backend;
    options.open_accelerator = [](int) { return std::make_unique<EmulatedAccelerator>(); };
    options.batch_pods_max = batch_pods;
    return std::make_unique<Side>(drawn_.objects, options, fault_seed_, kept_events);
  }
  std::size_t draw_batch() { return static_cast<std::size_t>(2 + dice_.upto(40)); }

  void run(Side& a, Side& b) {
    run({&a, &b}, [&] { expect_equal(a, b); });
  }
  void run(Side& alone) {
    run({&alone}, [] {});
  }

 private:
  template <class Check>
  void run(const std::vector<Side*>& sides, Check check) {
    for (std::int64_t steps = 10 + dice_.upto(30); steps > 0; --steps) {
      const std::uint64_t seed = dice_.engine();
      const std::size_t pods_max = dice_.one_in(3) ? static_cast<std::size_t>(1 + dice_.upto(10)) : 1000;
      const std::int64_t duration_us = dice_.one_in(3) ? dice_.upto(40 * kSecondUs) : 0;
      const std::vector<PodPtr> arriving = take_arrivals();
      const NodePtr node = take_node();
      for (Side* const side : sides) {
        for (const PodPtr& pod : arriving) side->store.create<Pod>(pod);
        if (node != nullptr) side->store.create<Node>(node);
        change(*side, Dice(seed));
        side->advance(duration_us, pods_max);
      }
      check();
    }
    for (Side* const side : sides) side->advance(700 * kSecondUs, 1000);
    check();
  }

  std::vector<PodPtr> take_arrivals() {
    const auto count = std::min(arrivals_.size(), static_cast<std::size_t>(dice_.upto(8)));
    std::vector<PodPtr> arriving(arrivals_.end() - static_cast<std::ptrdiff_t>(count), arrivals_.end());
    arrivals_.resize(arrivals_.size() - count);
    return arriving;
  }
  NodePtr take_node() {
    if (nodes_to_come_.empty() || !dice_.one_in(3)) return nullptr;
    NodePtr node = nodes_to_come_.back();
    nodes_to_come_.pop_back();
    return node;
  }

  /// What somebody else does to the cluster.
  static void change(Side& side, Dice dice) {
    ObjectStore& store = side.store;
    const std::vector<StoredPodPtr> pods = store.list<Pod>().items;
    for (std::int64_t times = dice.upto(2); times > 0 && !pods.empty(); --times) {
      const PodPtr pod = dice.pick(pods)->object;
      if (dice.one_in(2)) {
        store.remove<Pod>(key_of(*pod));
      } else {
        const std::shared_ptr<Pod> changed = copy_of(*pod);
        changed->labels = dice.pick(pods)->object->labels;
        store.update<Pod>(changed);
      }
    }
    const std::vector<StoredPtr<Node>> nodes = store.list<Node>().items;
    if (nodes.empty() || !dice.one_in(3)) return;
    const NodePtr node = dice.pick(nodes)->object;
    if (dice.one_in(3)) {
      store.remove<Node>(key_of(*node));
    } else {
      auto changed = std::make_shared<Node>(*node);
      if (dice.one_in(2)) {
        changed->unschedulable = !changed->unschedulable;
      } else {
        changed->labels = dice.pick(nodes)->object->labels;
      }
      store.update<Node>(NodePtr(changed));
    }
  }

  static void expect_equal(const Side& a, const Side& b) {
    for (std::size_t i = 0; i < std::min(a.log.size(), b.log.size()); ++i)
      if (a.log[i] != b.log[i]) RC_FAIL("step " + std::to_string(i) + "\n  " + a.log[i] + "\n  " + b.log[i]);
    RC_ASSERT(a.log.size() == b.log.size());
    RC_ASSERT(a.loop->queue().sizes() == b.loop->queue().sizes());
    RC_ASSERT(a.loop->unbound_count() == b.loop->unbound_count());
    RC_ASSERT(a.store.resource_version() == b.store.resource_version());
  }

  Case drawn_;
  Dice dice_;
  LoopOptions options_;
  std::uint64_t fault_seed_ = 0;
  std::vector<PodPtr> arrivals_;
  std::vector<NodePtr> nodes_to_come_;
};

RC_GTEST_PROP(LoopsAgree, BatchesOfAnySizeGiveWhatOnePodAfterAnotherGives, ()) {
  History history(*rc::gen::arbitrary<std::uint64_t>());
  const std::unique_ptr<Side> one_by_one = history.open("cpu", 1);
  const std::unique_ptr<Side> batched = history.open("cpu", history.draw_batch());
  history.run(*one_by_one, *batched);
}

RC_GTEST_PROP(LoopsAgree, TheCpuBackendGivesWhatTheReferenceGives, ()) {
  History history(*rc::gen::arbitrary<std::uint64_t>());
  const std::unique_ptr<Side> reference = history.open("reference", 1);
  const std::unique_ptr<Side> cpu = history.open("cpu", history.draw_batch());
  history.run(*reference, *cpu);
}

/// @param backend  of the side that tries pods in batches
void expect_batches_as_one_after_another(const std::string& backend, std::uint64_t seed) {
  History history(seed);
  const std::unique_ptr<Side> one = history.open("cpu", 1);
  const std::unique_ptr<Side> batches = history.open(backend, history.draw_batch());
  history.run(*one, *batches);
}

/// A pod is placed in a batch before one of higher priority that may evict it; in the second, before it is bound.
TEST(LoopsAgree, SeedsThatFailedOnce) {
  for (const std::uint64_t seed : {std::uint64_t{16334580924215974}, std::uint64_t{152376336}})
    for (const char* const backend : {"cpu", "cuda-emulated"}) expect_batches_as_one_after_another(backend, seed);
}

RC_GTEST_PROP(LoopsAgree, TheEmulatedDeviceGivesWhatTheCpuBackendGives, ()) {
  History history(*rc::gen::arbitrary<std::uint64_t>());
  const std::unique_ptr<Side> cpu = history.open("cpu", 1);
  const std::unique_ptr<Side> device = history.open("cuda-emulated", history.draw_batch());
  RC_ASSERT(device->loop->backend().name() == "cuda-emulated");
  history.run(*cpu, *device);
}

/// The pods of a list, by uid, of those that `is_meant`.
template <class IsMeant>
std::vector<std::string> uids_of(const std::vector<PodPtr>& pods, IsMeant is_meant) {
  std::vector<std::string> uids;
  for (const PodPtr& pod : pods)
    if (is_meant(*pod)) uids.push_back(pod->uid());
  std::sort(uids.begin(), uids.end());
  return uids;
}

RC_GTEST_PROP(LoopsAgree, ALoopThatListsAgainKnowsWhatIsThere, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  History history(seed);
  const std::unique_ptr<Side> side = history.open("cpu", history.draw_batch(), seed % 4);
  history.run(*side);
  const SchedulingLoop& loop = *side->loop;
  // A binding whose answer is lost may be in flight just now: it fails after its time limit and is tried again.
  for (int tries = 0; tries < 20 && loop.unbound_count() > 0; ++tries) side->advance(40 * kSecondUs, 1000);
  std::vector<PodPtr> stored;
  for (const StoredPodPtr& pod : side->store.list<Pod>().items) stored.push_back(pod->object);
  RC_ASSERT(loop.unbound_count() == 0U);
  const std::vector<std::string> on_nodes = uids_of(stored, [](const Pod& pod) { return is_on_node(pod); });
  RC_ASSERT(loop.cache_sizes().pods == on_nodes.size());
  RC_ASSERT(loop.cache_sizes().assumed_pods == 0U);
  SchedulingQueue::PendingPods pending = loop.queue().pending_pods();
  std::vector<PodPtr> queued = std::move(pending.active);
  for (const auto* more : {&pending.backoff, &pending.unschedulable})
    queued.insert(queued.end(), more->begin(), more->end());
  // A pod that is being deleted leaves the queue when its turn comes.
  const auto waits = [&](const Pod& pod) {
    return is_pending(pod) && !pod.terminating && loop.queue().has_profile(pod.spec->scheduler_name);
  };
  RC_ASSERT(uids_of(queued, waits) == uids_of(stored, waits));
}

}  // namespace
}  // namespace berth::test
