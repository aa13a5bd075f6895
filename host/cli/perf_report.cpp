// SPDX-License-Identifier: Apache-2.0
#include "host/cli/perf_report.h"

#include <fmt/format.h>

#include "host/report/figures.h"
#include "host/report/table.h"

namespace berth {
namespace {

double seconds(const PerfMeasurement& measurement) { return static_cast<double>(measurement.elapsed_us) / 1e6; }

/// The label "Name" of upstream's items.
std::string item_name(const PerfResult& result, const PerfMeasurement& measurement) {
  return result.name + "/" + measurement.name;
}

Emphasis emphasis_of(PerfVerdict verdict) {
  if (verdict == PerfVerdict::kReached) return Emphasis::kGood;
  if (verdict == PerfVerdict::kBelow) return Emphasis::kBad;
  return verdict == PerfVerdict::kNotMeasured ? Emphasis::kWarning : Emphasis::kPlain;
}

std::string verdict_text(const PerfResult& result, PerfVerdict verdict) {
  return std::string(to_string(verdict)) + (result.hints_on ? ", hints on" : "");
}

/// "-" where nothing happened.
std::string count_or_dash(std::int64_t count) { return count == 0 ? "-" : grouped(count); }

void add_rows(const PerfResult& result, Table& table) {
  for (const PerfMeasurement& measurement : result.measurements) {
    const PerfVerdict verdict = verdict_of(measurement, result.threshold);
    const double per_second = measurement.pods_per_second();
    const bool has_threshold = result.threshold > 0;
    table.add_row(
        {result.measurements.size() > 1 ? item_name(result, measurement) : result.name, grouped(measurement.pods),
         duration(seconds(measurement)), rate(per_second), has_threshold ? rate(result.threshold) : "-",
         has_threshold ? rate(per_second / result.threshold) : "-", count_or_dash(measurement.background.churned),
         count_or_dash(measurement.background.deleted), count_or_dash(measurement.updated),
         count_or_dash(measurement.preempted), TableCell(verdict_text(result, verdict), emphasis_of(verdict))});
  }
}

std::string reasons(const std::vector<PerfResult>& results) {
  std::string text;
  for (const PerfResult& result : results) {
    if (!result.skip_reason.empty())
      text += printable(fmt::format("skipped: {}: needs {}", result.name, result.skip_reason)) + "\n";
    if (!result.error.empty()) text += printable(fmt::format("failed: {}: {}", result.name, result.error)) + "\n";
  }
  return text;
}

void write_summary(const ThroughputSummary& summary, DocumentWriter& writer) {
  writer.real_field("Average", summary.average);
  writer.real_field("Perc50", summary.perc50);
  writer.real_field("Perc90", summary.perc90);
  writer.real_field("Perc95", summary.perc95);
  writer.real_field("Perc99", summary.perc99);
}

/// One of upstream's DataItem. @param write_data  writes the members of its data
template <class WriteData>
void write_item(std::string_view name, std::string_view metric, DocumentWriter& writer, const WriteData& write_data) {
  writer.begin_object();
  writer.key("data");
  writer.begin_object();
  write_data();
  writer.end_object();
  writer.string_field("unit", "pods/s");
  writer.key("labels");
  writer.begin_object();
  writer.string_field("Metric", metric);
  writer.string_field("Name", name);
  writer.end_object();
  writer.end_object();
}

void write_items(const PerfResult& result, DocumentWriter& writer) {
  for (const PerfMeasurement& measurement : result.measurements) {
    const std::string name = item_name(result, measurement);
    if (measurement.throughput)
      write_item(name, "SchedulingThroughput", writer, [&] { write_summary(*measurement.throughput, writer); });
    write_item(name, "PodsPerElapsedSecond", writer,
               [&] { writer.real_field("Average", measurement.pods_per_second()); });
  }
}

void write_measurement(const PerfResult& result, const PerfMeasurement& measurement, DocumentWriter& writer) {
  writer.begin_object();
  writer.string_field("name", measurement.name);
  writer.string_field("verdict", to_string(verdict_of(measurement, result.threshold)));
  writer.integer_field("pods", measurement.pods);
  writer.real_field("elapsedSeconds", seconds(measurement));
  writer.real_field("podsPerSecond", measurement.pods_per_second());
  if (result.threshold > 0) writer.real_field("ratio", measurement.pods_per_second() / result.threshold);
  writer.integer_field("churned", measurement.background.churned);
  writer.integer_field("deleted", measurement.background.deleted);
  writer.integer_field("updated", measurement.updated);
  writer.integer_field("preempted", measurement.preempted);
  writer.integer_field("missing", measurement.missing);
  writer.end_object();
}

void write_workload(const PerfResult& result, DocumentWriter& writer) {
  writer.begin_object();
  writer.string_field("name", result.name);
  writer.string_field("verdict", to_string(verdict_of(result)));
  if (!result.skip_reason.empty()) writer.string_field("needs", result.skip_reason);
  if (!result.error.empty()) writer.string_field("error", result.error);
  writer.key("hintsOn");
  writer.boolean(result.hints_on);
  writer.real_field("threshold", result.threshold);
  writer.key("measurements");
  writer.begin_array();
  for (const PerfMeasurement& measurement : result.measurements) write_measurement(result, measurement, writer);
  writer.end_array();
  writer.end_object();
}

}  // namespace

std::string perf_report(const std::vector<PerfResult>& results, const Terminal& terminal) {
  Table table({{"workload"},
               {"pods", Align::kRight},
               {"time", Align::kRight},
               {"pods/s", Align::kRight},
               {"threshold", Align::kRight},
               {"ratio", Align::kRight},
               {"churned", Align::kRight},
               {"deleted", Align::kRight},
               {"updated", Align::kRight},
               {"preempted", Align::kRight},
               {"result"}});
  for (const PerfResult& result : results) add_rows(result, table);
  const PerfTotals totals = totals_of(results);
  std::string text = table.empty() ? "" : table.render(terminal, 0);
  text += reasons(results);
  text +=
      fmt::format("perf: {} workloads run, {} skipped, {} below threshold", totals.run, totals.skipped, totals.below);
  if (totals.failed > 0) text += fmt::format(", {} failed", totals.failed);
  return text + "\n";
}

void write_perf_results(const std::vector<PerfResult>& results, DocumentWriter& writer) {
  writer.begin_object();
  writer.string_field("version", "v1");
  writer.key("dataItems");
  writer.begin_array();
  for (const PerfResult& result : results) write_items(result, writer);
  writer.end_array();
  writer.key("workloads");
  writer.begin_array();
  for (const PerfResult& result : results) write_workload(result, writer);
  writer.end_array();
  writer.end_object();
  writer.end_document();
}

}  // namespace berth
