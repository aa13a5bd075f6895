// SPDX-License-Identifier: Apache-2.0
#include "host/perf/perf_op_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "host/config/config_reader.h"
#include "host/perf/perf_params.h"

namespace berth {
namespace {

constexpr std::int64_t kPerSecondMax = 1'000'000;
constexpr std::int64_t kMillisecondsMax = std::int64_t{1} << 40;

/// "$initNodes" without the "$".
void read_param_name(const JsonValue& value, std::string& out) {
  std::string text;
  if (!value.read(text)) return;
  if (text.size() > 1 && text.front() == '$') {
    out = text.substr(1);
  } else {
    value.mismatch("the name of a parameter, such as \"$initNodes\"");
  }
}

void read_selector(const JsonValue& value, PerfSelector& out) {
  value.for_each_field([&](std::string_view key, const JsonValue& field) { field.read(out[std::string(key)]); });
}

/// @return whether the key is one of a count
bool read_count(std::string_view key, const JsonValue& field, PerfCount& out) {
  if (key == "count") {
    read_in_range<std::int64_t>(field, out.value, 0, kPerfCountMax);
  } else if (key == "countParam") {
    read_param_name(field, out.param);
  } else {
    return false;
  }
  return true;
}

NodeStrategy read_label_strategy(const JsonValue& value) {
  LabelNodes strategy;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "labelKey") field.read(strategy.key);
    if (key == "labelValues") field.read(strategy.values);
    return key == "labelKey" || key == "labelValues";
  });
  if (strategy.key.empty() || strategy.values.empty())
    value.problem("expected a labelKey and at least one of labelValues");
  return strategy;
}

NodeStrategy read_unique_label_strategy(const JsonValue& value) {
  LabelNodesUniquely strategy;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "labelKey") field.read(strategy.key);
    return key == "labelKey";
  });
  if (strategy.key.empty()) value.problem("expected a labelKey");
  return strategy;
}

NodeStrategy read_allocatable_strategy(const JsonValue& value) {
  SetNodeAllocatable strategy;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "migratedPlugins") field.read(strategy.migrated_plugins);
    if (key == "csiNodeAllocatable") {
      field.for_each_field([&](std::string_view name, const JsonValue& allocatable) {
        CsiNode::Driver& driver = strategy.drivers.emplace_back();
        driver.name = name;
        allocatable.field("count").read(driver.limit);
      });
    }
    return key == "migratedPlugins" || key == "csiNodeAllocatable" || key == "nodeAllocatable";
  });
  return strategy;
}

/// @return whether the key names a strategy
bool read_strategy(std::string_view key, const JsonValue& field, NodeStrategy& out) {
  const bool is_second = out.index() != 0;
  if (key == "labelNodePrepareStrategy") {
    out = read_label_strategy(field);
  } else if (key == "uniqueNodeLabelStrategy") {
    out = read_unique_label_strategy(field);
  } else if (key == "nodeAllocatableStrategy") {
    out = read_allocatable_strategy(field);
  } else {
    return false;
  }
  if (is_second) field.problem("a second strategy, expected one at most");
  return true;
}

PerfOp read_create_nodes(const JsonValue& value) {
  CreateNodesOp op;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "nodeTemplatePath") field.read(op.template_path);
    return key == "opcode" || key == "nodeTemplatePath" || read_count(key, field, op.count) ||
           read_strategy(key, field, op.strategy);
  });
  return op;
}

PerfOp read_create_namespaces(const JsonValue& value) {
  CreateNamespacesOp op;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "prefix") field.read(op.prefix);
    if (key == "namespaceTemplatePath") field.read(op.template_path);
    return key == "opcode" || key == "prefix" || key == "namespaceTemplatePath" || read_count(key, field, op.count);
  });
  if (op.prefix.empty()) value.problem("expected a prefix");
  return op;
}

/// @return whether the key is one of the texts of createPods
bool read_pod_texts(std::string_view key, const JsonValue& field, CreatePodsOp& op) {
  if (key == "namespace") return field.read(op.namespace_), true;
  if (key == "podTemplatePath") return field.read(op.template_path), true;
  if (key == "persistentVolumeTemplatePath") return field.read(op.volume_template_path), true;
  if (key == "persistentVolumeClaimTemplatePath") return field.read(op.claim_template_path), true;
  if (key == "steadyStateParam") return read_param_name(field, op.steady_state_param), true;
  if (key == "durationParam") return read_param_name(field, op.duration_param), true;
  return key == "opcode";
}

bool read_pod_values(std::string_view key, const JsonValue& field, CreatePodsOp& op) {
  if (key == "steadyState") return field.read(op.steady_state), true;
  if (key == "collectMetrics") return field.read(op.collect_metrics), true;
  if (key == "skipWaitToCompletion") return field.read(op.skip_wait), true;
  if (key == "duration") return read_duration_us(field, op.duration_us), true;
  return read_count(key, field, op.count);
}

CreatePodsOp read_create_pods(const JsonValue& value) {
  CreatePodsOp op;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    return read_pod_texts(key, field, op) || read_pod_values(key, field, op);
  });
  if (op.collect_metrics && op.skip_wait)
    value.problem("collectMetrics and skipWaitToCompletion are both true, expected one of them at most");
  if (op.steady_state && op.skip_wait)
    value.problem("steadyState and skipWaitToCompletion are both true, expected one of them at most");
  return op;
}

PerfOp read_create_pod_sets(const JsonValue& value) {
  CreatePodSetsOp op;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "namespacePrefix") field.read(op.namespace_prefix);
    if (key == "createPodsOp" && field.expect_object()) op.pods = read_create_pods(field);
    return key == "opcode" || key == "namespacePrefix" || key == "createPodsOp" || read_count(key, field, op.count);
  });
  return op;
}

