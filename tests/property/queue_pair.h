// SPDX-License-Identifier: Apache-2.0
#pragma once

// A queue and a plain model of it, which get the same calls, drawn by a seed.

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/queue/change_events.h"
#include "host/queue/queue_plugins.h"
#include "host/queue/scheduling_queue.h"
#include "tests/property/drawn_case.h"
#include "tests/property/plain_queue.h"
#include "tests/support/object_text.h"

namespace berth::test {

using MakeQueueCall = std::function<void(const std::function<void()>& call)>;

inline const std::vector<std::string> kQueuedPodWords = {
    "cpu=1",
    "cpu=3",
    "memory=1Gi",
    "select:disk=ssd",
    "need=disk:Gt:x",
    "port=80",
    "port=UDP/80",
    "tolerate=a",
    "tolerate=node.kubernetes.io/unschedulable:NoSchedule",
    "label:app=web",
    "label:app=db",
    "label:rev=1",
    "spread=zone match=app=web",
    "spread=zone match=app:Exists match-keys=rev node-taints=Honor",
    "pod-affinity=zone match=app=web",
    "pod-anti-affinity=zone match=app=web",
    "priority=1",
    "priority=2",
    "namespace=other",
    "gate=g",
    "nominated=n1"};
inline const std::vector<std::string> kEventNodeWords = {"cpu=2",  "cpu=4",    "memory=2Gi",         "label:disk=ssd",
                                                         "zone=a", "zone=b",   "taint=a:NoSchedule", "unschedulable",
                                                         "pods=0", "feature=A"};
inline const std::vector<std::string> kRejectingPlugins = {
    "NodeResourcesFit", "NodeAffinity",      "NodePorts",        "NodeUnschedulable",    "TaintToleration",
    "NodeName",         "PodTopologySpread", "InterPodAffinity", "NodeDeclaredFeatures", "Unknown"};

/// Up to three words, each of another kind.
inline std::string draw_words(Dice& dice, const std::vector<std::string>& words) {
  std::string text;
  std::set<std::string> kinds;
  for (std::int64_t count = dice.upto(3); count > 0; --count) {
    const std::string word = dice.pick(words);
    if (kinds.insert(word.substr(0, word.find('='))).second) text += " " + word;
  }
  return text;
}

/// Both queues with the same calls.
class QueuePair {
 public:
  /// @param make  makes a call of the queue, once; the model is told afterwards
  explicit QueuePair(
      std::uint64_t seed, MakeQueueCall make = [](const auto& call) { call(); })
      : make_(std::move(make)), dice_(seed), gates_(draw_gates()), config_(default_scheduler_config(gates_)) {
    if (dice_.one_in(2)) {
      options_.initial_backoff_us = 1 + dice_.upto(3'000'000);
      options_.max_backoff_us = options_.initial_backoff_us + dice_.upto(20'000'000);
    }
    options_.max_unschedulable_us = dice_.pick(std::vector<std::int64_t>{5'000'000, 40'000'000});
    options_.pops_from_backoff = gates_.enabled("SchedulerPopFromBackoffQ");
    queue_ = std::make_unique<SchedulingQueue>(plugins_.take_profiles(), options_, clock_);
    const auto gates = [this](const Pod& pod) {
      std::vector<std::string> closed;
      if (!pod.rare().scheduling_gates.empty()) closed.emplace_back("SchedulingGates");
      if (plugins_.running_preemptions().contains(pod)) closed.emplace_back("DefaultPreemption");
      return closed;
    };
    plain_ =
        std::make_unique<PlainQueue>(PlainQueue::Options{options_.initial_backoff_us, options_.max_backoff_us,
                                                         options_.max_unschedulable_us, options_.pops_from_backoff},
                                     make_queueing_hints(config_.profiles.front(), gates_, nullptr), gates);
    plain_->set_time(clock_.now_us());
  }

