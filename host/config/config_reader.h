// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers of the decoders of this folder, beyond JsonValue.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "host/config/feature_gates.h"
#include "host/config/scheduler_config.h"
#include "host/objects/errors.h"
#include "host/objects/json_value.h"
#include "host/objects/text/text_reader.h"

namespace berth {

inline constexpr std::string_view kSchedulerApiVersion = "kubescheduler.config.k8s.io/v1";

/// The context of every decoder of a KubeSchedulerConfiguration.
struct ConfigContext {
  const FeatureGates& gates;
  ProblemSink& sink;
  bool leaves_out_of_tree_out = false;  ///< else plugins that are neither in-tree nor loaded are problems
  OutsidePlugins loaded = {};
};

/// The one document of a configuration; a text that is not JSON is YAML with Kubernetes' scalar rules.
/// @throws InputError when it is malformed, larger than 16 MiB, or holds no document or more than one
JsonDocument config_document_from_text(std::string_view text, const std::string& source);

/// The same from a file; "-" is standard input.
/// @throws InputError also when the file cannot be read
JsonDocument config_document_from_file(const std::string& path);

/// Requires `apiVersion` and `kind`; other values are problems.
void check_type_meta(const JsonValue& root, std::string_view api_version, std::string_view kind);

/// Text in quotes, cut after 80 bytes.
std::string quoted_for_message(std::string_view text);

/// @throws InputError with the problems of `sink`, where it has any, each with its line in `document`
void throw_problems_with_lines(ProblemSink& sink, const JsonDocument& document);

/// Parses `document` and calls decode(const JsonValue& root), which adds problems to `sink`.
/// @throws InputError with all problems
template <class Decode>
void decode_config(const JsonDocument& document, const std::string& source, ProblemSink& sink, Decode&& decode) {
  JsonParser parser;
  const auto element = parser.parse(document.json);
  if (!element) throw InputError(InputProblem{source, "", parser.error()});
  const JsonValue root(*element, sink);
  std::forward<Decode>(decode)(root);
  throw_problems_with_lines(sink, document);
}

/// Reads an integer and requires lowest <= it <= highest; the message names both.
template <class Integer>
void read_in_range(const JsonValue& value, Integer& out, Integer lowest,
                   Integer highest = std::numeric_limits<Integer>::max()) {
  Integer read = 0;
  if (!value.read(read)) return;
  out = read;
  if (read >= lowest && read <= highest) return;
  const bool is_open = highest == std::numeric_limits<Integer>::max();
  value.mismatch(is_open ? "an integer of at least " + std::to_string(lowest)
                         : "an integer from " + std::to_string(lowest) + " to " + std::to_string(highest));
}

/// Names of a closed set with their values.
template <class Choice, std::size_t kCount>
using Choices = std::array<std::pair<std::string_view, Choice>, kCount>;

/// "a, b or c"
template <class Choice, std::size_t kCount>
std::string names_of(const Choices<Choice, kCount>& choices) {
  std::string names;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (i > 0) names += i + 1 == kCount ? " or " : ", ";
    names += choices[i].first;
  }
  return names;
}

/// @return nullopt when `value` is absent, or has none of the names, which is a problem
template <class Choice, std::size_t kCount>
std::optional<Choice> read_choice(const JsonValue& value, const Choices<Choice, kCount>& choices) {
  std::string_view text;
  if (!value.read(text)) return std::nullopt;
  for (const auto& [name, choice] : choices) {
    if (name == text) return choice;
  }
  value.mismatch(names_of(choices));
  return std::nullopt;
}

/// Reads a metav1.Duration ("1m30s") in microseconds.
/// @return whether `out_us` was written; a text that is not a duration is a problem
bool read_duration_us(const JsonValue& value, std::int64_t& out_us);

}  // namespace berth
