// SPDX-License-Identifier: Apache-2.0
#pragma once

// What goes on beside the operations of a workload, at a rate: churn, and deletions that nobody waits for.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/perf/object_writes.h"

namespace berth {

/// What happened in the background, counted in objects.
struct BackgroundCounts {
  std::int64_t churned = 0;  ///< created and deleted by churn
  std::int64_t deleted = 0;  ///< pods of deletePods
};

/// One thing that is repeated.
class BackgroundTask {
 public:
  virtual ~BackgroundTask() = default;
  /// Does it once. @throws WorkloadError
  virtual void run_once(BackgroundCounts& counts) = 0;
  virtual bool is_over() const = 0;
};

/// @param series   one object each; created in turn, and with op.recreates deleted again
/// @param name_space of the objects that have one
std::unique_ptr<BackgroundTask> make_churn(ObjectStore& store, const ChurnOp& op, std::vector<ObjectSeries> series,
                                           std::string name_space);
std::unique_ptr<BackgroundTask> make_deletion(ObjectStore& store, std::vector<PodPtr> pods);

/// How often tasks are repeated. Each pod of a measurement at upstream's threshold meets a certain number of
/// repetitions. With the rate of the file a faster scheduler would meet fewer, and its figure would not be comparable.
struct RatePolicy {
  double rate_factor = 1;  ///< repetitions come this many times as often as the file says
  double threshold = 0;    ///< pods a second; 0: none
  /// With a factor above 1, repetitions during a measurement follow the pods: the k-th comes when as many pods are
  /// scheduled as at the threshold would be until then. Time counts only while the scheduler has nothing to do.
  bool follows_pods() const { return rate_factor > 1 && threshold > 0; }
};

/// Runs the tasks when they are due. Repetitions that were late are made up for.
class Background {
 public:
  explicit Background(const RatePolicy& policy) : policy_(policy) {}

  /// @param interval_us  between two repetitions, as the file says
  void start(std::unique_ptr<BackgroundTask> task, double interval_us, std::int64_t now_us);
  /// @param scheduled  pods of the measurement until now
  /// @return whether anything was done
  bool run_due(std::int64_t now_us, std::int64_t scheduled);
  /// The scheduler had nothing to do: what is due by time comes, whatever the pods say.
  void run_idle(std::int64_t now_us);
  /// A measurement begins: pods count from 0.
  void begin_measurement();
  void end_measurement() { is_measuring_ = false; }
  /// Repetitions since then that a scheduler of the threshold would have met with `scheduled` pods and that did not
  /// come.
  std::int64_t missing(std::int64_t scheduled) const;

  /// When the next repetition is due by time; INT64_MAX: none.
  std::int64_t next_due_us() const;
  /// How many pods may still be scheduled until a repetition is due by pods; INT64_MAX: any number.
  std::int64_t pods_until_due(std::int64_t scheduled) const;
  const BackgroundCounts& counts() const { return counts_; }

 private:
  struct Running {
    std::unique_ptr<BackgroundTask> task;
    double interval_us = 0;
    double last_us = 0;  ///< when the last repetition was due
    std::int64_t done = 0;
    std::int64_t done_before = 0;  ///< the measurement
  };
  double scaled_us(const Running& running) const { return running.interval_us / policy_.rate_factor; }
  /// Pods that the threshold schedules between two repetitions.
  double pods_each(const Running& running) const { return policy_.threshold * running.interval_us / 1e6; }
  bool counts_pods() const { return is_measuring_ && policy_.follows_pods(); }
  /// Repetitions that are due by time.
  std::int64_t due_by_time(const Running& running, std::int64_t now_us) const;
  std::int64_t due_by_pods(const Running& running, std::int64_t scheduled) const;
  /// @return whether any was done
  bool repeat(Running& running, std::int64_t times);

  RatePolicy policy_;
  std::vector<Running> tasks_;
  BackgroundCounts counts_;
  bool is_measuring_ = false;
};

}  // namespace berth
