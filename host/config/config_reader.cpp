// SPDX-License-Identifier: Apache-2.0
#include "host/config/config_reader.h"

#include <utility>
#include <vector>

#include "host/objects/go_duration.h"

namespace berth {
namespace {

constexpr std::size_t kConfigBytesMax = std::size_t{16} << 20;
constexpr std::size_t kShownBytes = 80;

TextLimits limits() {
  TextLimits limits;
  limits.item_bytes_max = kConfigBytesMax;
  return limits;
}

JsonDocument only_document(std::vector<JsonDocument> documents, const std::string& source) {
  if (documents.size() == 1) return std::move(documents.front());
  throw InputError(
      InputProblem{source, "", "got " + std::to_string(documents.size()) + " documents, expected exactly one"});
}

void check_constant(const JsonValue& root, std::string_view key, std::string_view wanted) {
  const JsonValue value = root.field(key);
  std::string_view text;
  const bool is_wrong = !value.present() || (value.read(text) && text != wanted);
  if (is_wrong) value.mismatch(quoted_for_message(wanted));
}

}  // namespace

JsonDocument config_document_from_text(std::string_view text, const std::string& source) {
  if (text.size() > kConfigBytesMax) {
    throw InputError(InputProblem{source, "", "is larger than 16 MiB, the limit of a configuration"});
  }
  return only_document(documents_from_text(text, source, limits()), source);
}

JsonDocument config_document_from_file(const std::string& path) {
  return only_document(documents_from_file(path, limits()), path);
}

void throw_problems_with_lines(ProblemSink& sink, const JsonDocument& document) {
  if (sink.empty()) return;
  std::vector<InputProblem> problems = sink.take();
  add_lines(problems, document);
  throw InputError(std::move(problems));
}

void check_type_meta(const JsonValue& root, std::string_view api_version, std::string_view kind) {
  check_constant(root, "apiVersion", api_version);
  check_constant(root, "kind", kind);
}

std::string quoted_for_message(std::string_view text) {
  std::string out = "\"" + std::string(text.substr(0, kShownBytes));
  if (text.size() > kShownBytes) out += "...";
  return out + "\"";
}

bool read_duration_us(const JsonValue& value, std::int64_t& out_us) {
  std::string_view text;
  if (value.present() && !value.is_string()) {
    value.mismatch("a duration such as \"15s\"");
    return false;
  }
  if (!value.read(text)) return false;
  const auto ns = parse_go_duration_ns(text);
  if (!ns) {
    value.mismatch("a duration such as \"15s\"");
    return false;
  }
  out_us = duration_us(*ns);
  return true;
}

}  // namespace berth
