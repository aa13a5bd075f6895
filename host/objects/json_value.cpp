// SPDX-License-Identifier: Apache-2.0
#include "host/objects/json_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <new>
#include <system_error>

#include "host/objects/text/json_scan.h"
#include "host/objects/validation.h"

namespace berth {
namespace {

constexpr std::size_t kShownStringBytes = 80;
constexpr double kTwoTo63 = 9223372036854775808.0;

bool is_plain_key(std::string_view key) {
  for (const char c : key) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!plain) return false;
  }
  return !key.empty();
}

/// Quoted and cut, so that a message stays short whatever the input holds. Control bytes stay: what shows a message
/// makes them visible, those of names and paths too.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kShownStringBytes)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  if (text.size() > kShownStringBytes) out += "...";
  return out + '"';
}

/// The byte behind the string that begins at `at`; the end of the text when it does not end.
std::size_t skip_string(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return std::min(at + 1, json.size());
}

bool needs_more_than_64_bits(std::string_view digits) {
  std::int64_t negative = 0;
  std::uint64_t positive = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = digits.starts_with('-') ? std::from_chars(digits.data(), end, negative)
                                              : std::from_chars(digits.data(), end, positive);
  return result.ec == std::errc::result_out_of_range;
}

/// A copy of `json` in which integers of more than 64 bits have an exponent, so that they read as floats: what
/// Kubernetes' own readers make of them, and what a field that nobody looks at may well hold. nullopt when there is
/// none.
std::optional<std::string> with_large_integers_as_floats(std::string_view json) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < json.size();) {
    if (json[at] == '"') {
      at = skip_string(json, at);
      continue;
    }
    const std::size_t end = std::min(json.find_first_not_of("0123456789+-.eE", at), json.size());
    const std::string_view number = json.substr(at, end - at);
    if (needs_more_than_64_bits(number) && number.find_first_of(".eE") == std::string_view::npos) {
      out.append(json, copied, end - copied).append("e0");
      copied = end;
    }
    at = std::max(end, at + 1);
  }
  if (copied == 0) return std::nullopt;
  return out.append(json, copied);
}

/// Integers of more than 64 bits have been rounded when they get here, so their digits are not shown as exact ones.
std::string shortest(double value) {
  char buffer[32];
  char* const last = buffer + sizeof(buffer);
  const auto end = std::abs(value) < kTwoTo63 ? std::to_chars(buffer, last, value)
                                              : std::to_chars(buffer, last, value, std::chars_format::scientific);
  return std::string(buffer, end.ptr);
}

}  // namespace

void FirstProblems::add(InputProblem problem) {
  if (list_.size() < limit_) {
    list_.push_back(std::move(problem));
    return;
  }
  if (groups_.empty()) {
    for (const InputProblem& first : list_) groups_.push_back(group_of(first));
  }
  const auto same = std::find(groups_.begin(), groups_.end(), group_of(problem));
  if (same != groups_.end()) ++list_[static_cast<std::size_t>(same - groups_.begin())].repeat_count;
}

void ProblemSink::add(std::string location, std::string message) {
  const auto is_known = [&](const InputProblem& problem) {
    return problem.location == location && problem.message == message;
  };
  if (std::any_of(problems().begin(), problems().end(), is_known)) return;
  ++count_;
  problems_.add({source_, std::move(location), std::move(message)});
}

void ProblemSink::add_finding(ValidationCheck check, std::string location, std::string message) {
  message.append(" [").append(id_of(check)).append("]");
  if (is_strict_) return add(std::move(location), std::move(message));
  ++finding_count_;
  findings_.add({source_, std::move(location), std::move(message)});
}

void ProblemSink::throw_if_any() const {
  if (!problems().empty()) throw InputError(problems());
}

void JsonValue::append_path(std::string& out) const {
  if (parent_ == nullptr) {
    out += key_;
    return;
  }
  parent_->append_path(out);
  if (index_ >= 0) {
    out += '[' + std::to_string(index_) + ']';
  } else if (!is_plain_key(key_)) {
    out += '[' + std::string(key_.substr(0, kPathKeyBytes)) + ']';
  } else {
    if (!out.empty()) out += '.';
    out += key_;
  }
}

std::string JsonValue::path() const {
  std::string out;
  append_path(out);
  return out;
}

