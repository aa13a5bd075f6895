// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "host/scheduler/loop/loop_observer.h"

namespace berth {

/// Tells several observers what a SchedulingLoop does, in their order.
class LoopObservers final : public LoopObserver {
 public:
  /// @param observers  outlive this object; null ones are left out
  explicit LoopObservers(std::vector<LoopObserver*> observers) : observers_(std::move(observers)) {
    std::erase(observers_, nullptr);
  }

  void on_attempt(const Attempt& attempt) override {
    for (LoopObserver* observer : observers_) observer->on_attempt(attempt);
  }
  void on_bound(const QueuedPodInfo& info, std::string_view node_name) override {
    for (LoopObserver* observer : observers_) observer->on_bound(info, node_name);
  }
  void on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) override {
    for (LoopObserver* observer : observers_) observer->on_preempted(victim, preemptor, node_name);
  }
  void on_mismatch(std::string_view text) override {
    for (LoopObserver* observer : observers_) observer->on_mismatch(text);
  }
  void on_pause(std::size_t unbound_pods) override {
    for (LoopObserver* observer : observers_) observer->on_pause(unbound_pods);
  }
  void on_event(const SchedulerEvent& event) override {
    for (LoopObserver* observer : observers_) observer->on_event(event);
  }

 private:
  std::vector<LoopObserver*> observers_;
};

}  // namespace berth
