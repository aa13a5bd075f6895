// SPDX-License-Identifier: Apache-2.0
#include "host/report/figures.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "host/objects/resources.h"

namespace berth {
namespace {

bool is_byte_resource(std::string_view resource) {
  return resource == kMemory || resource == kEphemeralStorage || resource.substr(0, 10) == "hugepages-";
}

/// "12" or "12.4": one decimal only where it says something.
std::string short_real(double value) {
  const double rounded = std::round(value * 10) / 10;
  if (rounded == std::floor(rounded)) return grouped(static_cast<std::int64_t>(rounded));
  return fmt::format("{}.{}", grouped(static_cast<std::int64_t>(rounded)), std::abs(std::llround(rounded * 10) % 10));
}

std::string cpu_text(std::int64_t millicores) {
  if (millicores % 1000 != 0 && std::abs(millicores) < 100'000) return grouped(millicores) + "m";
  const double cores = static_cast<double>(millicores) / 1000;
  return short_real(cores) + (millicores == 1000 ? " core" : " cores");
}

}  // namespace

std::string grouped(std::int64_t value) {
  std::string digits = fmt::format_int(value).str();
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return grouped(count).append(" ").append(count == 1 ? one : many);
}

std::string percent(double share) { return std::isfinite(share) ? fmt::format("{:.1f} %", share * 100) : "-"; }

std::string duration(double seconds) {
  if (seconds < 0.001) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 0.1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string rate(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.2f} million", per_second / 1e6);
  if (per_second >= 100) return grouped(std::llround(per_second));
  return fmt::format("{:.1f}", per_second);
}

std::string byte_size(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return short_real(value).append(" ").append(kUnits[unit]);
}

std::string amount_text(std::string_view resource, std::int64_t amount) {
  if (resource == kCpu) return cpu_text(amount);
  if (!is_byte_resource(resource)) return grouped(amount);
  const std::string size = byte_size(static_cast<std::uint64_t>(amount < 0 ? -(amount + 1) : amount));
  return amount < 0 ? "-" + size : size;
}

}  // namespace berth
