// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs the plugins of one profile, point by point: order, Skip and abort rules, error texts.
// docs/behaviour/scheduler-core.md 3.

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
#include "host/framework/plugin_scores.h"
#include "host/framework/pre_filter_outcome.h"
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
  /// Whether a plugin of this framework, and not of a backend, joins the point.
  bool has_plugins(ExtensionPoint point) const;
  const QueueSortPlugin* queue_sort() const { return queue_sort_.empty() ? nullptr : queue_sort_.front(); }

  /// The status of the first plugin that does not let the pod pass. `gating_plugin`, which gated the pod last time,
  /// runs first.
  Status run_pre_enqueue(const Pod& pod, std::string_view gating_plugin = {}) const;

  PreFilterOutcome run_pre_filter(const PodClassView& pod, NodeInfos nodes) const;
  Status run_add_pod(const PodClassView& pod, const Pod& other, const NodeInfo& node) const;
  Status run_remove_pod(const PodClassView& pod, const Pod& other, const NodeInfo& node) const;
  /// Sets the first rejection of each node in every request.
  void run_filters(std::span<const FilterRequest> batch) const;
  /// One node with the pods nominated to it, in two passes: docs/behaviour/scheduler-core.md 3.4. Nominated pods of
  /// lower priority and the pod itself are ignored.
  Status run_filters_with_nominated(const PodClassView& pod, const NodeInfo& node,
                                    std::span<const PodPtr> nominated) const;
  PostFilterAnswer run_post_filters(const FilterRequest& refused) const;

  Status run_pre_score(const PodClassView& pod, NodeInfos nodes) const;
  std::vector<ScoreOutcome> run_scores(std::span<const FeasibleNodes> batch) const;

  Status run_reserve(const PodOnNode& pod) const;
  void run_unreserve(const PodOnNode& pod) const;  ///< all plugins, last first
  PermitOutcome run_permit(const PodOnNode& pod) const;
  Status run_pre_bind_pre_flight(const PodOnNode& pod) const;  ///< Success: some plugin has work; Skip: none; Error
  Status run_pre_bind(const PodOnNode& pod) const;  ///< Wait: call it again; plugins that are done are left out
  Status run_bind(const PodOnNode& pod) const;      ///< Skip when no plugin binds; Wait: an answer follows
  void run_post_bind(const PodOnNode& pod) const;

 private:
  struct WeightedScore {
    ScorePlugin* plugin;
    std::int32_t weight;
  };
  Status run_filters_on(const PodClassView& pod, const NodeInfo& node) const;
  void finish_scores(const FeasibleNodes& feasible, ScoreOutcome& outcome) const;

  Status ask_pre_enqueue(const Pod& pod, std::string_view gating_plugin) const;

  std::string profile_name_;
  SchedulingMeter* meter_ = nullptr;
  std::map<std::string, std::unique_ptr<Plugin>, std::less<>> plugins_;  ///< null: runs in a backend
  std::vector<PreEnqueuePlugin*> pre_enqueue_;
  std::vector<QueueSortPlugin*> queue_sort_;
  std::vector<PreFilterPlugin*> pre_filter_;
  std::vector<FilterPlugin*> filter_;
  std::vector<PostFilterPlugin*> post_filter_;
  std::vector<PreScorePlugin*> pre_score_;
  std::vector<WeightedScore> score_;
  std::vector<ReservePlugin*> reserve_;
  std::vector<PermitPlugin*> permit_;
  std::vector<PreBindPlugin*> pre_bind_;
  std::vector<BindPlugin*> bind_;
  std::vector<PostBindPlugin*> post_bind_;
  bool has_score_plugins_ = false;  ///< counting those that run elsewhere
};

}  // namespace berth
