// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs the plugins of one profile, point by point: order, Skip and abort rules, error texts.
// docs/behaviour/scheduler-core.md 3.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/framework/plugin.h"
#include "host/framework/plugin_registry.h"
#include "host/framework/waiting_pods.h"

namespace berth {

inline constexpr std::int64_t kPermitTimeoutMaxUs = std::int64_t{15} * 60 * 1'000'000;

/// Answer of all PreFilter plugins together.
struct PreFilterOutcome {
  Status status;
  std::optional<std::set<std::string>> node_names;  ///< what is left of the nodes; nullopt: all
  std::set<std::string> narrowing_plugins;          ///< gave a node set; rejectors even when another plugin refuses

  /// What nodes outside `node_names` get: docs/behaviour/scheduler-core.md 3.3. Without reasons when nothing was
  /// narrowed.
  Status absent_node_status() const;
};

/// Of a pod that PreFilter rejected: its message is the whole text.
Diagnosis diagnose(const PreFilterOutcome& rejection, std::int64_t node_count);
/// Counts the reasons of a pod that no node took.
/// @param node_count all nodes of the snapshot; those without a refusal count with the reasons of `absent`
Diagnosis diagnose(const Verdicts& verdicts, std::int64_t node_count, const Status& absent);

struct FeasibleNodes {
  PodClassView pod;
  NodeInfos nodes;
};

struct ScoreColumn {
  std::string plugin;
  std::int32_t weight = 1;
  std::vector<std::int64_t> raw;         ///< one a node
  std::vector<std::int64_t> normalized;  ///< within [0, 100]
};

/// Scores of one pod on its feasible nodes.
struct ScoreOutcome {
  Status status;                     ///< Success or Error; behind an Error the rest means nothing
  std::vector<ScoreColumn> columns;  ///< of the plugins that were not skipped, in profile order
  std::vector<std::int64_t> totals;  ///< weighted sums; all 1 when the profile has no Score plugin
};

struct PermitOutcome {
  Status status;                     ///< Success, Wait, a rejection or an Error
  std::vector<PermitTimeout> waits;  ///< for Wait: who waits how long, at most 15 minutes
};

/// The plugins of one profile. Plugins that the backends run are passed over at every point.
class Framework {
 public:
  /// @param runs_elsewhere tells for a name that `registry` does not have whether a backend runs it
  /// @throws InputError naming every plugin that is neither registered nor run elsewhere, or that does not implement a
  ///     point it is enabled at
  Framework(const Profile& profile, const PluginRegistry& registry, const FrameworkHandle& handle,
            const std::function<bool(std::string_view)>& runs_elsewhere);

  const std::string& profile_name() const { return profile_name_; }
  /// Whether a plugin of this framework, and not of a backend, joins the point.
  bool has_plugins(ExtensionPoint point) const;
  const QueueSortPlugin* queue_sort() const { return queue_sort_.empty() ? nullptr : queue_sort_.front(); }

  /// The first that does not let the pod pass, named in the answer. `gating_plugin` is asked first: it held the pod
  /// last.
  Status run_pre_enqueue(const Pod& pod, std::string_view gating_plugin = {}) const;

  PreFilterOutcome run_pre_filter(const PodClassView& pod, NodeInfos nodes) const;
  Status run_add_pod(const PodClassView& pod, const Pod& other, const NodeInfo& node) const;
  Status run_remove_pod(const PodClassView& pod, const Pod& other, const NodeInfo& node) const;
  /// Every request gets the first refusal of each of its nodes.
  void run_filters(std::span<const FilterRequest> batch) const;
  /// One node with the pods nominated to it, in two passes: docs/behaviour/scheduler-core.md 3.4. Nominated pods of
  /// lower priority and the pod itself are left out here.
  Status run_filters_with_nominated(const PodClassView& pod, const NodeInfo& node,
                                    std::span<const PodPtr> nominated) const;
  PostFilterAnswer run_post_filters(const FilterRequest& refused) const;

  Status run_pre_score(const PodClassView& pod, NodeInfos nodes) const;
  std::vector<ScoreOutcome> run_scores(std::span<const FeasibleNodes> batch) const;

  Status run_reserve(const PodOnNode& pod) const;
  void run_unreserve(const PodOnNode& pod) const;  ///< all plugins, last first
  PermitOutcome run_permit(const PodOnNode& pod) const;
  Status run_pre_bind_pre_flight(const PodOnNode& pod) const;  ///< Success: someone has work; Skip: nobody; Error
  Status run_pre_bind(const PodOnNode& pod) const;
  Status run_bind(const PodOnNode& pod) const;  ///< Skip when nobody binds
  void run_post_bind(const PodOnNode& pod) const;

 private:
  class Builder;
  struct WeightedScore {
    ScorePlugin* plugin;
    std::int32_t weight;
  };
  Status run_filters_on(const PodClassView& pod, const NodeInfo& node) const;
  void finish_scores(const FeasibleNodes& feasible, ScoreOutcome& outcome) const;

  std::string profile_name_;
  std::map<std::string, std::unique_ptr<Plugin>, std::less<>> plugins_;
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
