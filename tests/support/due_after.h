// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "host/objects/interruption.h"

namespace berth::test {

/// Due when it was asked so many times.
class DueAfter final : public Interruption {
 public:
  explicit DueAfter(int times) : left_(times) {}
  bool is_due() const noexcept override { return left_-- <= 0; }

 private:
  mutable std::atomic<int> left_;
};

}  // namespace berth::test
