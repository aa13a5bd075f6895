// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/yaml_scalars.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace berth {
namespace {

using Kind = YamlScalar::Kind;

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <std::size_t N>
bool one_of(std::string_view value, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), value) != words.end();
}

constexpr std::array<std::string_view, 5> kNulls = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 11> kTrues = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                     "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalses = {"n",     "N",     "no",  "No",  "NO", "false",
                                                      "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 6> kInfinities = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"};
constexpr std::array<std::string_view, 3> kNegativeInfinities = {"-.inf", "-.Inf", "-.INF"};
constexpr std::array<std::string_view, 3> kNans = {".nan", ".NaN", ".NAN"};

template <class Float>
std::string shortest(Float number, std::chars_format format) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, format);
  return {buffer.data(), result.ptr};
}

int exponent_of(const std::string& scientific) { return std::atoi(scientific.c_str() + scientific.find('e') + 1); }

/// Shortest digits, then zeros: to_chars would write all digits of a large number.
std::string large_literal(double number) {
  std::string text = shortest(number, std::chars_format::scientific);
  const auto exponent = static_cast<std::size_t>(exponent_of(text));
  text.resize(text.find('e'));
  std::erase(text, '.');
  const std::size_t sign = number < 0 ? 1 : 0;
  text.resize(std::max(text.size(), sign + 1 + exponent), '0');
  return text;
}

/// As Go's encoding/json: plain digits between 1e-6 and 1e21, an exponent without leading zero elsewhere. Except that
/// plain digits end where 64-bit integers do: what is larger must read as a float, which digits alone would not.
std::string float_literal(double number) {
  constexpr double kAllDigitsCount = 9007199254740992.0;  // 2^53
  constexpr double kIntegersBegin = -0x1p63;              // not included: its shortest digits lie below it
  constexpr double kIntegersEnd = 0x1p64;
  const double magnitude = std::fabs(number);
  if (magnitude == 0 || (magnitude >= 1e-6 && magnitude < kAllDigitsCount)) {
    return shortest(number, std::chars_format::fixed);
  }
  if (magnitude >= kAllDigitsCount && number > kIntegersBegin && number < kIntegersEnd) return large_literal(number);
  std::string text = shortest(number, std::chars_format::scientific);
  const std::size_t tail = text.size() < 4 ? 0 : text.size() - 4;
  if (text.compare(tail, 3, "e-0") == 0) text.erase(tail + 2, 1);
  return text;
}

YamlScalar make_float(double number) {
  YamlScalar scalar{Kind::kFloat, {}, number};
  if (std::isfinite(number)) scalar.literal = float_literal(number);
  return scalar;
}

/// Shape of a float: digits with at most one point among or before them, and an exponent.
bool looks_like_float(std::string_view text) {
  std::size_t i = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  std::size_t digits = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) ++digits;
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && is_digit(text[i]); ++i) ++digits;
  }
  if (digits == 0) return false;
  if (i == text.size()) return true;
  if (text[i] != 'e' && text[i] != 'E') return false;
  ++i;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  return i < text.size() && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(), is_digit);
}

/// Null when the number is too large for a double.
std::optional<double> parse_float(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc()) return number;
  // Out of range may also be too small, which reads as the nearest: zero or a subnormal.
  number = std::strtod(std::string(text).c_str(), nullptr);
  if (std::isinf(number)) return std::nullopt;
  return number;
}

/// Takes "0x", "0o", "0b" or a leading 0 off `digits`.
int take_base(std::string_view& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  switch (digits[1] | 0x20) {
    case 'x':
      digits.remove_prefix(2);
      return 16;
    case 'o':
      digits.remove_prefix(2);
      return 8;
    case 'b':
      digits.remove_prefix(2);
      return 2;
    default:
      digits.remove_prefix(1);
      return 8;
  }
}

/// The decimal digits of an integer that fits int64, or without a sign uint64.
std::optional<std::string> parse_integer(std::string_view text) {
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  const bool negative = text.starts_with('-');
  if (has_sign) text.remove_prefix(1);
  const int base = take_base(text);
  std::uint64_t magnitude = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (has_sign && magnitude > kMax + (negative ? 1 : 0)) return std::nullopt;
  return (negative && magnitude != 0 ? "-" : "") + std::to_string(magnitude);
}

