// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "host/framework/plugin.h"

namespace berth {

/// Pods whose victims are being evicted.
class RunningPreemptions {
 public:
  void begin(const Pod& pod) { uids_.insert(pod.uid()); }
  void end(const Pod& pod) { uids_.erase(pod.uid()); }
  bool contains(const Pod& pod) const { return !uids_.empty() && uids_.contains(pod.uid()); }

 private:
  std::unordered_set<std::string> uids_;
};

/// DefaultPreemption at PreEnqueue: keeps a pod out of the active queue while its preemption runs
/// (docs/behaviour/scheduler-core.md 1.6; gate SchedulerAsyncPreemption).
class PreemptionGate : public PreEnqueuePlugin {
 public:
  static constexpr std::string_view kName = "DefaultPreemption";
  /// `running` must outlive the object.
  explicit PreemptionGate(const RunningPreemptions& running) : running_(running) {}
  std::string_view name() const override { return kName; }
  Status pre_enqueue(const Pod& pod) override;

 private:
  const RunningPreemptions& running_;
};

}  // namespace berth
