// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// Reads a duration like Go's time.ParseDuration ("15s", "1m30s", "-1.5h", "0"), which reads metav1.Duration fields:
/// units ns, us, ms, s, m, h; fractions are cut to whole nanoseconds.
/// @return nanoseconds, or nullopt when the text is not a duration or exceeds 292 years
std::optional<std::int64_t> parse_go_duration_ns(std::string_view text);

/// Nanoseconds in microseconds, rounded away from zero: a positive time never becomes 0, which often means "none".
std::int64_t duration_us(std::int64_t ns);

/// The text of a Go time.Duration: "0s", "250µs", "1.5s", "15m0s", "1h0m0.25s".
std::string go_duration_text(std::int64_t duration_us);

}  // namespace berth
