// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// Reads a duration as Go's time.ParseDuration does ("15s", "1m30s", "-1.5h", "0"), because metav1.Duration fields are
/// read so: units ns, us, ms, s, m, h; fractions are cut to whole nanoseconds.
/// @return nanoseconds, or nullopt when the text is no duration or beyond 292 years
std::optional<std::int64_t> parse_go_duration_ns(std::string_view text);

/// Nanoseconds in microseconds, rounded away from zero: a positive time never becomes 0, which often means "none".
std::int64_t duration_us(std::int64_t ns);

/// As Go prints a time.Duration: "0s", "250µs", "1.5s", "15m0s", "1h0m0.25s".
std::string go_duration_text(std::int64_t duration_us);

}  // namespace berth
