// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a simulation looks like over time: samples of the whole cluster, at steps of one length.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace berth {

/// Resources that a time line follows: cpu, memory, pods, and extended ones by name.
inline constexpr std::size_t kTimelineResourcesMax = 8;
/// Amounts by resource, in the order of Timeline::resources: cpu in millicores, memory in bytes, the others counted.
using TimelineAmounts = std::array<std::int64_t, kTimelineResourcesMax>;

/// The cluster at an instant.
struct ClusterState {
  std::int64_t nodes = 0;
  std::int64_t pending = 0;        ///< pods without a node that have not finished
  std::int64_t running = 0;        ///< pods on a node that have not finished, those that start or end included
  std::int64_t finished = 0;       ///< pods that ran to their end, since the start
  std::int64_t removed = 0;        ///< pods that were evicted, deleted or lost with their node, since the start
  TimelineAmounts requested = {};  ///< by pods on nodes that exist
  TimelineAmounts allocatable = {};
  friend bool operator==(const ClusterState&, const ClusterState&) = default;
};

/// What happened in a step.
struct ClusterEvents {
  std::int64_t arrived = 0;    ///< pods that came without a node
  std::int64_t placed = 0;     ///< pods that were bound
  std::int64_t preempted = 0;  ///< pods whose eviction was decided
  std::int64_t failed = 0;     ///< attempts that found no node
  friend bool operator==(const ClusterEvents&, const ClusterEvents&) = default;
};

struct TimelineSample {
  std::int64_t time_us = 0;  ///< from the start
  ClusterState state;        ///< at time_us
  ClusterEvents events;      ///< after the sample before, up to time_us
};

/// requested / allocatable; 0 when nothing is allocatable.
double utilisation(const ClusterState& state, std::size_t resource);

/// Samples in the order of their times. Steps in which nothing changes have none. Holds at most `samples_max`: when
/// there would be more, the steps become longer.
class Timeline {
 public:
  static constexpr std::size_t kSamplesMax = 100'000;

  explicit Timeline(std::size_t samples_max = kSamplesMax) : samples_max_(samples_max) {}

  /// @param sample  not before the last one; events of the same step add up
  void add(const TimelineSample& sample);
  const std::vector<TimelineSample>& samples() const { return samples_; }
  std::int64_t interval_us() const { return interval_us_; }  ///< length of a step; 0: a sample at each change

 private:
  std::size_t samples_max_;
  std::int64_t interval_us_ = 0;
  std::vector<TimelineSample> samples_;
};

/// The same samples in longer steps: each step that has some becomes one, at the end of the step, but not after
/// `end_us`. A sample at 0 stays alone.
/// @param interval_us  0 leaves them as they are
std::vector<TimelineSample> fold(std::span<const TimelineSample> samples, std::int64_t interval_us,
                                 std::int64_t end_us);

/// The shortest step among 1, 2, 5, 10, 15, 30 s, 1, 2, 5, 10, 15, 30 min, 1, 2, 3, 6, 12 h, 1, 2, 5, 10 days and
/// doublings of that which divides `span_us` into at most `steps_max` steps. 0 when the span is 0.
std::int64_t step_for(std::int64_t span_us, std::size_t steps_max);

}  // namespace berth
