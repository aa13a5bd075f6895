// SPDX-License-Identifier: Apache-2.0
#include "host/cli/explain_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "host/cli/find_pods.h"
#include "host/cli/messages.h"
#include "host/cli/progress_bar.h"
#include "host/config/config_reader.h"
#include "host/report/document_formats.h"
#include "host/report/explain_report.h"
#include "host/report/output.h"
#include "host/report/terminal.h"
#include "host/scheduler/explain_document.h"
#include "host/scheduler/explainer.h"

namespace berth {
namespace {

/// The records of one or many pods.
class ExplainOutput {
 public:
  /// `config` and `explainer` must outlive it.
  ExplainOutput(const ExplainCommand& command, const SchedulerConfig& config, Explainer& explainer)
      : config_(config),
        explainer_(explainer),
        json_(command.format == "json"),
        terminal_(Terminal::of(STDOUT_FILENO)),
        output_(STDOUT_FILENO) {}

  void add(const FoundPod& found) {
    const Explanation explanation = explain(found);
    const NodeNames names = [this](NodeIndex node) { return explainer_.node_name(node); };
    if (json_) {
      write_explain_record(explanation, names, *json_writer(output_, 0));
      return;
    }
    if (count_++ > 0) output_.write("\n");
    output_.write(explain_report(explanation, names, explainer_.cluster(), terminal_));
  }
  void flush() { output_.flush(); }

 private:
  Explanation explain(const FoundPod& found) {
    Explanation explanation{found.name, found.pod, explainer_.standing_of(*found.pod)};
    if (explanation.standing.state == PodState::kDeleting) return explanation;
    explanation.profile = config_.find_profile(found.pod->spec->scheduler_name);
    if (explanation.profile == nullptr) return explanation;
    explanation.evaluation = explainer_.explain(found.pod);
    explanation.preemption = explainer_.preempt(found.pod, explanation.evaluation);
    if (json_) return explanation;
    explanation.claims = explainer_.claims(*found.pod, explanation.evaluation);
    if (any_refuses(explanation.evaluation)) explanation.topology = explainer_.explain_topology(found.pod);
    return explanation;
  }

  const SchedulerConfig& config_;
  Explainer& explainer_;
  bool json_;
  Terminal terminal_;
  Output output_;
  std::size_t count_ = 0;
};

/// Every pending pod, of one namespace where that is asked for.
std::vector<FoundPod> pending_pods(const Explainer& explainer, const std::string& name_space) {
  std::vector<FoundPod> pods;
  for (const PodPtr& pod : explainer.pending())
    if (name_space.empty() || pod->namespace_ == name_space) pods.push_back({pod, pod->full_name()});
  return pods;
}

std::vector<PodPtr> pods_of(const std::vector<FoundPod>& found) {
  std::vector<PodPtr> pods;
  pods.reserve(found.size());
  for (const FoundPod& one : found) pods.push_back(one.pod);
  return pods;
}

void say_that_none_is_pending(const std::string& name_space) {
  if (name_space.empty()) {
    print_message("no pod of the input is pending");
  } else {
    print_message(fmt::format("no pod of namespace {} is pending", quoted_for_message(name_space)));
  }
}

}  // namespace

ExitCode run(const ExplainCommand& command) {
  if (command.all != command.pods.empty()) throw UsageError("explain takes either one POD or several, or --all");
  const ScheduleOptions options = schedule_options(command.config, command.input.quiet);
  InputOptions what_to_read = command.input;
  what_to_read.keeps_finished_pods = !command.all;
  what_to_read.declared = declared_by_plugins(command.config);
  const LoadedInput input = load_input(what_to_read, options.engine.threads);
  Explainer explainer(input.objects, options);
  const std::vector<FoundPod> pods =
      command.all ? pending_pods(explainer, command.name_space)
                  : find_pods(command.pods, command.name_space, input.objects, input.finished_pods);
  if (!command.input.quiet) {
    say_missing_inputs(input.objects, options.config, pods_of(pods));
    if (pods.empty()) say_that_none_is_pending(command.name_space);
  }
  ExplainOutput output(command, options.config, explainer);
  // Where the output goes to the terminal too, it shows by itself how far the work has come.
  std::optional<ProgressBar> bar;
  if (!Terminal::of(STDOUT_FILENO).interactive) bar.emplace("explaining pods");
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (bar) bar->update(i, pods.size());
    output.add(pods[i]);
  }
  output.flush();
  return ExitCode::kDone;
}

}  // namespace berth
