// SPDX-License-Identifier: Apache-2.0
#pragma once

// The series that Berth keeps, in one table, which docs/metrics.md repeats. Names, labels, buckets and help texts of
// scheduler_* are those of kube-scheduler v1.35: pkg/scheduler/metrics/metrics.go.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

enum class SeriesType : std::uint8_t { kCounter, kGauge, kHistogram };
/// "counter", "gauge", "histogram"
std::string_view to_string(SeriesType type);

/// Upper bounds first * factor^i, i = 0 .. count - 1; one without bound follows.
struct ExponentialBuckets {
  double first = 0;
  double factor = 0;
  std::size_t count = 0;
};
std::vector<double> bounds_of(const ExponentialBuckets& buckets);

struct Series {
  std::string_view name;
  SeriesType type = SeriesType::kCounter;
  std::vector<std::string_view> labels;
  ExponentialBuckets buckets = {};  ///< of a histogram
  std::string_view help;            ///< of kube-scheduler's series with their stability: "[STABLE] ..."
};

/// In the order in which they are written.
std::span<const Series> all_series();
/// @throws std::out_of_range naming the series when there is none of the name
const Series& series_named(std::string_view name);

}  // namespace berth
