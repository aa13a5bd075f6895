// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pods that get scheduled a second, sampled as throughputCollector of upstream's util.go does.

#include <cstdint>
#include <optional>
#include <vector>

namespace berth {

/// Pods a second. Percentiles are those of upstream: the sample at the rounded-up rank, without interpolation.
struct ThroughputSummary {
  double average = 0;
  double perc50 = 0;
  double perc90 = 0;
  double perc95 = 0;
  double perc99 = 0;
};

/// @param samples  may be empty: then there is no summary
std::optional<ThroughputSummary> summarize(std::vector<double> samples);

/// Takes a sample each second. The first second in which a pod was scheduled only begins the count; a second without a
/// pod counts together with those behind it, and their common rate is recorded once for each.
class ThroughputSampler {
 public:
  static constexpr std::int64_t kIntervalUs = 1'000'000;

  /// @param start_us  of the collection, microseconds
  explicit ThroughputSampler(std::int64_t start_us) : next_us_(start_us + kIntervalUs) {}

  /// Call it often. @param scheduled  pods since the start
  void update(std::int64_t now_us, std::int64_t scheduled);
  std::int64_t next_sample_us() const { return next_us_; }
  const std::vector<double>& samples() const { return samples_; }

 private:
  void sample(std::int64_t now_us, std::int64_t scheduled);

  std::int64_t next_us_;
  bool has_started_ = false;
  std::int64_t last_us_ = 0;
  std::int64_t last_scheduled_ = 0;
  std::int64_t skipped_ = 0;
  std::vector<double> samples_;
};

}  // namespace berth
