// SPDX-License-Identifier: Apache-2.0
#include "host/cli/explain_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "host/cli/document_writer.h"
#include "host/cli/explain_document.h"
#include "host/cli/explain_report.h"
#include "host/cli/figures.h"
#include "host/cli/nearest_miss.h"
#include "host/cli/output.h"
#include "host/cli/terminal.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/pod_topology_spread/rule.h"

namespace berth {
namespace {

bool is_named(const Pod& pod, std::string_view name) {
  return name.find('/') == name.npos ? pod.name == name : pod.full_name() == name;
}

[[noreturn]] void refuse_name(std::string_view name, const ClusterObjects& objects) {
  for (const PodPtr& pod : objects.pods) {
    if (!is_named(*pod, name)) continue;
    if (!pod->node_name.empty()) {
      throw std::runtime_error(
          fmt::format("pod {} is on node {} already; explain judges pending pods", pod->full_name(), pod->node_name));
    }
    throw std::runtime_error(
        fmt::format("pod {} is pending but not scheduled here: {}", pod->full_name(),
                    pod->terminating ? "it is being deleted" : "no profile has the name " + pod->spec->scheduler_name));
  }
  throw std::runtime_error(fmt::format("no pod {} in the input", name));
}

ScheduleOptions with_topology_filters_alone(ScheduleOptions options) {
  for (Profile& profile : options.config.profiles)
    std::erase_if(profile.plugins[static_cast<std::size_t>(ExtensionPoint::kFilter)], [](const EnabledPlugin& plugin) {
      return plugin.name != PodTopologySpread::name && plugin.name != InterPodAffinity::name;
    });
  return options;
}

/// The records of one or many pods; what they need is made once.
class ExplainOutput {
 public:
  /// `objects` and `options` must outlive it.
  ExplainOutput(const ExplainCommand& command, const ClusterObjects& objects, const ScheduleOptions& options,
                Explainer& explainer)
      : objects_(objects),
        options_(options),
        explainer_(explainer),
        json_(command.format == "json"),
        terminal_(Terminal::of(STDOUT_FILENO)),
        output_(STDOUT_FILENO) {
    if (!json_) misses_.emplace(objects);
  }

  void add(const PodPtr& pod) {
    const Evaluation evaluation = explainer_.explain(pod);
    const NodeNames names = [this](NodeIndex node) { return explainer_.node_name(node); };
    if (json_) {
      write_explain_record(*pod, evaluation, names, *json_writer(output_, 0));
      return;
    }
    if (count_++ > 0) output_.write("\n");
    output_.write(
        explain_report(*pod, profile_of(*pod), evaluation, topology_of(pod, evaluation), names, *misses_, terminal_));
  }
  void flush() { output_.flush(); }

 private:
  const Profile& profile_of(const Pod& pod) const {
    const Profile* profile = options_.config.find_profile(pod.spec->scheduler_name);
    return profile == nullptr ? options_.config.profiles.front() : *profile;
  }
  /// What topology rules say where another plugin spoke first, so that a near miss does not forget them.
  Evaluation topology_of(const PodPtr& pod, const Evaluation& evaluation) {
    const auto is_refused = [](const NodeEvaluation& node) { return !node.feasible; };
    if (std::none_of(evaluation.nodes.begin(), evaluation.nodes.end(), is_refused)) return {};
    if (!topology_explainer_) topology_explainer_.emplace(objects_, with_topology_filters_alone(options_));
    return topology_explainer_->explain(pod);
  }

  const ClusterObjects& objects_;
  const ScheduleOptions& options_;
  Explainer& explainer_;
  bool json_;
  Terminal terminal_;
  Output output_;
  std::optional<MissFinder> misses_;
  std::optional<Explainer> topology_explainer_;
  std::size_t count_ = 0;
};

}  // namespace

PodPtr find_pod(std::string_view name, std::span<const PodPtr> pending, const ClusterObjects& objects) {
  std::vector<PodPtr> found;
  std::copy_if(pending.begin(), pending.end(), std::back_inserter(found),
               [&](const PodPtr& pod) { return is_named(*pod, name); });
  if (found.empty()) refuse_name(name, objects);
  if (found.size() > 1) {
    throw std::runtime_error(fmt::format("{} pending pods are named {}: say which, as {} or {}",
                                         grouped(static_cast<std::int64_t>(found.size())), name, found[0]->full_name(),
                                         found[1]->full_name()));
  }
  return found.front();
}

ExitCode run(const ExplainCommand& command) {
  if (command.all != command.pod.empty()) throw UsageError("explain takes either one POD or --all");
  const ScheduleOptions options = schedule_options(command.config);
  const LoadedInput input = load_input(command.input, options.engine.threads);
  Explainer explainer(input.objects, options);
  ExplainOutput output(command, input.objects, options, explainer);
  if (command.all) {
    for (const PodPtr& pod : explainer.pending()) output.add(pod);
  } else {
    output.add(find_pod(command.pod, explainer.pending(), input.objects));
  }
  output.flush();
  return ExitCode::kDone;
}

}  // namespace berth
