// SPDX-License-Identifier: Apache-2.0
#include "host/framework/framework.h"

#include <algorithm>
#include <exception>
#include <ranges>
#include <utility>

#include "host/cluster/pod_footprint.h"
#include "host/objects/errors.h"

namespace berth {
namespace {

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

/// `<doing> "<plugin>": <message>` as an Error of the plugin.
Status wrapped_error(std::string_view doing, const Plugin& plugin, const Status& status) {
  const std::string text = std::string(doing) + " " + quoted(plugin.name()) + ": " + status.message();
  return {StatusCode::kError, std::string(plugin.name()), {text}};
}

Status named(Status status, const Plugin& plugin) {
  if (!status.ok()) status.plugin = plugin.name();
  return status;
}

/// A rejection goes on as it is, any other failure as an Error that says what was being done.
Status rejected_or_error(std::string_view doing, const Plugin& plugin, Status status) {
  if (status.ok() || is_rejected(status.code)) return named(std::move(status), plugin);
  return wrapped_error(doing, plugin, status);
}

Status error(std::string text) { return {StatusCode::kError, "", {std::move(text)}}; }

/// Calls a plugin; what it throws becomes the status that `failed` makes of an Error.
template <class Call, class Failed>
auto guarded(Call&& call, Failed&& failed) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return failed(error(thrown.what()));
  } catch (...) {
    return failed(error("an exception of unknown type"));
  }
}

template <class Call>
Status guarded_status(Call&& call) {
  return guarded(std::forward<Call>(call), [](Status status) { return status; });
}

/// "[A B]"
std::string bracketed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return "[" + text + "]";
}

void intersect(std::optional<std::set<std::string>>& left, std::set<std::string> right) {
  if (!left.has_value()) {
    left = std::move(right);
    return;
  }
  std::erase_if(*left, [&](const std::string& name) { return !right.contains(name); });
}

Status nothing_left(const std::set<std::string>& plugins) {
  const std::string text = plugins.size() == 1
                               ? "node(s) didn't satisfy plugin " + *plugins.begin()
                               : "node(s) didn't satisfy plugin(s) " + bracketed(plugins) + " simultaneously";
  return {StatusCode::kUnschedulableAndUnresolvable, "", {text}};
}

bool is_skipped(const CycleState::Names& skipped, const Plugin& plugin) { return skipped.contains(plugin.name()); }

}  // namespace

/// Instantiates each plugin once and sorts it into its points.
class Framework::Builder {
 public:
  Builder(Framework& framework, const Profile& profile, const PluginRegistry& registry, const FrameworkHandle& handle,
          const std::function<bool(std::string_view)>& runs_elsewhere)
      : framework_(framework),
        profile_(profile),
        registry_(registry),
        handle_(handle),
        runs_elsewhere_(runs_elsewhere) {}

  template <class Interface>
  void join(ExtensionPoint point, std::vector<Interface*>& out) {
    for (const EnabledPlugin& enabled : profile_.at(point)) {
      if (Interface* plugin = find<Interface>(point, enabled.name)) out.push_back(plugin);
    }
  }

  void join_score() {
    framework_.has_score_plugins_ = !profile_.at(ExtensionPoint::kScore).empty();
    for (const EnabledPlugin& enabled : profile_.at(ExtensionPoint::kScore)) {
      ScorePlugin* plugin = find<ScorePlugin>(ExtensionPoint::kScore, enabled.name);
      if (plugin != nullptr) framework_.score_.push_back({plugin, enabled.weight == 0 ? 1 : enabled.weight});
    }
  }

  /// @throws InputError with everything that was wrong
  void finish() {
    if (!problems_.empty()) throw InputError(std::move(problems_));
  }

 private:
  template <class Interface>
  Interface* find(ExtensionPoint point, const std::string& name) {
    Plugin* plugin = instance(name);
    if (plugin == nullptr) return nullptr;
    auto* joined = dynamic_cast<Interface*>(plugin);
    if (joined == nullptr)
      add_problem("plugin " + quoted(name) + " does not implement " + std::string(to_string(point)));
    return joined;
  }

  /// @return null when the plugin runs elsewhere, or is unknown, which is noted once
  Plugin* instance(const std::string& name) {
    const auto found = framework_.plugins_.find(name);
    if (found != framework_.plugins_.end()) return found->second.get();
    std::unique_ptr<Plugin> plugin;
    if (const PluginFactory* factory = registry_.find(name)) {
      plugin = (*factory)(profile_, handle_);
      if (plugin == nullptr || plugin->name() != name) {
        add_problem("the factory of plugin " + quoted(name) + " made something else");
        plugin = nullptr;
      }
    } else if (!runs_elsewhere_(name)) {
      add_problem("plugin " + quoted(name) + " is not registered");
    }
    return framework_.plugins_.emplace(name, std::move(plugin)).first->second.get();
  }

  void add_problem(std::string message) {
    problems_.push_back({"profile " + quoted(profile_.scheduler_name), "", std::move(message)});
  }

