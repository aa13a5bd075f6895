// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/framework/clock.h"
#include "host/objects/pod_copy.h"
#include "host/queue/event_router.h"
#include "host/queue/queue_plugins.h"
#include "host/queue/scheduling_queue.h"
#include "tests/support/object_text.h"

namespace berth::test {

/// No pod is assumed unless it is listed.
class ListedAssumedPods : public AssumedPods {
 public:
  bool is_assumed(const Pod& pod) const override { return find(pod) != pods.end(); }
  PodPtr give_up(const Pod& pod) override {
    const auto at = find(pod);
    return at == pods.end() ? nullptr : *at;
  }
  std::vector<PodPtr> pods;

 private:
  std::vector<PodPtr>::const_iterator find(const Pod& pod) const {
    return std::find_if(pods.begin(), pods.end(), [&](const PodPtr& other) { return same_uid(*other, pod); });
  }
};

/// "a cpu=1 priority=5" as scenarios write a pod.
inline PodPtr pod_of(const std::string& text) { return make_pods(split_words("pod " + text)).front(); }
inline NodePtr node_of(const std::string& text) {
  ClusterObjects objects;
  add_nodes(split_words("node " + text), objects);
  return objects.nodes.front();
}

/// A queue on a virtual clock that begins at 100 s.
class QueueFixture {
 public:
  explicit QueueFixture(const std::string& gates = "", QueueOptions options = {}) { build(gates, std::move(options)); }

  SchedulingQueue& queue() { return *queue_; }
  EventRouter& router() { return *router_; }
  QueuePlugins& plugins() { return *plugins_; }
  /// Seconds; the flushes between are done in time.
  void run_until(double seconds) {
    const auto until_us = static_cast<std::int64_t>(std::llround(seconds * 1e6));
    while (queue_->next_flush_us() <= until_us) {
      clock.advance_to(queue_->next_flush_us());
      queue_->flush();
    }
    clock.advance_to(until_us);
  }
  PodPtr add(const std::string& text) {
    const PodPtr pod = pod_of(text);
    queue_->add(pod);
    return pod;
  }
  /// Its name; empty when none is ready.
  std::string pop() {
    const std::optional<QueuedPodInfo> info = queue_->pop();
    if (!info) return "";
    popped[info->pod->name] = *info;
    return info->pod->name;
  }
  bool fail(const std::string& name, const PluginNames& unschedulable, const PluginNames& pending = {}) {
    return queue_->add_failed(popped.at(name), {unschedulable, pending});
  }
  /// Adds a pod and lets its attempt fail. Pods before it are popped, too.
  PodPtr add_failed(const std::string& text, const PluginNames& unschedulable, const PluginNames& pending = {}) {
    const PodPtr pod = add(text);
    for (std::string next = pop(); next != pod->name; next = pop())
      if (next.empty()) throw TextError("the pod is not ready: " + text);
    fail(pod->name, unschedulable, pending);
    return pod;
  }
  /// "active", "backoff", "unschedulable", "gated", "" for none.
  std::string place_of(const std::string& name) const {
    const auto among = [&name](const std::vector<PodPtr>& pods) {
      return std::any_of(pods.begin(), pods.end(), [&name](const PodPtr& pod) { return pod->name == name; });
    };
    const SchedulingQueue::PendingPods pods = queue_->pending_pods();
    if (among(pods.active)) return "active";
    if (among(pods.backoff)) return "backoff";
    return among(pods.unschedulable) ? "unschedulable" : "";
  }

  VirtualClock clock{100'000'000};
  SchedulerConfig config;
  ListedAssumedPods assumed;
  std::map<std::string, QueuedPodInfo> popped;

 private:
  void build(const std::string& gates, QueueOptions options) {
    FeatureGates feature_gates(options.release);
    feature_gates.apply(gates);
    config = default_scheduler_config(feature_gates);
    options.pops_from_backoff = feature_gates.enabled("SchedulerPopFromBackoffQ");
    plugins_ = std::make_unique<QueuePlugins>(config, nullptr);
    queue_ = std::make_unique<SchedulingQueue>(plugins_->take_profiles(), options, clock);
    router_ = std::make_unique<EventRouter>(*queue_, assumed, feature_gates);
  }
  std::unique_ptr<QueuePlugins> plugins_;
  std::unique_ptr<SchedulingQueue> queue_;
  std::unique_ptr<EventRouter> router_;
};

}  // namespace berth::test
