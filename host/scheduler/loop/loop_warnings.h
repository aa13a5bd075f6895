// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "host/scheduler/loop/loop_observer.h"

namespace berth {

/// Warns the user of a SchedulingLoop of mismatches and pauses, one sentence each.
class LoopWarnings final : public LoopObserver {
 public:
  using Warn = std::function<void(const std::string& sentence)>;
  /// @param warn  may be empty
  explicit LoopWarnings(Warn warn) : warn_(std::move(warn)) {}

  void on_mismatch(std::string_view text) override;
  void on_pause(std::size_t unbound_pods) override;

 private:
  Warn warn_;
};

}  // namespace berth
