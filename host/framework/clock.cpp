// SPDX-License-Identifier: Apache-2.0
#include "host/framework/clock.h"

#include <chrono>

namespace berth {
namespace {

template <class Source>
std::int64_t microseconds_of() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Source::now().time_since_epoch()).count();
}

}  // namespace

RealClock::RealClock()
    : offset_us_(microseconds_of<std::chrono::system_clock>() - microseconds_of<std::chrono::steady_clock>()) {}

std::int64_t RealClock::now_us() const { return microseconds_of<std::chrono::steady_clock>() + offset_us_; }

const RealClock& RealClock::shared() {
  static const RealClock clock;
  return clock;
}

void VirtualClock::advance_to(std::int64_t time_us) {
  if (time_us > now_us()) now_us_.store(time_us, std::memory_order_relaxed);
}

}  // namespace berth
