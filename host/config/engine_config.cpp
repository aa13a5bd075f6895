// SPDX-License-Identifier: Apache-2.0
#include "host/config/engine_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "host/config/config_reader.h"
#include "host/objects/quantity.h"

namespace berth {
namespace {

constexpr std::string_view kApiVersion = "berth.dev/v1alpha1";
constexpr std::string_view kKind = "BerthEngineConfiguration";
constexpr std::int32_t kThreadsMax = 1024;

constexpr auto kBackends = std::to_array<std::string_view>({"auto", "reference", "cpu", "cuda"});
constexpr auto kTieBreaks = std::to_array<std::pair<std::string_view, TieBreak>>(
    {{"load", TieBreak::kLoad}, {"random", TieBreak::kRandom}, {"first", TieBreak::kFirst}, {"kube", TieBreak::kKube}});
constexpr auto kNodeSamplings = std::to_array<std::pair<std::string_view, NodeSampling>>(
    {{"all", NodeSampling::kAll}, {"kube", NodeSampling::kKube}});
constexpr auto kBatchings = std::to_array<std::pair<std::string_view, Batching>>(
    {{"engine", Batching::kEngine}, {"kube-1.35", Batching::kKube}});

constexpr auto kDeviceFailures = std::to_array<std::pair<std::string_view, DeviceFailure>>(
    {{"stop", DeviceFailure::kStop}, {"rerunOnCpu", DeviceFailure::kRerunOnCpu}});
constexpr auto kDeviceFailureFlags = std::to_array<std::pair<std::string_view, DeviceFailure>>(
    {{"stop", DeviceFailure::kStop}, {"rerun-on-cpu", DeviceFailure::kRerunOnCpu}});

template <class Choice, std::size_t kCount>
Choice parse_choice(std::string_view text, const char* flag, const Choices<Choice, kCount>& choices) {
  for (const auto& [name, choice] : choices) {
    if (name == text) return choice;
  }
  throw InputError(InputProblem{flag, "", "got " + quoted_for_message(text) + ", expected " + names_of(choices)});
}

template <class Choice, std::size_t kCount>
std::string_view name_of(Choice value, const Choices<Choice, kCount>& choices) {
  return std::find_if(choices.begin(), choices.end(), [value](const auto& entry) { return entry.second == value; })
      ->first;
}

void read_backend(const JsonValue& value, std::string& out) {
  if (!value.read(out)) return;
  if (std::find(kBackends.begin(), kBackends.end(), out) == kBackends.end()) {
    value.mismatch("auto, reference, cpu or cuda");
  }
}

void read_seed(const JsonValue& value, std::uint64_t& out) {
  if (!value.present()) return;
  if (!value.element().is_uint64()) return value.mismatch("an integer from 0 to 18446744073709551615");
  out = std::uint64_t(value.element());
}

/// Bytes as an integer, or as a Kubernetes quantity ("512Mi").
void read_bytes(const JsonValue& value, std::uint64_t& out) {
  constexpr std::string_view kExpected = "a number of bytes above 0, or a quantity such as \"512Mi\"";
  if (!value.present()) return;
  std::int64_t bytes = 0;
  if (value.is_string()) {
    const auto quantity = Quantity::parse(std::string_view(value.element()));
    bytes = quantity ? quantity->value() : 0;
  } else if (value.element().is_int64()) {
    bytes = std::int64_t(value.element());
  }
  if (bytes <= 0) return value.mismatch(kExpected);
  out = static_cast<std::uint64_t>(bytes);
}

void read_upstream_bugs(const JsonValue& value, UpstreamBugs& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "emptySpreadSelectorCountsNothing") {
      field.read(out.empty_spread_selector_counts_nothing);
    } else if (key == "negativeNamespaceSelectorMatchesAll") {
      field.read(out.negative_namespace_selector_matches_all);
    } else {
      return false;
    }
    return true;
  });
}

void read_device(const JsonValue& value, EngineConfig& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "ordinal") {
      read_in_range<std::int32_t>(field, out.device_ordinal, 0);
    } else if (key == "memoryBytesMax") {
      read_bytes(field, out.device_memory_bytes_max);
    } else if (key == "onFailure") {
      out.on_device_failure = read_choice(field, kDeviceFailures).value_or(out.on_device_failure);
    } else {
      return false;
    }
    return true;
  });
}

bool read_field(std::string_view key, const JsonValue& value, EngineConfig& out) {
  if (key == "apiVersion" || key == "kind") return true;  // check_type_meta
  if (key == "backend") {
    read_backend(value, out.backend);
  } else if (key == "seed") {
    read_seed(value, out.seed);
  } else if (key == "tieBreak") {
    out.tie_break = read_choice(value, kTieBreaks).value_or(out.tie_break);
  } else if (key == "nodeSampling") {
    out.node_sampling = read_choice(value, kNodeSamplings).value_or(out.node_sampling);
  } else if (key == "batching") {
    out.batching = read_choice(value, kBatchings).value_or(out.batching);
  } else if (key == "threads") {
    read_in_range<std::int32_t>(value, out.threads, 0, kThreadsMax);
  } else if (key == "rowBytesMax") {
    read_bytes(value, out.row_bytes_max);
  } else if (key == "batchPodsMax") {
    read_in_range<std::int32_t>(value, out.batch_pods_max, 1);
  } else if (key == "upstreamBugs") {
    read_upstream_bugs(value, out.upstream_bugs);
  } else if (key == "device") {
    read_device(value, out);
  } else {
    return false;
  }
  return true;
}

EngineConfig decode(const JsonDocument& document, const std::string& source) {
  EngineConfig config;
  ProblemSink sink(source);
  decode_config(document, source, sink, [&](const JsonValue& root) {
    if (!root.expect_object()) return;
    check_type_meta(root, kApiVersion, kKind);
    root.for_each_field_strict(
        [&](std::string_view key, const JsonValue& value) { return read_field(key, value, config); });
  });
  return config;
}

}  // namespace

EngineConfig parse_engine_config(std::string_view text, const std::string& source) {
  return decode(config_document_from_text(text, source), source);
}

EngineConfig load_engine_config(const std::string& path) { return decode(config_document_from_file(path), path); }

TieBreak parse_tie_break(std::string_view text) { return parse_choice(text, "--tie-break", kTieBreaks); }

NodeSampling parse_node_sampling(std::string_view text) {
  return parse_choice(text, "--node-sampling", kNodeSamplings);
}

Batching parse_batching(std::string_view text) { return parse_choice(text, "--batching", kBatchings); }

DeviceFailure parse_device_failure(std::string_view text) {
  return parse_choice(text, "--on-device-failure", kDeviceFailureFlags);
}

std::string_view to_string(TieBreak value) { return name_of(value, kTieBreaks); }
std::string_view to_string(NodeSampling value) { return name_of(value, kNodeSamplings); }
std::string_view to_string(Batching value) { return name_of(value, kBatchings); }

}  // namespace berth
