// SPDX-License-Identifier: Apache-2.0
#include "host/framework/framework.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "host/framework/plugin_calls.h"
#include "host/framework/plugin_instances.h"

namespace berth {
namespace {

bool is_skipped(const CycleState::Names& skipped, const Plugin& plugin) { return skipped.contains(plugin.name()); }

/// Times the plugins of one run of a point, where the meter wants that.
class PluginTimes {
 public:
  PluginTimes(SchedulingMeter* meter, MeteredPoint point)
      : meter_(meter != nullptr && meter->wants_plugins(point) ? meter : nullptr), point_(point) {}

  /// What a plugin returns. Wait is no end where the plugin is asked again, or its answer follows.
  template <class Call>
  Status ask(const Plugin& plugin, Call&& call) const {
    const MeterWatch watch(meter_);
    Status status = guarded_status(std::forward<Call>(call));
    if (status.code != StatusCode::kWait) note(plugin, status.code, watch);
    return status;
  }
  MeterWatch watch() const { return MeterWatch(meter_); }
  void note(const Plugin& plugin, StatusCode code, const MeterWatch& watch) const {
    if (meter_ != nullptr) meter_->on_plugin(plugin.name(), point_, code, watch.seconds());
  }

 private:
  SchedulingMeter* meter_;
  MeteredPoint point_;
};

}  // namespace

Framework::Framework(const Profile& profile, const PluginRegistry& registry, const FrameworkHandle& handle,
                     const std::function<bool(std::string_view)>& runs_elsewhere)
    : profile_name_(profile.scheduler_name) {
  PluginInstances instances(profile, registry, handle, runs_elsewhere);
  pre_enqueue_ = instances.joining<PreEnqueuePlugin>(ExtensionPoint::kPreEnqueue);
  queue_sort_ = instances.joining<QueueSortPlugin>(ExtensionPoint::kQueueSort);
  post_filter_ = instances.joining<PostFilterPlugin>(ExtensionPoint::kPostFilter);
  reserve_ = instances.joining<ReservePlugin>(ExtensionPoint::kReserve);
  permit_ = instances.joining<PermitPlugin>(ExtensionPoint::kPermit);
  pre_bind_ = instances.joining<PreBindPlugin>(ExtensionPoint::kPreBind);
  bind_ = instances.joining<BindPlugin>(ExtensionPoint::kBind);
  post_bind_ = instances.joining<PostBindPlugin>(ExtensionPoint::kPostBind);
  plugins_ = instances.finish();
}

bool Framework::has_plugins(ExtensionPoint point) const {
  switch (point) {
    case ExtensionPoint::kPreEnqueue:
      return !pre_enqueue_.empty();
    case ExtensionPoint::kQueueSort:
      return !queue_sort_.empty();
    case ExtensionPoint::kPostFilter:
      return !post_filter_.empty();
    case ExtensionPoint::kReserve:
      return !reserve_.empty();
    case ExtensionPoint::kPermit:
      return !permit_.empty();
    case ExtensionPoint::kPreBind:
      return !pre_bind_.empty();
    case ExtensionPoint::kBind:
      return !bind_.empty();
    case ExtensionPoint::kPostBind:
      return !post_bind_.empty();
    case ExtensionPoint::kPreFilter:
    case ExtensionPoint::kFilter:
    case ExtensionPoint::kPreScore:
    case ExtensionPoint::kScore:
      return false;
  }
  return false;
}

Status Framework::run_pre_enqueue(const Pod& pod, std::string_view gating_plugin) const {
  const MeterWatch watch(meter_);
  Status status = ask_pre_enqueue(pod, gating_plugin);
  if (meter_ != nullptr) meter_->on_point(MeteredPoint::kPreEnqueue, status.code, profile_name_, watch.seconds());
  return status;
}

Status Framework::ask_pre_enqueue(const Pod& pod, std::string_view gating_plugin) const {
  const PluginTimes times(meter_, MeteredPoint::kPreEnqueue);
  for (const bool is_gating_turn : {true, false}) {
    for (PreEnqueuePlugin* plugin : pre_enqueue_) {
      if ((plugin->name() == gating_plugin) != is_gating_turn) continue;
      Status status = times.ask(*plugin, [&] { return plugin->pre_enqueue(pod); });
      if (!status.ok()) return named(std::move(status), *plugin);
    }
  }
  return {};
}

PostFilterPlugin* Framework::find_post_filter(std::string_view name) const {
  const auto found = std::ranges::find_if(post_filter_, [&](const PostFilterPlugin* p) { return p->name() == name; });
  return found == post_filter_.end() ? nullptr : *found;
}

PostFilterAnswer Framework::run_post_filter(PostFilterPlugin& plugin, const RefusedPod& refused) {
  PostFilterAnswer answer = guarded([&] { return plugin.post_filter(refused); },
                                    [](Status status) { return PostFilterAnswer{std::move(status), {}}; });
  answer.status = named(std::move(answer.status), plugin);
  return answer;
}

Status Framework::run_reserve(const PodOnNode& pod) const {
  const PluginTimes times(meter_, MeteredPoint::kReserve);
  for (ReservePlugin* plugin : reserve_) {
    Status status = times.ask(*plugin, [&] { return plugin->reserve(pod); });
    if (!status.ok()) return rejected_or_error("running Reserve plugin", *plugin, std::move(status));
  }
  return {};
}

void Framework::run_unreserve(const PodOnNode& pod) const {
  const PluginTimes times(meter_, MeteredPoint::kUnreserve);
  for (ReservePlugin* plugin : reserve_ | std::views::reverse) {
    const MeterWatch watch = times.watch();
    plugin->unreserve(pod);
    times.note(*plugin, StatusCode::kSuccess, watch);
  }
}

PermitOutcome Framework::run_permit(const PodOnNode& pod) const {
  const PluginTimes times(meter_, MeteredPoint::kPermit);
  PermitOutcome outcome;
  for (PermitPlugin* plugin : permit_) {
    const MeterWatch watch = times.watch();
    PermitAnswer answer =
        guarded([&] { return plugin->permit(pod); }, [](Status status) { return PermitAnswer{std::move(status), 0}; });
    times.note(*plugin, answer.status.code, watch);
    if (answer.status.ok()) continue;
    if (answer.status.code != StatusCode::kWait) {
      return {rejected_or_error("running Permit plugin", *plugin, std::move(answer.status)), {}};
    }
    outcome.waits.push_back({std::string(plugin->name()), std::min(answer.timeout_us, kPermitTimeoutMaxUs)});
  }
  if (!outcome.waits.empty()) {
    const std::string text = "one or more plugins asked to wait and no plugin rejected pod " + quoted(pod.pod->name);
    outcome.status = {StatusCode::kWait, "", {text}};
  }
  return outcome;
}

Status Framework::run_pre_bind_pre_flight(const PodOnNode& pod) const {
  const PluginTimes times(meter_, MeteredPoint::kPreBindPreFlight);
  Status outcome{StatusCode::kSkip, "", {}};
  CycleState::Names skipped;
  for (PreBindPlugin* plugin : pre_bind_) {
    const Status status = times.ask(*plugin, [&] { return plugin->pre_bind_pre_flight(pod); });
    if (status.code == StatusCode::kSkip) {
      skipped.emplace(plugin->name());
    } else if (status.ok()) {
      outcome = {};
    } else {
      return wrapped_error("running PreBindPreFlight plugin", *plugin, status);
    }
  }
  pod.state->skipped_pre_binds() = std::move(skipped);
  return outcome;
}

Status Framework::run_pre_bind(const PodOnNode& pod) const {
  const PluginTimes times(meter_, MeteredPoint::kPreBind);
  std::optional<Status> group_waits;  // of neighbours that allow each other, the first one that is not done
  for (PreBindPlugin* plugin : pre_bind_) {
    const bool is_in_group = parallel_pre_bind_ && plugin->allows_parallel(pod);
    if (group_waits && !is_in_group) return *std::move(group_waits);
    if (is_skipped(pod.state->skipped_pre_binds(), *plugin)) continue;
    Status status = times.ask(*plugin, [&] { return plugin->pre_bind(pod); });
    if (status.code == StatusCode::kWait) {
      if (!group_waits) group_waits = named(std::move(status), *plugin);
      if (!is_in_group) return *std::move(group_waits);
      continue;
    }
    if (!status.ok()) return rejected_or_error("running PreBind plugin", *plugin, std::move(status));
    pod.state->skipped_pre_binds().emplace(plugin->name());  // when another one waits, this one is not asked again
  }
  return group_waits ? *std::move(group_waits) : Status{};
}

Status Framework::run_bind(const PodOnNode& pod) const {
  const PluginTimes times(meter_, MeteredPoint::kBind);
  for (BindPlugin* plugin : bind_) {
    Status status = times.ask(*plugin, [&] { return plugin->bind(pod); });
    if (status.code == StatusCode::kSkip) continue;
    if (status.code == StatusCode::kWait) return named(std::move(status), *plugin);
    return rejected_or_error("running Bind plugin", *plugin, std::move(status));
  }
  return {StatusCode::kSkip, "", {"every Bind plugin skipped the pod"}};
}

void Framework::run_post_bind(const PodOnNode& pod) const {
  const PluginTimes times(meter_, MeteredPoint::kPostBind);
  for (PostBindPlugin* plugin : post_bind_) {
    const MeterWatch watch = times.watch();
    plugin->post_bind(pod);
    times.note(*plugin, StatusCode::kSuccess, watch);
  }
}

}  // namespace berth
