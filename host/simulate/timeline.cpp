// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/timeline.h"

#include <algorithm>

namespace berth {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr auto kSteps =
    std::to_array<std::int64_t>({1,    2,    5,    10,    15,    30,    60,    120,    300,    600,   900,
                                 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000});

/// End of the step that `time_us` lies in.
std::int64_t end_of_step(std::int64_t time_us, std::int64_t interval_us) {
  if (interval_us == 0 || time_us % interval_us == 0) return time_us;
  return time_us - time_us % interval_us + interval_us;
}

void add_events(const ClusterEvents& from, ClusterEvents& to) {
  to.arrived += from.arrived;
  to.placed += from.placed;
  to.preempted += from.preempted;
  to.failed += from.failed;
}

/// Appends the sample, or joins it with the last one when that is at the same time.
void append(TimelineSample sample, std::vector<TimelineSample>& samples) {
  if (samples.empty() || samples.back().time_us != sample.time_us) return samples.push_back(sample);
  add_events(samples.back().events, sample.events);
  samples.back() = sample;
}

}  // namespace

double utilisation(const ClusterState& state, std::size_t resource) {
  if (state.allocatable[resource] <= 0) return 0;
  return static_cast<double>(state.requested[resource]) / static_cast<double>(state.allocatable[resource]);
}

void Timeline::add(const TimelineSample& sample) {
  TimelineSample placed = sample;
  placed.time_us = end_of_step(sample.time_us, interval_us_);
  append(placed, samples_);
  while (samples_.size() > samples_max_) {
    interval_us_ = std::max(2 * interval_us_, step_for(samples_.back().time_us, samples_max_ / 2));
    samples_ = fold(samples_, interval_us_, INT64_MAX);
  }
}

std::vector<TimelineSample> fold(std::span<const TimelineSample> samples, std::int64_t interval_us,
                                 std::int64_t end_us) {
  std::vector<TimelineSample> folded;
  for (TimelineSample sample : samples) {
    sample.time_us = std::min(end_of_step(sample.time_us, interval_us), end_us);
    append(sample, folded);
  }
  return folded;
}

std::int64_t step_for(std::int64_t span_us, std::size_t steps_max) {
  if (span_us <= 0) return 0;
  const auto most = static_cast<std::int64_t>(std::max<std::size_t>(steps_max, 1));
  const auto suffices = [&](std::int64_t step_us) { return (span_us - 1) / step_us + 1 <= most; };
  for (const std::int64_t step_s : kSteps)
    if (suffices(step_s * kSecondUs)) return step_s * kSecondUs;
  std::int64_t step_us = kSteps.back() * kSecondUs;
  while (!suffices(step_us)) step_us *= 2;
  return step_us;
}

}  // namespace berth
