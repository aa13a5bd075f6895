// SPDX-License-Identifier: Apache-2.0
#include "host/cli/perf_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <regex>
#include <string_view>

#include "host/cli/messages.h"
#include "host/cli/perf_report.h"
#include "host/cli/progress_bar.h"
#include "host/config/config_reader.h"
#include "host/generate/generate.h"
#include "host/metrics/exposition.h"
#include "host/perf/perf_config.h"
#include "host/report/document_formats.h"
#include "host/report/output.h"

namespace berth {
namespace {

constexpr int kPerfSpreadDepth = 3;
constexpr std::size_t kPatternBytesMax = 1000;

/// One workload that was selected. Points into its file.
struct Selected {
  const PerfFile* file;
  const PerfTestCase* test_case;
  const PerfWorkload* workload;
  WorkloadPlan decision;
};

// libstdc++ takes exponential time for some expressions unless it is told not to; other libraries give up by throwing.
#ifdef __GLIBCXX__
constexpr auto kPatternSyntax = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
constexpr auto kPatternSyntax = std::regex::ECMAScript;
#endif

std::regex name_pattern(const std::string& text) {
  const std::string expectation =
      ", expected an ECMAScript regular expression of at most 1000 bytes without back references";
  if (text.size() > kPatternBytesMax) throw UsageError("--name: got " + quoted_for_message(text) + expectation);
  try {
    return std::regex(text, kPatternSyntax);
  } catch (const std::regex_error&) {
    throw UsageError("--name: got " + quoted_for_message(text) + expectation);
  }
}

/// Decides which workloads can be run before the first one is.
std::vector<Selected> select(const std::vector<PerfFile>& files, const PerfCommand& command) {
  const std::regex pattern = name_pattern(command.name_pattern);
  std::vector<Selected> selected;
  for (const PerfFile& file : files) {
    for (const PerfTestCase& test_case : file.cases) {
      for (const PerfWorkload& workload : test_case.workloads) {
        const std::string name = test_case.name + "/" + workload.name;
        if (!matches_labels(command.labels, test_case, workload) || !std::regex_search(name, pattern)) continue;
        selected.push_back({&file, &test_case, &workload,
                            plan_workload(file, test_case, workload, PlanDepth::kDecision, {command.scale})});
      }
    }
  }
  return selected;
}

PerfResult run_one(const Selected& selected, const PerfRunOptions& options, PlanScale scale) {
  if (!selected.decision.skip_reason.empty()) return run_workload(selected.decision, options);
  return run_workload(plan_workload(*selected.file, *selected.test_case, *selected.workload, PlanDepth::kWhole, scale),
                      options);
}

std::vector<PerfResult> run_all(const std::vector<Selected>& selected, const PerfRunOptions& options,
                                const PerfCommand& command) {
  std::optional<ProgressBar> bar;
  if (!command.quiet) bar.emplace("measuring, workload", std::chrono::milliseconds(0));
  std::vector<PerfResult> results;
  for (const Selected& one : selected) {
    if (bar) bar->update(results.size(), selected.size());
    results.push_back(run_one(one, options, {command.scale}));
  }
  return results;
}

/// The name of a file for what was measured: whatever is not a letter, digit, dot, dash or underscore is "_".
std::string dump_name(const std::string& workload, const std::string& measurement) {
  constexpr std::string_view kKept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-";
  std::string name = workload + "__" + measurement;
  for (char& c : name)
    if (kKept.find(c) == std::string_view::npos) c = '_';
  return name + ".json.gz";
}

void write_metrics(const std::vector<PerfResult>& results, const std::string& path) {
  std::vector<prometheus::MetricFamily> families;
  for (const PerfResult& result : results) merge(families, result.metrics);
  write_text(metrics_text(families), path);
}

}  // namespace

ExitCode run(const PerfCommand& command) {
  PerfRunOptions options;
  options.engine = schedule_options(command.config, command.quiet).engine;
  options.rate_factor = command.rate_factor;
  options.volumes_first = command.scale > 1;
  if (!command.quiet) options.warn = [](const std::string& sentence) { print_warning(sentence); };
  options.keeps_metrics = !command.metrics_path.empty();
  if (!command.dump_path.empty())
    options.on_measured = [&](const std::string& workload, const std::string& measurement,
                              const ClusterObjects& cluster) {
      write_cluster(cluster, command.dump_path + "/" + dump_name(workload, measurement));
    };
  std::vector<PerfFile> files;
  files.reserve(command.paths.size());
  for (const std::string& path : command.paths) files.push_back(load_perf_file(path));
  const std::vector<PerfResult> results = run_all(select(files, command), options, command);
  if (!command.metrics_path.empty()) write_metrics(results, command.metrics_path);
  Output output(STDOUT_FILENO);
  if (command.format == "json") {
    write_perf_results(results, *json_writer(output, kPerfSpreadDepth));
  } else {
    output.write(perf_report(results, Terminal::of(STDOUT_FILENO)));
  }
  output.flush();
  return totals_of(results).failed > 0 ? ExitCode::kError : ExitCode::kDone;
}

}  // namespace berth
