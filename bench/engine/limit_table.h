// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "bench/engine/loaded_engine.h"

namespace berth {

double seconds_of(const std::function<void()>& call);

/// Prints what calls cost, beside their limits, and counts those that are over it.
class LimitTable {
 public:
  static constexpr double kNoLimit = 0;

  /// @param only  rows whose names do not contain it are left out
  LimitTable(LoadedEngine& workload, std::string only);

  bool wants(std::string_view name) const { return name.find(only_) != std::string_view::npos; }

  /// The median and the 99th percentile of 1,000 calls, and the median placement of one pod after a call. The 99th
  /// percentile may be five times the limit.
  /// @param draw  makes the arguments of one call, which are not timed
  void row(std::string_view what, double limit_us, const std::function<std::function<void()>()>& draw);
  enum class Limit { kNone, kAtMost, kAtLeast };
  /// A figure that is no call.
  void figure(std::string_view what, double value, const char* unit, Limit kind = Limit::kNone, double limit = 0);
  /// Prints the last line.
  void finish() const;

 private:
  void count(bool is_over);

  LoadedEngine& workload_;
  std::string only_;
  int rows_ = 0;
  int over_ = 0;
};

}  // namespace berth
