// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace berth {

/// Calls back later, on a thread of its owner. Any thread may call.
class Timers {
 public:
  virtual ~Timers() = default;
  /// @param work  must not block and must not throw; not called when the owner is destroyed before
  virtual void after(std::int64_t delay_us, std::function<void()> work) = 0;
};

}  // namespace berth