  void step() {
    switch (dice_.upto(11)) {
      case 0:
      case 1:
        return add_or_update();
      case 2:
      case 3:
      case 4:
        return pop();
      case 5:
      case 6:
        return fail();
      case 7:
        return change_node();
      case 8:
        return change_other_pod();
      case 9:
        return pass_time();
      case 10:
        return activate_or_remove();
      default:
        return turn_preemption();
    }
  }
  const SchedulingQueue& queue() const { return *queue_; }
  void compare() const {
    std::map<std::string, std::string> places;
    const SchedulingQueue::PendingPods pods = queue_->pending_pods();
    for (const PodPtr& pod : pods.active) places[pod->name] = "active";
    for (const PodPtr& pod : pods.backoff) places[pod->name] = "backoff";
    for (const PodPtr& pod : pods.unschedulable) places[pod->name] = "unschedulable";
    std::map<std::string, std::string> expected = plain_->places();
    std::size_t gated = 0;
    for (auto& [name, place] : expected) {
      if (place != "gated") continue;
      place = "unschedulable";
      ++gated;
    }
    RC_ASSERT(places == expected);
    RC_ASSERT(queue_->sizes().gated == gated);
  }

 private:
  struct Try {
    QueuedPodInfo info;
    PlainQueue::Attempt attempt;
  };

  FeatureGates draw_gates() {
    FeatureGates gates(dice_.one_in(2) ? Release::k1_36 : Release::k1_35);
    if (dice_.one_in(3)) gates.apply("SchedulerPopFromBackoffQ=false");
    if (dice_.one_in(3)) gates.apply("SchedulerAsyncPreemption=false");
    return gates;
  }
  /// Of few kinds, so that pods share classes.
  PodPtr draw_pod(const std::string& name) {
    if (kinds_.size() < 6) kinds_.push_back(draw_words(dice_, kQueuedPodWords));
    const std::string more =
        dice_.pick(std::vector<std::string>{"", " priority=1", " label:rev=1", " namespace=other"});
    const std::string& kind = dice_.pick(kinds_);
    const bool repeats = kind.find(more.substr(0, more.find('='))) != std::string::npos;
    return make_pods(split_words("pod " + name + kind + (repeats ? "" : more))).front();
  }
  NodePtr draw_node() {
    ClusterObjects objects;
    add_nodes(split_words("node n" + draw_words(dice_, kEventNodeWords)), objects);
    return objects.nodes.front();
  }
  std::string draw_name() { return "p" + std::to_string(dice_.upto(12)); }

