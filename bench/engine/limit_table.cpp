// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/limit_table.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

namespace berth {
namespace {

constexpr int kCallsPerRow = 1000;
constexpr int kCallsPerPlacement = 20;
constexpr double kTailFactor = 5;

}  // namespace

double seconds_of(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

LimitTable::LimitTable(LoadedEngine& workload, std::string only) : workload_(workload), only_(std::move(only)) {
  std::printf("%-66s %10s %10s %10s %12s\n", "call", "median us", "p99 us", "limit us", "next pod us");
}

void LimitTable::row(std::string_view what, double limit_us, const std::function<std::function<void()>()>& draw) {
  if (!wants(what)) return;
  std::vector<double> calls, placements;
  for (int i = 0; i < kCallsPerRow; ++i) {
    const std::function<void()> call = draw();
    calls.push_back(seconds_of(call) * 1e6);
    if (i % kCallsPerPlacement == 0) placements.push_back(seconds_of([&] { workload_.place_one(); }) * 1e6);
  }
  std::sort(calls.begin(), calls.end());
  std::sort(placements.begin(), placements.end());
  const double median = calls[calls.size() / 2];
  const double p99 = calls[calls.size() * 99 / 100];
  const bool is_over = limit_us != kNoLimit && (median > limit_us || p99 > kTailFactor * limit_us);
  count(is_over);
  std::printf("%-66s %10.2f %10.2f %10.0f %12.1f%s\n", std::string(what).c_str(), median, p99, limit_us,
              placements[placements.size() / 2], is_over ? "  over" : "");
  std::fflush(stdout);
}

void LimitTable::figure(std::string_view what, double value, const char* unit, Limit kind, double limit) {
  const bool is_over = (kind == Limit::kAtMost && value > limit) || (kind == Limit::kAtLeast && value < limit);
  count(is_over);
  std::printf("%-66s %10.1f %s", std::string(what).c_str(), value, unit);
  if (kind != Limit::kNone) std::printf(", at %s %.0f", kind == Limit::kAtMost ? "most" : "least", limit);
  std::printf("%s\n", is_over ? "  over" : "");
  std::fflush(stdout);
}

void LimitTable::finish() const { std::printf("bench-engine: %d rows, %d over their limit\n", rows_, over_); }

void LimitTable::count(bool is_over) {
  ++rows_;
  over_ += is_over ? 1 : 0;
}

}  // namespace berth
