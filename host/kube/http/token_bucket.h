// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "host/framework/clock.h"

namespace berth {

/// Limits the requests of one client, as client-go's flowcontrol does: `burst` tokens at first and at most, `qps` new
/// ones a second, one a request. One thread at a time.
class TokenBucket {
 public:
  /// @param qps  negative: no limit @param clock  must outlive the bucket
  /// @throws std::invalid_argument where qps is 0 or no number, or burst is below 1 with a limit
  TokenBucket(double qps, std::int32_t burst, const Clock& clock)
      : qps_(qps), burst_(burst), clock_(&clock), tokens_(burst), filled_us_(clock.now_us()) {
    if (qps == 0 || std::isnan(qps)) throw std::invalid_argument("qps is 0, expected a limit, or a negative number");
    if (qps > 0 && burst < 1) throw std::invalid_argument("burst is below 1, expected at least 1 where qps is a limit");
  }

  /// Takes a token where there is one now.
  bool try_take() {
    if (qps_ < 0) return true;
    fill();
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

  /// Takes the next token, also one that is still to come. @return when the request may start, by the clock: now, or
  /// later. Requests get their turn in the order of the calls.
  std::int64_t reserve_us() {
    const std::int64_t now_us = clock_->now_us();
    if (qps_ < 0) return now_us;
    fill();
    tokens_ -= 1;
    if (tokens_ >= 0) return now_us;
    const double wait_us = std::ceil(-tokens_ / qps_ * 1e6);
    return now_us + (wait_us < 9e15 ? static_cast<std::int64_t>(wait_us) : std::int64_t{9'000'000'000'000'000});
  }

 private:
  void fill() {
    const std::int64_t now_us = clock_->now_us();
    tokens_ = std::min(static_cast<double>(burst_), tokens_ + static_cast<double>(now_us - filled_us_) * qps_ / 1e6);
    filled_us_ = now_us;
  }

  double qps_;
  std::int32_t burst_;
  const Clock* clock_;
  double tokens_;  ///< below 0: reserved ahead
  std::int64_t filled_us_;
};

}  // namespace berth
