// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/framework/clock.h"
#include "host/objects/pod_copy.h"
#include "host/scheduler/loop/store_client.h"
#include "host/scheduler/loop/store_scheduler.h"
#include "host/store/kubelet.h"
#include "host/store/object_store.h"
#include "tests/support/object_text.h"

namespace berth::test {

/// A cluster that is scheduled on a virtual clock, which begins at 100 s. Objects are lines of
/// tests/support/object_text.h.
class LoopFixture : public LoopObserver {
 public:
  using Lines = std::vector<std::string>;

  explicit LoopFixture(const StoreOptions& store_options = {}) : store(clock, store_options) {
    options.config = default_scheduler_config(FeatureGates());
    options.engine.backend = "cpu";
    options.engine.threads = 1;
  }

  void set_gates(const std::string& text) { options.config.gates.apply(text); }
  /// Opens the scheduler over what is in the store.
  void open() { scheduler = std::make_unique<StoreScheduler>(store, options, *this); }
  void open(ApiClient& client) { scheduler = std::make_unique<StoreScheduler>(store, options, *this, client); }

  void add_nodes(const std::string& words) {
    ClusterObjects objects;
    test::add_nodes(split("node " + words), objects);
    for (const NodePtr& node : objects.nodes) store.create<Node>(node);
  }
  void add_pods(const std::string& words) {
    for (const PodPtr& pod : make_pods(split("pod " + words))) store.create<Pod>(pod);
  }
  void update_pod(const std::string& name, const std::function<void(Pod&)>& change) {
    const std::shared_ptr<Pod> changed = copy_of(*pod(name)->object);
    change(*changed);
    store.update<Pod>(changed);
  }
  void remove_pod(const std::string& name, std::optional<std::int64_t> grace_s = {}) {
    DeleteOptions how;
    how.grace_period_s = grace_s;
    store.remove<Pod>(key(name), how);
  }
  void remove_node(const std::string& name) { store.remove<Node>(ObjectKey{{}, name}); }

  /// Everything that happens now.
  void settle() {
    for (bool goes_on = true; goes_on;) {
      kubelet.run_until(clock.now_us());
      goes_on = scheduler->run() > 0;
    }
  }
  /// Lets time pass, stopping wherever something is to be done.
  void advance_s(double seconds) {
    const std::int64_t end_us = clock.now_us() + static_cast<std::int64_t>(seconds * 1e6);
    settle();
    while (clock.now_us() < end_us) {
      const std::int64_t next_us = std::min(kubelet.next_event_us(), scheduler->next_wake_us());
      clock.advance_to(std::min(std::max(next_us, clock.now_us() + 1), end_us));
      settle();
    }
  }

  StoredPodPtr pod(const std::string& name) const { return store.get<Pod>(key(name)); }
  /// Empty where the pod is pending; "gone" where there is none.
  std::string node_of(const std::string& name) const {
    const StoredPodPtr stored = pod(name);
    return stored == nullptr ? "gone" : stored->object->node_name;
  }
  std::string nominated_node_of(const std::string& name) const { return pod(name)->object->rare().nominated_node_name; }
  /// Reason and message of PodScheduled: "Unschedulable: 0/1 nodes ...".
  std::string condition_of(const std::string& name) const {
    const PodCondition* const condition = pod(name)->find_condition("PodScheduled");
    return condition == nullptr ? "" : condition->reason + ": " + condition->message;
  }
  const SchedulingQueue& queue() const { return scheduler->loop().queue(); }

  void on_attempt(const Attempt& attempt) override {
    attempts.push_back(attempt.info.pod->name + " " + std::string(to_string(attempt.result)));
    scores.push_back(attempt.score);
  }
  void on_bound(const QueuedPodInfo& info, std::string_view node_name) override {
    bound.push_back(info.pod->name + " on " + std::string(node_name));
  }
  void on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) override {
    preempted.push_back(victim->name + " for " + preemptor->name + " on " + std::string(node_name));
  }
  void on_pause(std::size_t unbound_pods) override { pauses.push_back(unbound_pods); }
  void on_event(const SchedulerEvent& event) override {
    events.push_back(std::string(event.reason) + " " + event.pod->name + ": " + event.note);
  }

  static ObjectKey key(std::string_view name) { return {.namespace_ = "default", .name = name}; }

  VirtualClock clock{100'000'000};
  ObjectStore store;
  Kubelet kubelet{store};
  LoopOptions options;
  std::unique_ptr<StoreScheduler> scheduler;
  Lines attempts, bound, preempted, events;
  std::vector<std::size_t> pauses;
  std::vector<std::int64_t> scores;  ///< of `attempts`

 private:
  static std::vector<std::string> split(const std::string& words) {
    std::istringstream stream(words);
    return {std::istream_iterator<std::string>(stream), {}};
  }
};

}  // namespace berth::test
