// SPDX-License-Identifier: Apache-2.0
#include "host/framework/framework.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "host/cluster/pod_footprint.h"
#include "host/framework/plugin_calls.h"
#include "host/framework/plugin_instances.h"

namespace berth {
namespace {

bool is_skipped(const CycleState::Names& skipped, const Plugin& plugin) { return skipped.contains(plugin.name()); }

/// After a plugin threw none of its verdicts counts: every pod of the call fails.
void refuse_all(std::span<const FilterRequest> batch, const Status& status) {
  for (const FilterRequest& request : batch) {
    for (std::size_t node = 0; node < request.nodes.size(); ++node) {
      request.verdicts->refuse(node, StatusCode::kError, status.reasons);
    }
  }
}

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
  pre_filter_ = instances.joining<PreFilterPlugin>(ExtensionPoint::kPreFilter);
  filter_ = instances.joining<FilterPlugin>(ExtensionPoint::kFilter);
  post_filter_ = instances.joining<PostFilterPlugin>(ExtensionPoint::kPostFilter);
  pre_score_ = instances.joining<PreScorePlugin>(ExtensionPoint::kPreScore);
  has_score_plugins_ = !profile.at(ExtensionPoint::kScore).empty();
  for (const EnabledPlugin& enabled : profile.at(ExtensionPoint::kScore))
    if (auto* plugin = instances.find<ScorePlugin>(ExtensionPoint::kScore, enabled.name))
      score_.push_back({plugin, enabled.weight == 0 ? 1 : enabled.weight});
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
    case ExtensionPoint::kPreFilter:
      return !pre_filter_.empty();
    case ExtensionPoint::kFilter:
      return !filter_.empty();
    case ExtensionPoint::kPostFilter:
      return !post_filter_.empty();
    case ExtensionPoint::kPreScore:
      return !pre_score_.empty();
    case ExtensionPoint::kScore:
      return !score_.empty();
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

PreFilterOutcome Framework::run_pre_filter(const PodClassView& pod, NodeInfos nodes) const {
  PreFilterOutcome outcome;
  CycleState::Names skipped;
  for (PreFilterPlugin* plugin : pre_filter_) {
    PreFilterResult answer = guarded([&] { return plugin->pre_filter(pod, nodes); },
                                     [](Status status) { return PreFilterResult{std::move(status), {}}; });
    if (answer.status.code == StatusCode::kSkip) {
      skipped.emplace(plugin->name());
    } else if (answer.status.code == StatusCode::kUnschedulable) {
      outcome.status = named(std::move(answer.status), *plugin);  // the rest still prepares what preemption reads
    } else if (!answer.status.ok()) {
      const bool rejects = answer.status.code == StatusCode::kUnschedulableAndUnresolvable;
      outcome.status = rejects ? named(std::move(answer.status), *plugin)
                               : wrapped_error("running PreFilter plugin", *plugin, answer.status);
      break;
    } else if (answer.node_names.has_value() && !outcome.narrow(plugin->name(), *std::move(answer.node_names))) {
      break;
    }
  }
  pod.state->skipped_filters() = std::move(skipped);
  return outcome;
}

Status Framework::run_add_pod(const PodClassView& pod, const Pod& other, const NodeInfo& node) const {
  for (PreFilterPlugin* plugin : pre_filter_) {
    if (is_skipped(pod.state->skipped_filters(), *plugin)) continue;
    const Status status = guarded_status([&] { return plugin->add_pod(pod, other, node); });
    if (!status.ok()) return wrapped_error("running AddPod on PreFilter plugin", *plugin, status);
  }
  return {};
}

Status Framework::run_remove_pod(const PodClassView& pod, const Pod& other, const NodeInfo& node) const {
  for (PreFilterPlugin* plugin : pre_filter_) {
    if (is_skipped(pod.state->skipped_filters(), *plugin)) continue;
    const Status status = guarded_status([&] { return plugin->remove_pod(pod, other, node); });
    if (!status.ok()) return wrapped_error("running RemovePod on PreFilter plugin", *plugin, status);
  }
  return {};
}

void Framework::run_filters(std::span<const FilterRequest> batch) const {
  std::vector<FilterRequest> asked;
  for (FilterPlugin* plugin : filter_) {
    asked.clear();
    for (const FilterRequest& request : batch) {
      if (is_skipped(request.pod.state->skipped_filters(), *plugin)) continue;
      request.verdicts->set_speaker(plugin->name());
      asked.push_back(request);
    }
    if (asked.empty()) continue;
    const Status status = guarded_status([&] {
      plugin->filter(asked);
      return Status{};
    });
    if (!status.ok()) refuse_all(asked, status);
  }
}

Status Framework::run_filters_on(const PodClassView& pod, const NodeInfo& node) const {
  const NodeInfo* const nodes[] = {&node};
  Verdicts verdicts(1);
  const FilterRequest request{pod, nodes, &verdicts};
  run_filters({&request, 1});
  return verdicts.status(0);
}

Status Framework::run_filters_with_nominated(const PodClassView& pod, const NodeInfo& node,
                                             std::span<const PodPtr> nominated) const {
  const auto counts = [&](const PodPtr& other) {
    return other->priority >= pod.pod->priority && other->uid() != pod.pod->uid();
  };
  if (std::none_of(nominated.begin(), nominated.end(), counts)) return run_filters_on(pod, node);
  NodeInfo full_node = node;
  CycleState full_state = pod.state->clone();
  const PodClassView full_pod{pod.pod, &full_state};
  for (const PodPtr& other : nominated | std::views::filter(counts)) {
    add_footprint(full_node, pod_footprint(*other));
    full_node.pods.push_back(other);
    if (Status status = run_add_pod(full_pod, *other, full_node); !status.ok()) return status;
  }
  // Both must pass: with the nominated pods room may be missing, without them a pod that an affinity requires.
  Status status = run_filters_on(full_pod, full_node);
  return status.ok() ? run_filters_on(pod, node) : status;
}

PostFilterAnswer Framework::run_post_filters(const FilterRequest& refused) const {
  PostFilterAnswer collected{{StatusCode::kUnschedulable, "", {}}, std::nullopt};
  for (PostFilterPlugin* plugin : post_filter_) {
    PostFilterAnswer answer = guarded([&] { return plugin->post_filter(refused); },
                                      [](Status status) { return PostFilterAnswer{std::move(status), {}}; });
    const StatusCode code = answer.status.code;
    answer.status = named(std::move(answer.status), *plugin);
    if (code == StatusCode::kSuccess || code == StatusCode::kUnschedulableAndUnresolvable) return answer;
    if (!is_rejected(code)) {
      return {{StatusCode::kError, answer.status.plugin, std::move(answer.status.reasons)}, std::nullopt};
    }
    if (answer.nominated_node_name.has_value()) collected.nominated_node_name = std::move(answer.nominated_node_name);
    if (collected.status.plugin.empty()) collected.status.plugin = answer.status.plugin;
    std::ranges::move(answer.status.reasons, std::back_inserter(collected.status.reasons));
  }
  return collected;
}

Status Framework::run_pre_score(const PodClassView& pod, NodeInfos nodes) const {
  CycleState::Names skipped;
  for (PreScorePlugin* plugin : pre_score_) {
    const Status status = guarded_status([&] { return plugin->pre_score(pod, nodes); });
    if (status.code == StatusCode::kSkip) {
      skipped.emplace(plugin->name());
    } else if (!status.ok()) {
      return wrapped_error("running PreScore plugin", *plugin, status);
    }
  }
  pod.state->skipped_scores() = std::move(skipped);
  return {};
}

void Framework::finish_scores(const FeasibleNodes& feasible, ScoreOutcome& outcome) const {
  outcome.totals.assign(feasible.nodes.size(), has_score_plugins_ ? 0 : 1);
  std::size_t next = 0;  // columns are in the order of score_, without the skipped ones
  for (const WeightedScore& entry : score_) {
    if (next == outcome.columns.size() || !outcome.status.ok()) break;
    if (outcome.columns[next].plugin != entry.plugin->name()) continue;
    normalize_column(*entry.plugin, feasible, outcome.columns[next++], outcome.status);
  }
  if (outcome.status.ok()) add_up(outcome);
}

std::vector<ScoreOutcome> Framework::run_scores(std::span<const FeasibleNodes> batch) const {
  std::vector<ScoreOutcome> outcomes(batch.size());
  for (const WeightedScore& entry : score_) {
    ScoreCall call(*entry.plugin);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!outcomes[i].status.ok() || is_skipped(batch[i].pod.state->skipped_scores(), *entry.plugin)) continue;
      call.add(batch[i], entry.weight, outcomes[i]);
    }
    call.run(*entry.plugin);
  }
  for (std::size_t i = 0; i < batch.size(); ++i) finish_scores(batch[i], outcomes[i]);
  return outcomes;
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
  for (PreBindPlugin* plugin : pre_bind_) {
    if (is_skipped(pod.state->skipped_pre_binds(), *plugin)) continue;
    Status status = times.ask(*plugin, [&] { return plugin->pre_bind(pod); });
    if (status.code == StatusCode::kWait) return named(std::move(status), *plugin);
    if (!status.ok()) return rejected_or_error("running PreBind plugin", *plugin, std::move(status));
    pod.state->skipped_pre_binds().emplace(plugin->name());  // when a later one waits, this one is not asked again
  }
  return {};
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
