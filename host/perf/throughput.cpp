// SPDX-License-Identifier: Apache-2.0
#include "host/perf/throughput.h"

#include <algorithm>
#include <numeric>

namespace berth {

std::optional<ThroughputSummary> summarize(std::vector<double> samples) {
  if (samples.empty()) return std::nullopt;
  std::sort(samples.begin(), samples.end());
  const auto percentile = [&](std::size_t percent) { return samples[(samples.size() * percent + 99) / 100 - 1]; };
  ThroughputSummary summary;
  summary.average = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  summary.perc50 = percentile(50);
  summary.perc90 = percentile(90);
  summary.perc95 = percentile(95);
  summary.perc99 = percentile(99);
  return summary;
}

void ThroughputSampler::update(std::int64_t now_us, std::int64_t scheduled) {
  if (now_us < next_us_) return;
  sample(now_us, scheduled);
  // Seconds that were missed are gone, as ticks of a Go ticker are that nobody takes.
  next_us_ += ((now_us - next_us_) / kIntervalUs + 1) * kIntervalUs;
}

void ThroughputSampler::sample(std::int64_t now_us, std::int64_t scheduled) {
  if (scheduled == 0) return;
  const bool is_first = !has_started_;
  has_started_ = true;
  if (!is_first && scheduled == last_scheduled_) {
    ++skipped_;
    return;
  }
  if (!is_first) {
    const double seconds = static_cast<double>(now_us - last_us_) / 1e6;
    const double rate = static_cast<double>(scheduled - last_scheduled_) / seconds;
    samples_.insert(samples_.end(), static_cast<std::size_t>(skipped_) + 1, rate);
  }
  skipped_ = 0;
  last_us_ = now_us;
  last_scheduled_ = scheduled;
}

}  // namespace berth
