// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs the plugins of one profile at the points before and behind the choice of a node: order, Skip and abort rules,
// error texts. docs/behaviour/scheduler-core.md 3.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/framework/plugin.h"
#include "host/framework/plugin_registry.h"
#include "host/framework/scheduling_meter.h"
#include "host/framework/waiting_pods.h"

namespace berth {

inline constexpr std::int64_t kPermitTimeoutMaxUs = std::int64_t{15} * 60 * 1'000'000;

struct PermitOutcome {
  Status status;                     ///< Success, Wait, a rejection or an Error
  std::vector<PermitTimeout> waits;  ///< for Wait: timeout of each waiting plugin, at most 15 minutes
};

/// The plugins of one profile, except those that run in the backends.
class Framework {
 public:
  /// @param runs_elsewhere whether a backend runs the plugin of a name that `registry` does not have
  /// @throws InputError naming every plugin that is neither registered nor run by a backend, or that does not implement
  ///     a point at which it is enabled
  Framework(const Profile& profile, const PluginRegistry& registry, const FrameworkHandle& handle,
            const std::function<bool(std::string_view)>& runs_elsewhere);

  const std::string& profile_name() const { return profile_name_; }
  /// @param meter  is told of PreEnqueue and of the plugins of metered points; null: nobody. Outlives the framework
  void set_meter(SchedulingMeter* meter) { meter_ = meter; }
  SchedulingMeter* meter() const { return meter_; }
  /// As 1.36: PreBind plugins that allow it run beside each other.
  void set_parallel_pre_bind(bool is_on) { parallel_pre_bind_ = is_on; }
  /// Whether a plugin of this framework, and not of a backend, joins the point.
  bool has_plugins(ExtensionPoint point) const;
  const QueueSortPlugin* queue_sort() const { return queue_sort_.empty() ? nullptr : queue_sort_.front(); }

  /// The status of the first plugin that does not let the pod pass. `gating_plugin`, which gated the pod last time,
  /// runs first.
  Status run_pre_enqueue(const Pod& pod, std::string_view gating_plugin = {}) const;

  /// For the caller, who runs DefaultPreemption among them (host/preemption/post_filter_plugins.h). @return null: none
  PostFilterPlugin* find_post_filter(std::string_view name) const;
  static PostFilterAnswer run_post_filter(PostFilterPlugin& plugin, const RefusedPod& refused);

  Status run_reserve(const PodOnNode& pod) const;
  void run_unreserve(const PodOnNode& pod) const;  ///< all plugins, last first
  PermitOutcome run_permit(const PodOnNode& pod) const;
  Status run_pre_bind_pre_flight(const PodOnNode& pod) const;  ///< Success: some plugin has work; Skip: none; Error
  Status run_pre_bind(const PodOnNode& pod) const;             ///< Wait: call it again; who is done is left out
  Status run_bind(const PodOnNode& pod) const;                 ///< Skip when no plugin binds; Wait: an answer follows
  void run_post_bind(const PodOnNode& pod) const;

 private:
  Status ask_pre_enqueue(const Pod& pod, std::string_view gating_plugin) const;

  std::string profile_name_;
  SchedulingMeter* meter_ = nullptr;
  bool parallel_pre_bind_ = false;
  std::map<std::string, std::unique_ptr<Plugin>, std::less<>> plugins_;  ///< null: runs in a backend
  std::vector<PreEnqueuePlugin*> pre_enqueue_;
  std::vector<QueueSortPlugin*> queue_sort_;
  std::vector<PostFilterPlugin*> post_filter_;
  std::vector<ReservePlugin*> reserve_;
  std::vector<PermitPlugin*> permit_;
  std::vector<PreBindPlugin*> pre_bind_;
  std::vector<BindPlugin*> bind_;
  std::vector<PostBindPlugin*> post_bind_;
};

}  // namespace berth
