// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

inline constexpr std::int64_t kNanoPerUnit = 1'000'000'000;
inline constexpr std::int64_t kNanoPerMilli = 1'000'000;

/// An exact decimal amount as Kubernetes writes it ("100m", "1.5Gi"), kept in units of 10^-9.
/// Source of the grammar and of the rounding: docs/behaviour/plugins-node.md 1.1.
struct Quantity {
  __int128 nano = 0;

  /// Accepts and reads exactly what resource.ParseQuantity of apimachinery does, with one deviation: a decimal value
  /// beyond +-10^28 is capped there. Finer than 10^-9 is rounded away from zero; a value with a binary suffix is capped
  /// at 2^63-1.
  /// @return nullopt when `text` is not a quantity
  static std::optional<Quantity> parse(std::string_view text);

  /// Rounded away from zero to an integer, saturated at the int64 range.
  std::int64_t value() const;
  /// 1000 times the amount, rounded away from zero, saturated at the int64 range.
  std::int64_t milli_value() const;
  /// What the API server stores: the amount rounded up to a multiple of 10^-3.
  Quantity rounded_up_to_milli() const;
  /// Canonical text that parse() reads back to the same amount.
  std::string to_string() const;

  friend bool operator==(const Quantity&, const Quantity&) = default;
  friend auto operator<=>(const Quantity&, const Quantity&) = default;
  Quantity& operator+=(const Quantity& other) {
    nano += other.nano;
    return *this;
  }
};

}  // namespace berth
