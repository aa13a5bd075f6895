// SPDX-License-Identifier: Apache-2.0
#include "host/framework/go_duration.h"

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

}  // namespace

std::string go_duration_text(std::int64_t duration_us) {
  const auto bits = static_cast<std::uint64_t>(duration_us);
  return duration_us < 0 ? "-" + magnitude_text(0 - bits) : magnitude_text(bits);
}

}  // namespace berth
