// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "host/report/terminal.h"

namespace berth {

/// "placing ####---- 1,200 of 3,000", or "reading 1,200" when the total is not known (0).
std::string progress_text(std::string_view what, std::size_t done, std::size_t total, const Terminal& terminal);

/// Shows on standard error how far long work has come. Silent when that is no terminal, and for the first second: quick
/// work needs no bar. Redraws ten times a second at most and removes itself.
class ProgressBar {
 public:
  static constexpr std::chrono::milliseconds kQuietTime{1000};

  /// @param quiet_time  how long nothing is shown
  explicit ProgressBar(std::string what, std::chrono::milliseconds quiet_time = kQuietTime);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// @param total  0: not known
  void update(std::size_t done, std::size_t total);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  std::chrono::milliseconds quiet_time_;
  Terminal terminal_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point drawn_{};
  bool visible_ = false;
};

}  // namespace berth
