// SPDX-License-Identifier: Apache-2.0
#include "host/kube/watch/watch_text.h"

#include <simdjson.h>

#include <charconv>
#include <system_error>

#include "host/kube/protobuf/envelope.h"
#include "host/kube/protobuf/object_transcoder.h"
#include "host/objects/json_value.h"
#include "host/objects/text/text_limits.h"

namespace berth {
namespace {

static_assert(kSlicePaddingBytes >= simdjson::SIMDJSON_PADDING);

constexpr std::size_t kShownBytes = 300;

ConditionStatus status_of(std::string_view text) {
  if (text == "True") return ConditionStatus::kTrue;
  return text == "False" ? ConditionStatus::kFalse : ConditionStatus::kUnknown;
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// @param type  stays empty where there is none that is known
simdjson::error_code read_fields(simdjson::ondemand::parser& parser, std::string_view line,
                                 std::optional<WatchLineType>& type, std::string_view& json) {
  simdjson::ondemand::document document;
  simdjson::ondemand::object fields;
  auto error = parser.iterate(line.data(), line.size(), line.size() + kSlicePaddingBytes).get(document);
  if (!error) error = document.get_object().get(fields);
  if (error) return error;
  for (auto field : fields) {
    std::string_view key;
    std::string_view text;
    error = field.unescaped_key().get(key);
    if (!error && key == "type") {
      error = field.value().get_string().get(text);
      WatchLineType known = WatchLineType::kError;
      if (!error && read_watch_type(text, known)) type = known;
    } else if (!error && key == "object") {
      simdjson::ondemand::object object;
      error = field.value().get_object().get(object);
      if (!error) error = object.raw_json().get(json);
      json = json.substr(0, json.rfind('}') + 1);  // white space may follow
    }
    if (error) return error;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code read_metadata(simdjson::ondemand::parser& parser, std::string_view json, ObjectVersion& out) {
  simdjson::ondemand::document document;
  simdjson::ondemand::object metadata;
  auto error = parser.iterate(json.data(), json.size(), json.size() + kSlicePaddingBytes).get(document);
  if (!error) error = document.find_field_unordered("metadata").get_object().get(metadata);
  if (error) return error;
  for (auto field : metadata) {
    std::string_view key;
    std::string_view text;
    error = field.unescaped_key().get(key);
    if (!error && key == "managedFields") break;  // stands behind the others, and is long
    if (!error && key == "resourceVersion") {
      error = field.value().get_string().get(text);
      out.resource_version = number_of(text);
    } else if (!error && key == "generation") {
      error = field.value().get_int64().get(out.generation);
    } else if (!error && key == "annotations") {
      simdjson::ondemand::object annotations;
      const bool is_object = !field.value().get_object().get(annotations);  // else null
      if (is_object && !annotations.find_field_unordered("k8s.io/initial-events-end").get_string().get(text))
        out.ends_initial_events = text == "true";
    }
    if (error) return error;
  }
  return simdjson::SUCCESS;
}

/// A Status in protobuf as JSON; empty: it is none.
std::string status_json(std::string_view bytes) {
  ProtoEnvelope envelope;
  ObjectTranscoder transcoder;
  const bool is_status = read_envelope(bytes, envelope) == nullptr && envelope.kind == "Status" &&
                         transcoder.transcode(*find_proto_message("Status"), envelope.message, R"("kind":"Status",)");
  return is_status ? std::string(transcoder.json()) : std::string();
}

}  // namespace

bool read_watch_type(std::string_view text, WatchLineType& out) {
  if (text == "ADDED") {
    out = WatchLineType::kAdded;
  } else if (text == "MODIFIED") {
    out = WatchLineType::kModified;
  } else if (text == "DELETED") {
    out = WatchLineType::kDeleted;
  } else if (text == "BOOKMARK") {
    out = WatchLineType::kBookmark;
  } else if (text == "ERROR") {
    out = WatchLineType::kError;
  } else {
    return false;
  }
  return true;
}

bool LineBuffer::add(std::string_view bytes, const std::function<bool(std::string_view)>& on_line) {
  std::size_t searched = bytes_.size();
  bytes_.reserve(bytes_.size() + bytes.size() + kSlicePaddingBytes);
  bytes_.append(bytes);
  std::size_t begin = 0;
  bool goes_on = true;
  while (goes_on) {
    const std::size_t end = bytes_.find('\n', searched);
    if (end == std::string::npos) break;
    if (end > begin) goes_on = on_line(std::string_view(bytes_).substr(begin, end - begin));
    begin = searched = end + 1;
  }
  bytes_.erase(0, begin);
  return goes_on && bytes_.size() <= kLineBytesMax;
}

struct WatchTextReader::Parser {
  simdjson::ondemand::parser of_simdjson;
};

WatchTextReader::WatchTextReader() : parser_(std::make_unique<Parser>()) {}
WatchTextReader::~WatchTextReader() = default;

bool WatchTextReader::read_line(std::string_view line, WatchLine& out) {
  problem_.clear();
  out.object = {};
  std::optional<WatchLineType> type;
  if (const simdjson::error_code error = read_fields(parser_->of_simdjson, line, type, out.object)) {
    problem_ = std::string("a watch event that is no JSON: ") + simdjson::error_message(error);
  } else if (!type || out.object.empty()) {
    problem_ = "a watch event without an object, or of an unknown type";
  }
  if (type) out.type = *type;
  return problem_.empty();
}

bool WatchTextReader::read_version(std::string_view object, ObjectVersion& out) {
  out = {};
  problem_.clear();
  if (const simdjson::error_code error = read_metadata(parser_->of_simdjson, object, out)) {
    problem_ = std::string("an object without metadata: ") + simdjson::error_message(error);
  } else if (out.resource_version == 0) {
    problem_ = "an object without metadata.resourceVersion";
  }
  return problem_.empty();
}

std::optional<PodCondition> WatchTextReader::read_scheduled_condition(std::string_view json) {
  simdjson::ondemand::document document;
  simdjson::ondemand::array list;
  auto error = parser_->of_simdjson.iterate(json.data(), json.size(), json.size() + kSlicePaddingBytes).get(document);
  if (!error) error = document.find_field_unordered("status").find_field_unordered("conditions").get_array().get(list);
  if (error) return std::nullopt;
  for (auto element : list) {
    simdjson::ondemand::object fields;
    if (element.get_object().get(fields)) return std::nullopt;
    PodCondition condition;
    for (auto field : fields) {
      std::string_view key;
      std::string_view text;
      if (field.unescaped_key().get(key)) return std::nullopt;
      if (key == "observedGeneration") {
        if (field.value().get_int64().get(condition.observed_generation)) condition.observed_generation = 0;
        continue;
      }
      if (field.value().get_string().get(text)) continue;
      if (key == "type") condition.type = text;
      if (key == "status") condition.status = status_of(text);
      if (key == "reason") condition.reason = text;
      if (key == "message") condition.message = text;
    }
    if (condition.type == "PodScheduled") return condition;
  }
  return std::nullopt;
}

ApiStatus read_api_status(std::string_view text) {
  if (is_protobuf(text)) {
    const std::string json = status_json(text);
    if (json.empty()) return {0, "", "the answer in protobuf is no Status", 0};
    return read_api_status(json);
  }
  ApiStatus status;
  JsonParser parser;
  ProblemSink sink({});
  if (const auto root = parser.parse(text)) {
    const JsonValue object(*root, sink);
    std::string kind;
    if (object.is_object()) {
      object.field("kind").read(kind);
      object.field("code").read(status.code);
      object.field("reason").read(status.reason);
      object.field("message").read(status.message);
      const JsonValue details = object.field("details");
      if (details.is_object()) details.field("retryAfterSeconds").read(status.retry_after_s);
    }
    if (kind == "Status" && sink.empty()) return status;
  }
  status = {};
  status.message = text.substr(0, kShownBytes);
  return status;
}

}  // namespace berth
