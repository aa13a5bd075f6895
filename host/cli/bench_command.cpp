// SPDX-License-Identifier: Apache-2.0
#include "host/cli/bench_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <iterator>

#include "host/cli/device_figures.h"
#include "host/cli/progress_bar.h"
#include "host/cli/schedule_document.h"
#include "host/generate/cluster_spec.h"
#include "host/generate/generate.h"
#include "host/record/decision_hash.h"
#include "host/report/document_formats.h"
#include "host/report/figures.h"
#include "host/report/output.h"
#include "host/report/table.h"

namespace berth {
namespace {

constexpr std::int64_t kBenchSchemaVersion = 1;
constexpr int kBenchSpreadDepth = 2;

/// The quickest of the runs of one backend, and what it answered.
struct Measurement {
  std::string backend;
  ScheduleStats stats;
  std::size_t placed = 0;
  std::string answers;  ///< answers_of()
};

/// A hash of every answer of a run, in queue order: the node and the total of each placed pod, the reason and the
/// message of each other one. Backends that agree have equal ones.
std::string answers_of(const ScheduleResult& result) {
  DecisionHash hash;
  std::string line;
  const auto add = [&](const Pod& pod, const auto&... answer) {
    line.clear();
    fmt::format_to(std::back_inserter(line), "{}\n{}\n{}\n", pod.full_name(), answer...);
    hash.add_bytes(line);
  };
  for (const Placement& placed : result.placements) add(*placed.pod, placed_node(result, placed), placed.score);
  for (const Unplaced& other : result.unplaced) add(*other.pod, other.reason, unplaced_message(result, other));
  return hash.hex();
}

LoadedInput make_input(const BenchCommand& command, int threads) {
  if (command.spec_path.empty() == command.input.paths.empty()) {
    throw UsageError("bench takes either --spec or -f");
  }
  if (command.spec_path.empty()) return load_input(command.input, threads);
  const auto start = std::chrono::steady_clock::now();
  LoadedInput input{generate_cluster(load_cluster_spec(command.spec_path), command.spec_seed), {}, 0};
  input.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return input;
}

/// Shows before each run how many of all are done. Not during a run: a run that somebody watches is cut into smaller
/// batches (ScheduleOptions::progress), which is not what is to be measured.
class RunCounter {
 public:
  RunCounter(std::size_t backends, std::int32_t repeat) : total_(backends * static_cast<std::size_t>(repeat)) {}
  void begin_run() { bar_.update(done_++, total_); }
  void pause() { bar_.clear(); }

 private:
  ProgressBar bar_{"measuring, run", std::chrono::milliseconds(0)};
  std::size_t done_ = 0;
  std::size_t total_;
};

Measurement measure(const ClusterObjects& objects, const ScheduleOptions& options, std::int32_t repeat, bool quiet,
                    RunCounter& counter) {
  Measurement best;
  for (std::int32_t i = 0; i < repeat; ++i) {
    counter.begin_run();
    const ScheduleResult result = schedule(objects, options);
    if (!quiet && i == 0) {
      counter.pause();
      say_other_backend(options.engine, result);
    }
    if (i > 0 && result.stats.schedule_seconds >= best.stats.schedule_seconds) continue;
    best = {result.served_by, result.stats, result.placements.size(), answers_of(result)};
  }
  return best;
}

double ratio_to_reference(const Measurement& one, const std::vector<Measurement>& all) {
  for (const Measurement& other : all) {
    if (other.backend == "reference" && one.stats.schedule_seconds > 0) {
      return other.stats.schedule_seconds / one.stats.schedule_seconds;
    }
  }
  return 0;
}

std::string bench_report(const std::vector<Measurement>& all, const Terminal& terminal) {
  Table table({{"backend"},
               {"nodes", Align::kRight},
               {"pods", Align::kRight},
               {"placed", Align::kRight},
               {"classes", Align::kRight},
               {"compile", Align::kRight},
               {"schedule", Align::kRight},
               {"pods/s", Align::kRight},
               {"x reference", Align::kRight}});
  for (const Measurement& one : all) {
    const double ratio = ratio_to_reference(one, all);
    table.add_row({one.backend, grouped(one.stats.nodes), grouped(one.stats.pods),
                   grouped(static_cast<std::int64_t>(one.placed)), grouped(one.stats.classes),
                   duration(one.stats.compile_seconds), duration(one.stats.schedule_seconds),
                   rate(one.stats.pods_per_second), ratio > 0 ? rate(ratio) : std::string("-")});
  }
  std::string text = table.render(terminal, 0);
  for (const Measurement& one : all)
    if (one.stats.device) text += fmt::format("\n{}: {}", one.backend, device_report(*one.stats.device, terminal));
  return text;
}

void write_measurements(const std::vector<Measurement>& all, DocumentWriter& writer) {
  writer.begin_object();
  writer.integer_field("schemaVersion", kBenchSchemaVersion);
  writer.key("runs");
  writer.begin_array();
  for (const Measurement& one : all) {
    writer.begin_object();
    writer.string_field("backend", one.backend);
    writer.integer_field("nodes", one.stats.nodes);
    writer.integer_field("pods", one.stats.pods);
    writer.integer_field("placed", static_cast<std::int64_t>(one.placed));
    writer.string_field("answers", one.answers);
    writer.integer_field("classes", one.stats.classes);
    writer.real_field("compileSeconds", one.stats.compile_seconds);
    writer.real_field("scheduleSeconds", one.stats.schedule_seconds);
    writer.real_field("podsPerSecond", one.stats.pods_per_second);
    if (one.stats.device) write_device(*one.stats.device, writer);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
  writer.end_document();
}

}  // namespace

ExitCode run(const BenchCommand& command) {
  ScheduleOptions options = schedule_options(command.config, command.input.quiet);
  const LoadedInput input = make_input(command, options.engine.threads);
  options.load_seconds = input.seconds;
  if (!command.input.quiet) say_missing_inputs(input.objects, options.config);
  const std::vector<std::string> backends =
      command.backends.empty() ? std::vector<std::string>{"cpu"} : command.backends;
  std::vector<Measurement> all;
  RunCounter counter(backends.size(), command.repeat);
  for (const std::string& backend : backends) {
    options.engine.backend = backend;
    all.push_back(measure(input.objects, options, command.repeat, command.input.quiet, counter));
  }
  counter.pause();
  Output output(STDOUT_FILENO);
  if (command.format == "json") {
    write_measurements(all, *json_writer(output, kBenchSpreadDepth));
  } else {
    output.write(bench_report(all, Terminal::of(STDOUT_FILENO)));
  }
  output.flush();
  return ExitCode::kDone;
}

}  // namespace berth
