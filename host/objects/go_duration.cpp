// SPDX-License-Identifier: Apache-2.0
#include "host/objects/go_duration.h"

#include <array>
#include <utility>

namespace berth {
namespace {

constexpr std::uint64_t kMicrosPerMilli = 1'000;
constexpr std::uint64_t kMicrosPerSecond = 1'000'000;
constexpr std::uint64_t kMicrosPerMinute = 60 * kMicrosPerSecond;
constexpr std::uint64_t kMicrosPerHour = 60 * kMicrosPerMinute;

/// amount / unit as a decimal number without trailing zeros; `unit` is a power of ten.
std::string decimal(std::uint64_t amount, std::uint64_t unit) {
  std::string text = std::to_string(amount / unit);
  std::string fraction = std::to_string(unit + amount % unit).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (unit > 1 && !fraction.empty()) text += "." + fraction;
  return text;
}

std::string magnitude_text(std::uint64_t micros) {
  if (micros == 0) return "0s";
  if (micros < kMicrosPerMilli) return decimal(micros, 1) + "\u00b5s";
  if (micros < kMicrosPerSecond) return decimal(micros, kMicrosPerMilli) + "ms";
  std::string text;
  if (micros >= kMicrosPerHour) text += std::to_string(micros / kMicrosPerHour) + "h";
  if (micros >= kMicrosPerMinute) text += std::to_string(micros % kMicrosPerHour / kMicrosPerMinute) + "m";
  return text + decimal(micros % kMicrosPerMinute, kMicrosPerSecond) + "s";
}

constexpr std::uint64_t kMagnitudeMax = 1ull << 63;  // of the most negative duration

constexpr auto kUnits = std::to_array<std::pair<std::string_view, std::uint64_t>>({
    {"ns", 1},
    {"us", 1'000},
    {"\xC2\xB5s", 1'000},  // U+00B5 micro sign
    {"\xCE\xBCs", 1'000},  // U+03BC Greek mu
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"m", 60'000'000'000},
    {"h", 3'600'000'000'000},
});

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes the leading digits off `text`; nullopt beyond kMagnitudeMax.
std::optional<std::uint64_t> take_integer(std::string_view& text) {
  std::uint64_t value = 0;
  while (!text.empty() && is_digit(text.front())) {
    if (value > kMagnitudeMax / 10) return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(text.front() - '0');
    if (value > kMagnitudeMax) return std::nullopt;
    text.remove_prefix(1);
  }
  return value;
}

struct Fraction {
  std::uint64_t digits = 0;
  double scale = 1;
};

/// Takes the digits after a point off `text`; digits that would overflow are read and ignored, as in Go.
Fraction take_fraction(std::string_view& text) {
  Fraction fraction;
  bool full = false;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    full = full || fraction.digits > (kMagnitudeMax - 1) / 10;
    if (full) continue;
    fraction.digits = fraction.digits * 10 + static_cast<std::uint64_t>(text.front() - '0');
    fraction.scale *= 10;
  }
  return fraction;
}

std::optional<std::uint64_t> take_unit(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && text[length] != '.' && !is_digit(text[length])) ++length;
  const std::string_view name = text.substr(0, length);
  text.remove_prefix(length);
  for (const auto& [unit, ns] : kUnits) {
    if (unit == name) return ns;
  }
  return std::nullopt;
}

/// One "number unit" group in nanoseconds.
std::optional<std::uint64_t> take_group(std::string_view& text) {
  const std::size_t size_before = text.size();
  const auto whole = take_integer(text);
  if (!whole) return std::nullopt;
  bool has_digits = text.size() != size_before;
  Fraction fraction;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    const std::size_t size_after_point = text.size();
    fraction = take_fraction(text);
    has_digits = has_digits || text.size() != size_after_point;
  }
  if (!has_digits) return std::nullopt;
  const auto unit = take_unit(text);
  if (!unit || *whole > kMagnitudeMax / *unit) return std::nullopt;
  std::uint64_t ns = *whole * *unit;
  // Both below 2^63, so the sum cannot wrap.
  ns +=
      static_cast<std::uint64_t>(static_cast<double>(fraction.digits) * (static_cast<double>(*unit) / fraction.scale));
  return ns > kMagnitudeMax ? std::nullopt : std::optional(ns);
}

}  // namespace

std::optional<std::int64_t> parse_go_duration_ns(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  std::uint64_t total = 0;
  while (!text.empty()) {
    const auto group = take_group(text);
    if (!group || *group > kMagnitudeMax - total) return std::nullopt;
    total += *group;
  }
  if (negative) return static_cast<std::int64_t>(0 - total);
  if (total == kMagnitudeMax) return std::nullopt;
  return static_cast<std::int64_t>(total);
}

std::int64_t duration_us(std::int64_t ns) { return ns / 1000 + (ns % 1000 > 0 ? 1 : 0) - (ns % 1000 < 0 ? 1 : 0); }

std::string go_duration_text(std::int64_t duration_us) {
  const auto bits = static_cast<std::uint64_t>(duration_us);
  return duration_us < 0 ? "-" + magnitude_text(0 - bits) : magnitude_text(bits);
}

}  // namespace berth
