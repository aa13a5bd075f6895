// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace berth {

/// BatchLimits::deadline_us, from the moment at which this object is created.
class Deadline {
 public:
  /// @param limit_us  0: none
  explicit Deadline(std::int64_t limit_us) : limit_us_(limit_us) {}
  bool passed() const {
    return limit_us_ > 0 && std::chrono::steady_clock::now() - begin_ >= std::chrono::microseconds(limit_us_);
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::int64_t limit_us_;
};

}  // namespace berth
