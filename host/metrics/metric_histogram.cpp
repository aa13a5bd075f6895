// SPDX-License-Identifier: Apache-2.0
#include "host/metrics/metric_histogram.h"

#include <algorithm>
#include <numeric>

namespace berth {

void MetricHistogram::observe(double value) {
  ++counts_[static_cast<std::size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin())];
  sum_ += value;
}

std::uint64_t MetricHistogram::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

}  // namespace berth