std::optional<YamlScalar> resolve_word(std::string_view value) {
  if (value.size() > 5) return std::nullopt;
  if (one_of(value, kNulls)) return YamlScalar{Kind::kNull, {}, 0};
  if (one_of(value, kTrues)) return YamlScalar{Kind::kBool, "true", 0};
  if (one_of(value, kFalses)) return YamlScalar{Kind::kBool, "false", 0};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (one_of(value, kInfinities)) return make_float(kInfinity);
  if (one_of(value, kNegativeInfinities)) return make_float(-kInfinity);
  if (one_of(value, kNans)) return make_float(std::numeric_limits<double>::quiet_NaN());
  return std::nullopt;
}

std::optional<YamlScalar> resolve_number(std::string_view value) {
  if (value.starts_with('.')) {  // underscores count only where an integer could begin
    if (!looks_like_float(value)) return std::nullopt;
    const auto number = parse_float(value);
    return number ? std::optional(make_float(*number)) : std::nullopt;
  }
  std::string text(value);
  std::erase(text, '_');
  if (auto digits = parse_integer(text)) return YamlScalar{Kind::kInteger, std::move(*digits), 0};
  if (!looks_like_float(text)) return std::nullopt;
  const auto number = parse_float(text);
  return number ? std::optional(make_float(*number)) : std::nullopt;
}

YamlScalar resolve_plain(std::string_view value) {
  if (auto word = resolve_word(value)) return *word;
  const char first = value.front();  // the empty text is a word
  if (is_digit(first) || first == '+' || first == '-' || first == '.') {
    if (auto number = resolve_number(value)) return *number;
  }
  return {};
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "bool";
    case Kind::kInteger:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
  }
  return "";
}

YamlScalar resolve_tagged(std::string_view type, std::string_view value) {
  if (type == "str" || type == "timestamp") return {};
  if (type == "binary") {
    throw std::invalid_argument("the tag !!binary is not supported; write the base64 text as a string");
  }
  if (type != "int" && type != "float" && type != "bool" && type != "null") return {};
  YamlScalar scalar = resolve_plain(value);
  if (type == kind_name(scalar.kind)) return scalar;
  if (type == "float" && scalar.kind == Kind::kInteger) {
    if (const auto number = parse_float(scalar.literal)) return make_float(*number);
  }
  throw std::invalid_argument("got \"" + std::string(value) + "\", expected a value of its tag !!" + std::string(type));
}

/// Shortest form of the number as a float32, as go-yaml writes float keys.
std::string float_key(double number) {
  if (std::isnan(number)) return ".nan";
  const auto narrow = static_cast<float>(number);
  if (std::isinf(narrow)) return narrow > 0 ? ".inf" : "-.inf";
  std::string text = shortest(narrow, std::chars_format::scientific);
  const int exponent = exponent_of(text);
  constexpr int kSmallestPlain = -4;
  constexpr int kLargestPlain = 5;
  if (exponent < kSmallestPlain || exponent > kLargestPlain) return text;
  return shortest(narrow, std::chars_format::fixed);
}

}  // namespace

YamlScalar resolve_yaml_scalar(std::string_view tag, std::string_view value, bool plain) {
  if (tag.starts_with(kTagPrefix)) return resolve_tagged(tag.substr(kTagPrefix.size()), value);
  return plain && tag.empty() ? resolve_plain(value) : YamlScalar{};
}

bool is_yaml_merge_key(std::string_view tag, std::string_view value, bool plain) {
  constexpr std::string_view kMergeTag = "tag:yaml.org,2002:merge";
  return value == "<<" && (tag == kMergeTag || (plain && tag.empty()));
}

std::string yaml_key_text(const YamlScalar& scalar, std::string_view value) {
  switch (scalar.kind) {
    case Kind::kNull:
      throw std::invalid_argument("got null as a field name, expected a string");
    case Kind::kFloat:
      return float_key(scalar.number);
    case Kind::kString:
      return std::string(value);
    default:
      return scalar.literal;
  }
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out.append(text, copied, i - copied);
    copied = i + 1;
    out += '\\';
    if (byte == '"' || byte == '\\') {
      out += text[i];
    } else if (byte == '\n') {
      out += 'n';
    } else {
      out += "u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 0xf];
    }
  }
  out.append(text, copied, text.size() - copied);
  out += '"';
}

void append_json_scalar(std::string& out, const YamlScalar& scalar, std::string_view value) {
  if (scalar.kind == Kind::kString) {
    append_json_string(out, value);
  } else if (scalar.kind == Kind::kNull) {
    out += "null";
  } else if (scalar.literal.empty()) {
    throw std::invalid_argument("got " + std::string(value) + ", expected a number that JSON can hold");
  } else {
    out += scalar.literal;
  }
}

}  // namespace berth
