// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that asks for the time asks a clock, so that a run can be real or simulated.

#include <atomic>
#include <cstdint>

namespace berth {

/// Microseconds since the epoch (UTC), never going back. May be read by several threads.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_us() const = 0;
};

/// The time of day when it was made, continued by a clock that nobody sets.
class RealClock : public Clock {
 public:
  RealClock();
  std::int64_t now_us() const override;
  static const RealClock& shared();  ///< one for the whole process

 private:
  std::int64_t offset_us_;  ///< from the steady clock to the time of day
};

/// Stands still until it is set.
class VirtualClock : public Clock {
 public:
  explicit VirtualClock(std::int64_t now_us = 0) : now_us_(now_us) {}
  std::int64_t now_us() const override { return now_us_.load(std::memory_order_relaxed); }
  /// A time before the present one has no effect.
  void advance_to(std::int64_t time_us);
  void advance_by(std::int64_t duration_us) { advance_to(now_us() + duration_us); }

 private:
  std::atomic<std::int64_t> now_us_;
};

}  // namespace berth
