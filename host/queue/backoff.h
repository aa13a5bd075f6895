// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace berth {

/// How long a failed pod waits: docs/behaviour/scheduler-core.md 1.4. Times in microseconds since the epoch.
struct Backoff {
  std::int64_t initial_us = 1'000'000;
  std::int64_t max_us = 10'000'000;  ///< 0: no pod waits
  bool by_seconds = true;            ///< gate SchedulerPopFromBackoffQ: times are rounded down to whole seconds

  static constexpr std::int64_t kSecondUs = 1'000'000;
  static constexpr std::int64_t kNever = INT64_MIN;  ///< an expiry that has always passed

  /// @param count  failures so far, above 0
  constexpr std::int64_t duration_us(std::uint32_t count) const {
    const std::uint32_t shift = count - 1;
    const std::int64_t limit_us = shift >= 63 ? 0 : max_us >> shift;
    return initial_us > limit_us ? max_us : initial_us << shift;
  }
  constexpr std::int64_t expiry_us(std::int64_t timestamp_us, std::uint32_t count) const {
    return max_us == 0 || count == 0 ? kNever : window_us(timestamp_us + duration_us(count));
  }
  constexpr bool is_backing_off(std::int64_t expiry_us, std::int64_t now_us) const {
    return expiry_us >= window_us(now_us);
  }
  /// The whole second at or below a time, where times are rounded.
  constexpr std::int64_t window_us(std::int64_t time_us) const {
    if (!by_seconds) return time_us;
    const std::int64_t past_us = time_us % kSecondUs;
    return time_us - (past_us < 0 ? past_us + kSecondUs : past_us);
  }
};

}  // namespace berth