  Framework& framework_;
  const Profile& profile_;
  const PluginRegistry& registry_;
  const FrameworkHandle& handle_;
  const std::function<bool(std::string_view)>& runs_elsewhere_;
  std::vector<InputProblem> problems_;
};

Framework::Framework(const Profile& profile, const PluginRegistry& registry, const FrameworkHandle& handle,
                     const std::function<bool(std::string_view)>& runs_elsewhere)
    : profile_name_(profile.scheduler_name) {
  Builder builder(*this, profile, registry, handle, runs_elsewhere);
  builder.join(ExtensionPoint::kPreEnqueue, pre_enqueue_);
  builder.join(ExtensionPoint::kQueueSort, queue_sort_);
  builder.join(ExtensionPoint::kPreFilter, pre_filter_);
  builder.join(ExtensionPoint::kFilter, filter_);
  builder.join(ExtensionPoint::kPostFilter, post_filter_);
  builder.join(ExtensionPoint::kPreScore, pre_score_);
  builder.join_score();
  builder.join(ExtensionPoint::kReserve, reserve_);
  builder.join(ExtensionPoint::kPermit, permit_);
  builder.join(ExtensionPoint::kPreBind, pre_bind_);
  builder.join(ExtensionPoint::kBind, bind_);
  builder.join(ExtensionPoint::kPostBind, post_bind_);
  builder.finish();
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
  for (const bool is_gating_turn : {true, false}) {
    for (PreEnqueuePlugin* plugin : pre_enqueue_) {
      if ((plugin->name() == gating_plugin) != is_gating_turn) continue;
      Status status = guarded_status([&] { return plugin->pre_enqueue(pod); });
      if (!status.ok()) return named(std::move(status), *plugin);
    }
  }
  return {};
}

Status PreFilterOutcome::absent_node_status() const {
  Status absent{StatusCode::kUnschedulableAndUnresolvable, "", {}};
  if (node_names.has_value()) {
    absent.reasons.push_back("node(s) didn't satisfy plugin(s) " + bracketed(narrowing_plugins));
  }
  return absent;
}

