// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/framework/framework.h"
#include "host/queue/hint_table.h"
#include "plugins/default_preemption/preemption_gate.h"
#include "plugins/queueing.h"

namespace berth {

/// The plugins that a queue calls, of every profile of a configuration. Outlives the queue.
class QueuePlugins {
 public:
  /// @param registry  plugins from outside, in addition to the built ones. What neither has is left to others: only
  /// PreEnqueue and QueueSort are run here.
  /// @throws InputError when a plugin that is registered does not implement a point at which it is enabled
  QueuePlugins(const SchedulerConfig& config, const DefaultSelectorOf& default_selector_of,
               PluginRegistry registry = {});

  /// Once, for the queue.
  std::vector<QueueProfile> take_profiles() { return std::move(profiles_); }
  void set_meter(SchedulingMeter* meter) {
    for (const auto& framework : frameworks_) framework->set_meter(meter);
  }
  RunningPreemptions& running_preemptions() { return running_preemptions_; }

 private:
  RunningPreemptions running_preemptions_;
  std::vector<std::unique_ptr<Framework>> frameworks_;
  std::vector<QueueProfile> profiles_;
};

}  // namespace berth
