// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program that links failing_allocations.cpp has an operator new that can be told to fail, on every thread.

#include <cstdint>

namespace berth::test {

enum class Failure : std::uint8_t {
  kOnce,       ///< one allocation fails
  kAllBehind,  ///< that one and all after it, so that nobody may allocate to clean up
};

/// While it exists, the n-th allocation of the program from now on throws std::bad_alloc. Those of oneTBB itself do not
/// count and do not fail: its schedulers end the process where they get no memory, whatever the caller does.
class FailingAllocation {
 public:
  FailingAllocation(std::int64_t n, Failure failure);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  /// An allocation failed.
  bool has_failed() const;
};

}  // namespace berth::test