PerfOp read_delete_pods(const JsonValue& value) {
  DeletePodsOp op;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "namespace") field.read(op.namespace_);
    if (key == "labelSelector") read_selector(field, op.selector);
    if (key == "skipWaitToCompletion") field.read(op.skip_wait);
    if (key == "deletePodsPerSecond") read_in_range<std::int64_t>(field, op.per_second, 0, kPerSecondMax);
    return key == "opcode" || key == "namespace" || key == "labelSelector" || key == "skipWaitToCompletion" ||
           key == "deletePodsPerSecond";
  });
  if (op.namespace_.empty()) value.problem("expected a namespace");
  return op;
}

constexpr Choices<bool, 2> kChurnModes = {{{"create", false}, {"recreate", true}}};
constexpr Choices<bool, 2> kStages = {{{"Scheduled", false}, {"Attempted", true}}};

bool read_churn_field(std::string_view key, const JsonValue& field, ChurnOp& op) {
  if (key == "number") return read_in_range<std::int64_t>(field, op.number, 0, kPerfCountMax), true;
  if (key == "namespace") return field.read(op.namespace_), true;
  if (key == "templatePaths") return field.read(op.template_paths), true;
  if (key != "intervalMilliseconds") return key == "opcode";
  std::int64_t milliseconds = 0;
  read_in_range<std::int64_t>(field, milliseconds, 0, kMillisecondsMax);
  if (milliseconds > 0) op.interval_us = milliseconds * 1000;
  return true;
}

PerfOp read_churn(const JsonValue& value) {
  ChurnOp op;
  bool has_mode = false;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key != "mode") return read_churn_field(key, field, op);
    has_mode = true;
    op.recreates = read_choice(field, kChurnModes).value_or(false);
    return true;
  });
  if (!has_mode) value.problem("no mode, expected create or recreate");
  if (op.recreates && op.number == 0) value.problem("mode recreate needs a number above 0");
  if (op.template_paths.empty()) value.problem("no templatePaths, expected at least one");
  return op;
}

PerfOp read_create_any(const JsonValue& value) {
  CreateAnyOp op;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "namespace") field.read(op.namespace_);
    if (key == "templatePath") field.read(op.template_path);
    return key == "opcode" || key == "namespace" || key == "templatePath" || read_count(key, field, op.count);
  });
  if (op.template_path.empty()) value.problem("expected a templatePath");
  return op;
}

PerfOp read_update_any(const JsonValue& value) {
  UpdateAnyOp op;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "namespace") field.read(op.namespace_);
    if (key == "templatePath") field.read(op.template_path);
    if (key == "subresources") field.read(op.subresources);
    if (key == "updatePerSecond") read_in_range<std::int64_t>(field, op.per_second, 0, kPerSecondMax);
    return key == "opcode" || key == "namespace" || key == "templatePath" || key == "subresources" ||
           key == "updatePerSecond" || read_count(key, field, op.count);
  });
  if (op.template_path.empty()) value.problem("expected a templatePath");
  return op;
}

PerfOp read_barrier(const JsonValue& value) {
  BarrierOp op;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "namespaces") field.read(op.namespaces);
    if (key == "labelSelector") read_selector(field, op.selector);
    if (key == "stageRequirement") op.waits_for_attempt = read_choice(field, kStages).value_or(false);
    return key == "opcode" || key == "namespaces" || key == "labelSelector" || key == "stageRequirement";
  });
  return op;
}

PerfOp read_sleep(const JsonValue& value) {
  SleepOp op;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "duration") read_duration_us(field, op.duration_us);
    if (key == "durationParam") read_param_name(field, op.duration_param);
    return key == "opcode" || key == "duration" || key == "durationParam";
  });
  return op;
}

PerfOp read_start_collecting(const JsonValue& value) {
  StartCollectingOp op;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "name") field.read(op.name);
    if (key == "namespaces") field.read(op.namespaces);
    if (key == "labelSelector") read_selector(field, op.selector);
    return key == "opcode" || key == "name" || key == "namespaces" || key == "labelSelector";
  });
  if (op.namespaces.empty()) value.problem("no namespaces, expected at least one");
  return op;
}

PerfOp read_stop_collecting(const JsonValue& value) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& /*field*/) { return key == "opcode"; });
  return StopCollectingOp{};
}

using ReadOp = PerfOp (*)(const JsonValue&);
constexpr auto kReaders = std::to_array<std::pair<std::string_view, ReadOp>>({
    {"createNodes", read_create_nodes},
    {"createNamespaces", read_create_namespaces},
    {"createPods", [](const JsonValue& value) -> PerfOp { return read_create_pods(value); }},
    {"createPodSets", read_create_pod_sets},
    {"deletePods", read_delete_pods},
    {"churn", read_churn},
    {"createAny", read_create_any},
    {"updateAny", read_update_any},
    {"barrier", read_barrier},
    {"sleep", read_sleep},
    {"startCollectingMetrics", read_start_collecting},
    {"stopCollectingMetrics", read_stop_collecting},
});
constexpr auto kUnsupported =
    std::to_array<std::string_view>({"allocResourceClaims", "createResourceClaims", "createResourceDriver"});

}  // namespace

PerfOp read_perf_op(const JsonValue& value) {
  const JsonValue opcode = value.field("opcode");
  std::string name;
  opcode.read(name);
  for (const auto& [known, read] : kReaders) {
    if (known == name) return read(value);
  }
  if (std::find(kUnsupported.begin(), kUnsupported.end(), name) == kUnsupported.end())
    opcode.mismatch("an operation of scheduler_perf, such as \"createPods\"");
  return UnsupportedOp{name};
}

}  // namespace berth
