// SPDX-License-Identifier: Apache-2.0
#include "host/perf/perf_config.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "host/config/config_reader.h"
#include "host/objects/text/text_reader.h"
#include "host/perf/perf_op_reader.h"

namespace berth {
namespace {

/// Names are matched by regular expressions, whose cost grows with them.
constexpr std::size_t kNameBytesMax = 253;

void check_name(const JsonValue& value, const std::string& name) {
  if (name.empty()) value.problem("no name, expected one");
  if (name.size() > kNameBytesMax)
    value.problem("a name of " + std::to_string(name.size()) + " bytes, expected at most " +
                  std::to_string(kNameBytesMax));
}

void read_gates(const JsonValue& value, std::map<std::string, bool>& out) {
  value.for_each_field([&](std::string_view key, const JsonValue& field) { field.read(out[std::string(key)]); });
}

void read_params(const JsonValue& value, std::map<std::string, PerfParam>& out) {
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    PerfParam& param = out[std::string(key)];
    if (field.is_string()) {
      field.read(param.emplace<std::string>());
    } else if (field.element().is_bool()) {
      field.read(param.emplace<bool>());
    } else {
      field.read(param.emplace<double>());
    }
  });
}

void read_threshold_value(const JsonValue& value, double& out) {
  if (value.read(out) && out < 0) value.mismatch("a number of at least 0");
}

void read_threshold(const JsonValue& value, PerfThreshold& out) {
  if (!value.is_object()) return read_threshold_value(value, out.value);
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    read_threshold_value(field, out.by_topic[std::string(key)]);
  });
}

/// Labels and direction of the metric are not kept: a workload that names another metric than the throughput is
/// skipped.
void read_threshold_metric(const JsonValue& value, std::string& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "name") field.read(out);
    return key == "name" || key == "labels" || key == "expectLower";
  });
}

void read_workload(const JsonValue& value, PerfWorkload& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "name") {
      field.read(out.name);
    } else if (key == "params") {
      read_params(field, out.params);
    } else if (key == "labels") {
      field.read(out.labels);
    } else if (key == "threshold") {
      read_threshold(field, out.threshold);
    } else if (key == "thresholdMetricSelector") {
      read_threshold_metric(field, out.threshold_metric);
    } else if (key == "featureGates") {
      read_gates(field, out.gates);
    } else {
      return false;
    }
    return true;
  });
}

void read_workloads(const JsonValue& value, std::vector<PerfWorkload>& out) {
  std::set<std::string> names;
  value.for_each_element([&](const JsonValue& element) {
    read_workload(element, out.emplace_back());
    check_name(element, out.back().name);
    if (!names.insert(out.back().name).second) element.problem("a second workload of the name " + out.back().name);
  });
}

void read_ops(const JsonValue& value, std::vector<PerfOp>& out) {
  value.for_each_element([&](const JsonValue& element) {
    if (element.expect_object()) out.push_back(read_perf_op(element));
  });
}

bool collects_metrics(const PerfOp& op) {
  if (const auto* pods = std::get_if<CreatePodsOp>(&op)) return pods->collect_metrics;
  if (const auto* sets = std::get_if<CreatePodSetsOp>(&op)) return sets->pods.collect_metrics;
  return std::holds_alternative<StopCollectingOp>(op);
}

/// What upstream's validateTestCases() asks for.
void check_case(const JsonValue& value, const PerfTestCase& test_case) {
  check_name(value, test_case.name);
  if (test_case.workloads.empty()) value.problem("no workloads, expected at least one");
  if (test_case.ops.empty()) return value.problem("no workloadTemplate, expected at least one operation");
  if (std::none_of(test_case.ops.begin(), test_case.ops.end(), collects_metrics))
    value.problem("no operation collects metrics, expected collectMetrics or stopCollectingMetrics");
}

void read_case(const JsonValue& value, PerfTestCase& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "name") {
      field.read(out.name);
    } else if (key == "featureGates") {
      read_gates(field, out.gates);
    } else if (key == "workloadTemplate") {
      read_ops(field, out.ops);
    } else if (key == "workloads") {
      read_workloads(field, out.workloads);
    } else if (key == "schedulerConfigPath") {
      field.read(out.scheduler_config_path);
    } else if (key == "defaultPodTemplatePath") {
      field.read(out.pod_template_path);
    } else if (key == "labels") {
      field.read(out.labels);
    } else if (key == "defaultThresholdMetricSelector") {
      read_threshold_metric(field, out.threshold_metric);
    } else {
      return key == "metricsCollectorConfig";
    }
    return true;
  });
  check_case(value, out);
}

std::vector<PerfTestCase> read_cases(const JsonValue& root) {
  std::vector<PerfTestCase> cases;
  std::set<std::string> names;
  if (!root.present() || !root.is_array()) root.mismatch("a list of test cases");
  if (!root.is_array()) return cases;
  root.for_each_element([&](const JsonValue& element) {
    if (!element.expect_object()) return;
    read_case(element, cases.emplace_back());
    if (!names.insert(cases.back().name).second) element.problem("a second test case of the name " + cases.back().name);
  });
  if (cases.empty()) root.problem("no test cases, expected at least one");
  return cases;
}

PerfFile read_file(const JsonDocument& document, const std::string& path) {
  PerfFile file;
  file.path = path;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) file.folder = folder.string() + "/";
  file.topic = std::filesystem::weakly_canonical(folder.empty() ? "." : folder).filename().string();
  ProblemSink sink(path);
  decode_config(document, path, sink, [&](const JsonValue& root) { file.cases = read_cases(root); });
  return file;
}

bool has_label(const std::vector<std::string>& labels, std::string_view label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

}  // namespace

double PerfThreshold::of(std::string_view topic) const {
  const auto at = by_topic.find(std::string(topic));
  return at != by_topic.end() ? at->second : value;
}

PerfFile load_perf_file(const std::string& path) { return read_file(config_document_from_file(path), path); }

PerfFile parse_perf_file(std::string_view text, const std::string& path) {
  return read_file(config_document_from_text(text, path), path);
}

bool matches_labels(std::string_view filter, const PerfTestCase& test_case, const PerfWorkload& workload) {
  while (!filter.empty()) {
    const std::size_t comma = std::min(filter.find(','), filter.size());
    std::string_view label = filter.substr(0, comma);
    filter.remove_prefix(std::min(comma + 1, filter.size()));
    if (label.empty()) continue;
    const bool is_wanted = label.front() != '-';
    if (label.front() == '-' || label.front() == '+') label.remove_prefix(1);
    if ((has_label(test_case.labels, label) || has_label(workload.labels, label)) != is_wanted) return false;
  }
  return true;
}

}  // namespace berth
