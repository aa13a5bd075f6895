// SPDX-License-Identifier: Apache-2.0
// Flags of the configuration, of logs and of metrics.
#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "host/cli/scheduler_flags.h"
#include "host/config/config_reader.h"

namespace berth {
namespace {

using Flags = SchedulerFlags;
using Values = SchedulerFlag::Values;

std::string without_component(const std::string& text, std::string_view separator) {
  const std::string prefix = "kube" + std::string(separator);
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

std::string read_gates(Flags& flags, const Values& values) {
  for (const std::string& value : values) {
    for (const std::string& entry : split_list(value)) {
      const std::string gate = without_component(entry, ":");
      if (gate.find(':') != gate.npos) return "gates of kube, such as Gate=true or kube:Gate=true";
      flags.feature_gates += (flags.feature_gates.empty() ? "" : ",") + gate;
    }
  }
  return {};
}

std::string read_emulated(Flags& flags, const Values& values) {
  for (const std::string& value : values)
    for (const std::string& entry : split_list(value)) flags.release = without_component(entry, "=");
  if (flags.release && *flags.release != "1.35" && *flags.release != "1.36") return "1.35 or 1.36";
  return {};
}

std::string read_qps(Flags& flags, const Values& values) {
  const std::string& text = values.back();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && end == text.c_str() + text.size() && std::isfinite(number);
  if (!is_number || std::abs(number) > static_cast<double>(std::numeric_limits<float>::max())) return "a number";
  flags.qps = number;
  return {};
}

std::string read_burst(Flags& flags, const Values& values) {
  std::int64_t burst = 0;
  std::string expected = read_integer(values.back(), 0, std::numeric_limits<std::int32_t>::max(), burst);
  if (expected.empty()) flags.burst = burst;
  return expected;
}

std::string read_verbosity(Flags& flags, const Values& values) {
  return read_integer(values.back(), 0, std::numeric_limits<std::int32_t>::max(), flags.verbosity);
}

std::string read_log_format(Flags& flags, const Values& values) {
  if (values.back() != "text" && values.back() != "json") return "text or json";
  flags.log_format = values.back();
  return {};
}

std::string read_version(Flags& flags, const Values& values) {
  bool is_asked = false;
  if (values.back() == "raw") {
    flags.version = "raw";
    return {};
  }
  std::string expected = read_boolean(values.back(), is_asked);
  if (!expected.empty()) return "true, false or raw: another version is not claimed";
  if (is_asked) flags.version = "true";
  return {};
}

/// "metric,label=value,value"; several, in one text or in several.
std::string read_allowed_labels(Flags& flags, const Values& values) {
  for (const std::string& value : values) {
    const std::size_t equals = value.find('=');
    const std::string key = value.substr(0, equals);
    if (equals == value.npos || key.find(',') == key.npos) return "METRIC,LABEL=VALUE,VALUE...";
    std::string list = value.substr(equals + 1);
    if (list.size() >= 2 && list.front() == '\'' && list.back() == '\'') list = list.substr(1, list.size() - 2);
    flags.allowed_metric_labels[key] = split_list(list);
  }
  return {};
}

std::string read_hidden_metrics(Flags& flags, const Values& values) {
  if (!values.back().empty() && values.back() != "1.34" && values.back() != "1.35")
    return "the release before the emulated one";
  flags.shown_hidden_metrics = values.back();
  return {};
}

/// As upstream, which has the gate LoggingAlphaOptions off.
std::string refuse_alpha_boolean(Flags&, const Values& values) {
  bool is_on = false;
  std::string expected = read_boolean(values.back(), is_on);
  if (!expected.empty()) return expected;
  return is_on ? "false: it needs the gate LoggingAlphaOptions, which is off" : "";
}

std::string refuse_alpha_size(Flags&, const Values& values) {
  return values.back() == "0" ? "" : "0: it needs the gate LoggingAlphaOptions, which is off";
}

}  // namespace

std::vector<SchedulerFlag> config_flags() {
  using namespace flag_reader;
  return {
      {"config", "FILE", "The configuration: kubescheduler.config.k8s.io/v1",
       text([](Flags& f) -> std::string& { return f.config_path; })},
      {"master", "URL", "Address of the API server, before that of the kubeconfig",
       text([](Flags& f) -> std::string& { return f.master; })},
      {"write-config-to", "FILE", "Write the completed configuration there and exit",
       text([](Flags& f) -> std::string& { return f.write_config_path; })},
      {"contention-profiling", "BOOL", "Deprecated, without --config",
       boolean([](Flags& f) -> std::optional<bool>& { return f.contention_profiling; }), true},
      {"kube-api-burst", "N", "Deprecated, without --config: burst of the client", read_burst},
      {"kube-api-content-type", "TYPE", "Deprecated, without --config",
       text([](Flags& f) -> std::optional<std::string>& { return f.content_type; })},
      {"kube-api-qps", "N", "Deprecated, without --config: requests a second", read_qps},
      {"kubeconfig", "FILE", "Deprecated, without --config: how to reach the API server",
       text([](Flags& f) -> std::optional<std::string>& { return f.kubeconfig; })},
      {"pod-max-in-unschedulable-pods-duration", "DURATION", "Deprecated: how long a pod stays unschedulable",
       duration([](Flags& f) -> std::int64_t& { return f.pod_max_in_unschedulable_us; })},
      {"profiling", "BOOL", "Deprecated, without --config: serve /debug/flags/v",
       boolean([](Flags& f) -> std::optional<bool>& { return f.profiling; }), true},
      {"leader-elect", "BOOL", "Schedule only with the lease",
       boolean([](Flags& f) -> std::optional<bool>& { return f.leader_elect; }), true},
      {"leader-elect-lease-duration", "DURATION", "How long others wait for a leader",
       duration([](Flags& f) -> std::optional<std::int64_t>& { return f.lease_duration_us; })},
      {"leader-elect-renew-deadline", "DURATION", "How long a leader tries to renew the lease",
       duration([](Flags& f) -> std::optional<std::int64_t>& { return f.renew_deadline_us; })},
      {"leader-elect-resource-lock", "KIND", "leases",
       text([](Flags& f) -> std::optional<std::string>& { return f.resource_lock; })},
      {"leader-elect-resource-name", "NAME", "Name of the lease",
       text([](Flags& f) -> std::optional<std::string>& { return f.resource_name; })},
      {"leader-elect-resource-namespace", "NAME", "Namespace of the lease",
       text([](Flags& f) -> std::optional<std::string>& { return f.resource_namespace; })},
      {"leader-elect-retry-period", "DURATION", "Between two tries",
       duration([](Flags& f) -> std::optional<std::int64_t>& { return f.retry_period_us; })},
      {"emulated-version", "VERSION", "1.35 or 1.36, also as kube=1.35", read_emulated},
      {"feature-gates", "LIST", "Gate=true,Gate=false, also as kube:Gate=true", read_gates},
      {"min-compatibility-version", "VERSION", "Accepted",
       text([](Flags& f) -> std::string& { return f.min_compatibility_version; }), false,
       "nothing in a scheduler depends on it"},
  };
}

std::vector<SchedulerFlag> log_and_metric_flags() {
  using namespace flag_reader;
  const auto ignored = [](Flags&, const Values&) { return std::string(); };
  return {
      {"allow-metric-labels", "MAP", "Values of a label that are shown: METRIC,LABEL=VALUE,...", read_allowed_labels},
      {"allow-metric-labels-manifest", "FILE", "A file with such a map",
       text([](Flags& f) -> std::string& { return f.allowed_metric_labels_path; })},
      {"disabled-metrics", "LIST", "Metrics that are not served",
       list([](Flags& f) -> std::vector<std::string>& { return f.disabled_metrics; })},
      {"show-hidden-metrics-for-version", "VERSION", "Accepted", read_hidden_metrics, false, "no metric is hidden"},
      {"log-flush-frequency", "DURATION", "Accepted",
       duration([](Flags& f) -> std::int64_t& { return f.log_flush_us; }), false, "messages are written at once"},
      {"log-json-info-buffer-size", "SIZE", "Refused, as upstream without its gate", refuse_alpha_size},
      {"log-json-split-stream", "BOOL", "Refused, as upstream without its gate", refuse_alpha_boolean, true},
      {"log-text-info-buffer-size", "SIZE", "Refused, as upstream without its gate", refuse_alpha_size},
      {"log-text-split-stream", "BOOL", "Refused, as upstream without its gate", refuse_alpha_boolean, true},
      {"logging-format", "FORMAT", "text or json", read_log_format},
      {"v", "N", "How much is logged", read_verbosity},
      {"vmodule", "LIST", "Accepted", ignored, false, "the log has no levels by source file"},
      {"version", "BOOL", "Print the version and exit; also raw", read_version, true},
  };
}

}  // namespace berth