  /// The pod of a name, created when there is none.
  void add_or_update() {
    const std::string name = draw_name();
    const auto known = pods_.find(name);
    if (known == pods_.end()) {
      const PodPtr pod = pods_[name] = draw_pod(name);
      make_([&] { queue_->add(pod); });
      plain_->add(pod);
      return;
    }
    const PodPtr before = known->second;
    auto after = dice_.one_in(3) ? make_pods({"pod", name}).front() : draw_pod(name);
    if (after->namespace_ != before->namespace_) return;
    known->second = after;
    if (tries_.contains(name)) {
      tries_.at(name).info.pod = after;
      tries_.at(name).attempt.pod = after;
    }
    make_([&] { queue_->update(before, after); });
    plain_->update(before, after, pod_change_events(*before, *after, gates_.release()));
  }
  void pop() {
    const std::vector<PodPtr> head = queue_->head(SIZE_MAX);
    const auto next = std::find_if(head.begin(), head.end(),
                                   [this](const PodPtr& pod) { return !queue_->in_flight().contains(pod->uid()); });
    std::optional<QueuedPodInfo> info;
    make_([&] { info = queue_->pop(); });
    RC_ASSERT(info.has_value() == (next != head.end()));
    if (info) RC_ASSERT(info->pod == *next);
    const std::optional<PlainQueue::Attempt> attempt = plain_->pop();
    RC_ASSERT(info.has_value() == attempt.has_value());
    if (!info) return;
    RC_ASSERT(info->pod == attempt->pod);
    RC_ASSERT(static_cast<int>(info->attempts) == attempt->attempts);
    RC_ASSERT(info->timestamp_us == attempt->timestamp_us);
    tries_[info->pod->name] = {*info, *attempt};
  }
  void fail() {
    if (tries_.empty()) return;
    const auto at = std::next(tries_.begin(), dice_.upto(static_cast<std::int64_t>(tries_.size()) - 1));
    const Try tried = at->second;
    tries_.erase(at);
    if (dice_.one_in(6)) {  // bound, or deleted
      make_([&] { queue_->done(tried.info.pod->uid()); });
      plain_->done(*tried.info.pod);
      pods_.erase(tried.info.pod->name);
      return;
    }
    Rejectors rejectors;
    std::set<std::string> unschedulable;
    std::set<std::string> pending;
    for (std::int64_t count = dice_.upto(3); count > 0; --count) {
      const std::string plugin = dice_.pick(kRejectingPlugins);
      const bool waits = dice_.one_in(4);
      (waits ? pending : unschedulable).insert(plugin);
      (waits ? rejectors.pending : rejectors.unschedulable).insert(plugin);
    }
    bool kept = false;
    make_([&] { kept = queue_->add_failed(tried.info, rejectors); });
    RC_ASSERT(kept == plain_->add_failed(tried.attempt, unschedulable, pending));
  }
  void raise(ClusterEvent event, const EventObjects& objects) {
    const std::int32_t priority_max = dice_.one_in(4) ? 1 : INT32_MAX;
    make_([&] { queue_->move_on_event(event, objects, {.priority_max = priority_max}); });
    plain_->raise(event, objects, priority_max);
  }
  void change_node() {
    const NodePtr before = draw_node();
    const NodePtr after = draw_node();
    const std::int64_t what = dice_.upto(4);
    if (what == 0) return raise({EventResource::kNode, EventAction::kAdd}, {.new_node = after});
    if (what == 1) return raise({EventResource::kNode, EventAction::kDelete}, {.old_node = before});
    for (const ClusterEvent event : node_change_events(*before, *after, gates_.enabled("NodeDeclaredFeatures")))
      raise(event, {.old_node = before, .new_node = after});
  }
  /// Mostly one that stands on a node; also one of the pods that wait, whose nomination ends.
  void change_other_pod() {
    const PodPtr before = draw_on_node();
    const PodPtr after = draw_on_node();
    const std::int64_t what = dice_.upto(4);
    if (what == 0) return raise({EventResource::kAssignedPod, EventAction::kAdd}, {.new_pod = after});
    if (what == 1) return raise({EventResource::kAssignedPod, EventAction::kDelete}, {.old_pod = before});
    if (what == 2 && !pods_.empty())
      return raise({EventResource::kAssignedPod, EventAction::kDelete}, {.old_pod = pods_.begin()->second});
    for (const ClusterEvent event : pod_change_events(*before, *after, gates_.release()))
      raise(event, {.old_pod = before, .new_pod = after});
  }
  PodPtr draw_on_node() {
    return make_pods(split_words("pod other on=n1" + draw_words(dice_, kQueuedPodWords))).front();
  }
  void pass_time() {
    clock_.advance_by(dice_.pick(std::vector<std::int64_t>{0, 1, 300'000, 1'000'000, 2'700'000, 11'000'000}));
    plain_->set_time(clock_.now_us());
    if (dice_.one_in(2)) {
      make_([&] { queue_->flush_backoff(); });
      plain_->flush_backoff();
    }
    if (dice_.one_in(3)) {
      make_([&] { queue_->flush_leftovers(); });
      plain_->flush_leftovers();
    }
  }
  void activate_or_remove() {
    const auto known = pods_.find(draw_name());
    if (known == pods_.end()) return;
    const PodPtr pod = known->second;
    if (dice_.one_in(2)) {
      make_([&] { queue_->activate({&pod, 1}); });
      plain_->activate(pod);
    } else {
      make_([&] { queue_->remove(*pod); });
      plain_->remove(*pod);
      if (!tries_.contains(pod->name)) pods_.erase(known);
    }
  }
  void turn_preemption() {
    if (pods_.empty() || !gates_.enabled("SchedulerAsyncPreemption")) return;
    const PodPtr pod = pods_.begin()->second;
    RunningPreemptions& running = plugins_.running_preemptions();
    running.contains(*pod) ? running.end(*pod) : running.begin(*pod);
  }

  MakeQueueCall make_;
  Dice dice_;
  FeatureGates gates_;
  SchedulerConfig config_;
  QueueOptions options_;
  VirtualClock clock_{1'000'000'000};
  QueuePlugins plugins_{config_, nullptr};
  std::unique_ptr<SchedulingQueue> queue_;
  std::unique_ptr<PlainQueue> plain_;
  std::vector<std::string> kinds_;
  std::map<std::string, PodPtr> pods_;
  std::map<std::string, Try> tries_;
};

}  // namespace berth::test