std::string JsonValue::describe() const {
  using simdjson::dom::element_type;
  if (!present_) return "nothing";
  switch (element_.type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
      return std::to_string(std::int64_t(element_));
    case element_type::UINT64:
      return std::to_string(std::uint64_t(element_));
    case element_type::DOUBLE:
      return shortest(double(element_));
    case element_type::STRING:
      return quoted(std::string_view(element_));
    case element_type::BOOL:
      return bool(element_) ? "true" : "false";
    case element_type::NULL_VALUE:
      return "null";
  }
  return "nothing";
}

std::string JsonValue::too_long(std::size_t bytes) {
  return "string of " + std::to_string(bytes) + " bytes, expected at most " + std::to_string(kStringBytesMax);
}

void JsonValue::mismatch(std::string_view expectation) const {
  problem("got " + describe() + ", expected " + std::string(expectation));
}

bool JsonValue::read(std::string_view& out) const {
  if (!present_ || !expect(element_.is_string(), "a string")) return false;
  const std::string_view text(element_);
  if (text.size() > kStringBytesMax) {
    problem(too_long(text.size()));
    return false;
  }
  out = text;
  return true;
}

bool JsonValue::read(std::string& out) const {
  std::string_view text;
  if (!read(text)) return false;
  out.assign(text);
  return true;
}

bool JsonValue::read(bool& out) const {
  if (!present_ || !expect(element_.is_bool(), "true or false")) return false;
  out = bool(element_);
  return true;
}

bool JsonValue::is_beyond_64_bits() const {
  if (element_.is_uint64()) return !element_.is_int64();
  return element_.is_double() && std::abs(double(element_)) >= kTwoTo63;
}

bool JsonValue::read(std::int64_t& out) const {
  if (!present_ || !expect(element_.is_int64(), is_beyond_64_bits() ? "an integer of 64 bits" : "an integer"))
    return false;
  out = std::int64_t(element_);
  return true;
}

bool JsonValue::read(std::int32_t& out) const {
  std::int64_t wide = 0;
  if (present_ && is_beyond_64_bits()) {
    mismatch("an integer of 32 bits");
    return false;
  }
  if (!read(wide)) return false;
  const bool fits =
      wide >= std::numeric_limits<std::int32_t>::min() && wide <= std::numeric_limits<std::int32_t>::max();
  if (!expect(fits, "an integer of 32 bits")) return false;
  out = static_cast<std::int32_t>(wide);
  return true;
}

bool JsonValue::read(double& out) const {
  if (!present_ || !expect(element_.is_number(), "a number")) return false;
  out = double(element_);
  return true;
}

bool JsonValue::read(std::vector<std::string>& out) const {
  if (!present_ || !expect_array()) return false;
  out.clear();
  for_each_element([&](const JsonValue& element) { element.read(out.emplace_back()); });
  return true;
}

JsonValue JsonValue::field(std::string_view key) const& { return field(key, find_fields(std::array{key})[0]); }

JsonParser::JsonParser() : parser_(std::make_unique<simdjson::dom::parser>(kMaxBytes)) {
  // Capacity grows on demand; only the depth differs from the parser's own default.
  constexpr std::size_t kFirstCapacity = std::size_t{64} << 10;
  if (parser_->allocate(kFirstCapacity, kMaxDepth) != simdjson::SUCCESS) throw std::bad_alloc();
}

JsonParser::~JsonParser() = default;

std::optional<simdjson::dom::element> JsonParser::parse(std::string_view json, const char* readable_end) {
  if (json.size() > kMaxBytes) {
    error_ = "object of " + std::to_string(json.size()) + " bytes, expected at most " + std::to_string(kMaxBytes);
    return std::nullopt;
  }
  const char* end = json.data() + json.size();
  if (readable_end == nullptr || static_cast<std::size_t>(readable_end - end) < simdjson::SIMDJSON_PADDING) {
    padded_.assign(json);
    padded_.append(simdjson::SIMDJSON_PADDING, '\0');
    json = std::string_view(padded_.data(), json.size());
  }
  simdjson::dom::element root;
  auto code = parser_->parse(json.data(), json.size(), false).get(root);
  if (code == simdjson::NUMBER_ERROR) {
    if (const auto widened = with_large_integers_as_floats(json)) {
      code = parser_->parse(*widened).get(root);  // copies it
    }
  }
  if (code == simdjson::SUCCESS) return root;
  if (code == simdjson::MEMALLOC) throw std::bad_alloc();  // the text is not to blame
  error_ = std::string("malformed JSON: ") + simdjson::error_message(code);
  return std::nullopt;
}

}  // namespace berth