PreFilterOutcome Framework::run_pre_filter(const PodClassView& pod, NodeInfos nodes) const {
  PreFilterOutcome outcome;
  CycleState::Names skipped;
  for (PreFilterPlugin* plugin : pre_filter_) {
    PreFilterAnswer answer = guarded([&] { return plugin->pre_filter(pod, nodes); },
                                     [](Status status) { return PreFilterAnswer{std::move(status), {}}; });
    if (answer.status.code == StatusCode::kSkip) {
      skipped.emplace(plugin->name());
    } else if (answer.status.code == StatusCode::kUnschedulable) {
      outcome.status = named(std::move(answer.status), *plugin);  // the rest still prepares what preemption reads
    } else if (!answer.status.ok()) {
      const bool rejects = answer.status.code == StatusCode::kUnschedulableAndUnresolvable;
      outcome.status = rejects ? named(std::move(answer.status), *plugin)
                               : wrapped_error("running PreFilter plugin", *plugin, answer.status);
      break;
    } else if (answer.node_names.has_value()) {
      outcome.narrowing_plugins.emplace(plugin->name());
      intersect(outcome.node_names, *std::move(answer.node_names));
      if (outcome.node_names->empty()) {
        outcome.status = nothing_left(outcome.narrowing_plugins);
        break;
      }
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

namespace {

/// A plugin that threw has said nothing reliable: the pods it was asked about fail.
void refuse_all(std::span<const FilterRequest> batch, const Status& status) {
  for (const FilterRequest& request : batch) {
    for (std::size_t node = 0; node < request.nodes.size(); ++node) {
      request.verdicts->refuse(node, StatusCode::kError, status.reasons);
    }
  }
}

}  // namespace

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
  // Both must pass: with the nominated pods there may be no room, without them no company that the pod asks for.
  Status status = run_filters_on(full_pod, full_node);
  return status.ok() ? run_filters_on(pod, node) : status;
}

Diagnosis diagnose(const PreFilterOutcome& rejection, std::int64_t node_count) {
  return {node_count, {}, rejection.status.message()};
}

Diagnosis diagnose(const Verdicts& verdicts, std::int64_t node_count, const Status& absent) {
  Diagnosis diagnosis;
  diagnosis.node_count = node_count;
  std::int64_t absent_count = node_count;
  for (std::size_t node = 0; node < verdicts.node_count(); ++node) {
    if (verdicts.passes(node)) continue;
    --absent_count;
    for (const std::string& reason : verdicts.status(node).reasons) ++diagnosis.reason_counts[reason];
  }
  if (absent_count <= 0) return diagnosis;
  for (const std::string& reason : absent.reasons) diagnosis.reason_counts[reason] += absent_count;
  return diagnosis;
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

namespace {

Status score_error(std::string_view doing, std::string_view plugin, const std::string& what) {
  return {StatusCode::kError,
          std::string(plugin),
          {"running " + std::string(doing) + ": plugin " + quoted(plugin) + " " + what}};
}

void normalize_column(ScorePlugin& plugin, const FeasibleNodes& feasible, ScoreColumn& column, Status& out) {
  const Status status =
      guarded_status([&] { return plugin.normalize(feasible.pod, feasible.nodes, column.normalized); });
  if (!status.ok()) {
    out = score_error("Normalize on Score plugins", column.plugin, "failed with: " + status.message());
  }
}

/// Adds the weighted scores to the totals once every score is known to lie in its range.
void add_up(ScoreOutcome& outcome) {
  for (const ScoreColumn& column : outcome.columns) {
    for (std::size_t node = 0; node < outcome.totals.size(); ++node) {
      const std::int64_t score = column.normalized[node];
      if (score < 0 || score > kPluginScoreMax) {
        outcome.status = score_error("Score plugins", column.plugin,
                                     "gave the score " + std::to_string(score) + ", which is not within [0, 100]");
        return;
      }
      outcome.totals[node] += score * column.weight;
    }
  }
}

/// The pods of a batch that one plugin is asked to score.
class ScoreCall {
 public:
  explicit ScoreCall(const ScorePlugin& plugin) : name_(plugin.name()) {}

  /// Both live until finish().
  void ask(const FeasibleNodes& feasible, std::int32_t weight, ScoreOutcome& outcome) {
    ScoreColumn& column = outcome.columns.emplace_back();
    column.plugin = name_;
    column.weight = weight;
    column.raw.resize(feasible.nodes.size());
    requests_.push_back({feasible.pod, feasible.nodes, column.raw, nullptr});
    outcomes_.push_back(&outcome);
  }

  void run(ScorePlugin& plugin) {
    if (requests_.empty()) return;
    std::vector<Status> statuses(requests_.size());
    for (std::size_t i = 0; i < requests_.size(); ++i) requests_[i].status = &statuses[i];
    const Status thrown = guarded_status([&] {
      plugin.score(requests_);
      return Status{};
    });
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const Status& status = thrown.ok() ? statuses[i] : thrown;
      ScoreOutcome& outcome = *outcomes_[i];
      if (!status.ok()) outcome.status = score_error("Score plugins", name_, "failed with: " + status.message());
      outcome.columns.back().normalized = outcome.columns.back().raw;
    }
  }

 private:
  std::string name_;
  std::vector<ScoreRequest> requests_;
  std::vector<ScoreOutcome*> outcomes_;
};

}  // namespace

void Framework::finish_scores(const FeasibleNodes& feasible, ScoreOutcome& outcome) const {
  outcome.totals.assign(feasible.nodes.size(), has_score_plugins_ ? 0 : 1);
  std::size_t next = 0;  // columns stand in the order of score_, the skipped ones left out
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
      call.ask(batch[i], entry.weight, outcomes[i]);
    }
    call.run(*entry.plugin);
  }
  for (std::size_t i = 0; i < batch.size(); ++i) finish_scores(batch[i], outcomes[i]);
  return outcomes;
}

Status Framework::run_reserve(const PodOnNode& pod) const {
  for (ReservePlugin* plugin : reserve_) {
    Status status = guarded_status([&] { return plugin->reserve(pod); });
    if (!status.ok()) return rejected_or_error("running Reserve plugin", *plugin, std::move(status));
  }
  return {};
}

void Framework::run_unreserve(const PodOnNode& pod) const {
  for (ReservePlugin* plugin : reserve_ | std::views::reverse) plugin->unreserve(pod);
}

PermitOutcome Framework::run_permit(const PodOnNode& pod) const {
  PermitOutcome outcome;
  for (PermitPlugin* plugin : permit_) {
    PermitAnswer answer =
        guarded([&] { return plugin->permit(pod); }, [](Status status) { return PermitAnswer{std::move(status), 0}; });
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
  Status outcome{StatusCode::kSkip, "", {}};
  CycleState::Names skipped;
  for (PreBindPlugin* plugin : pre_bind_) {
    const Status status = guarded_status([&] { return plugin->pre_bind_pre_flight(pod); });
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
  for (PreBindPlugin* plugin : pre_bind_) {
    if (is_skipped(pod.state->skipped_pre_binds(), *plugin)) continue;
    Status status = guarded_status([&] { return plugin->pre_bind(pod); });
    if (!status.ok()) return rejected_or_error("running PreBind plugin", *plugin, std::move(status));
  }
  return {};
}

Status Framework::run_bind(const PodOnNode& pod) const {
  for (BindPlugin* plugin : bind_) {
    Status status = guarded_status([&] { return plugin->bind(pod); });
    if (status.code == StatusCode::kSkip) continue;
    return rejected_or_error("running Bind plugin", *plugin, std::move(status));
  }
  return {StatusCode::kSkip, "", {"every Bind plugin skipped the pod"}};
}

void Framework::run_post_bind(const PodOnNode& pod) const {
  for (PostBindPlugin* plugin : post_bind_) plugin->post_bind(pod);
}

}  // namespace berth
