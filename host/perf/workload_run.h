// SPDX-License-Identifier: Apache-2.0
#pragma once

// Executes the operations of one workload over a store, beside a scheduler that reads the same store.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/perf/background.h"
#include "host/perf/pod_counts.h"
#include "host/perf/throughput.h"
#include "host/perf/workload_plan.h"

namespace berth {

/// The scheduler as a workload sees it.
class PerfScheduler {
 public:
  static constexpr std::int64_t kNeverUs = std::numeric_limits<std::int64_t>::max();

  virtual ~PerfScheduler() = default;
  /// Tries at most so many pods. @return how many; 0: there is nothing to do now
  virtual std::size_t run(std::size_t attempts_max) = 0;
  /// When there is something to do although nothing happens in the store; kNeverUs: not before it does
  virtual std::int64_t next_wake_us() const = 0;
  /// Pods that were evicted so far.
  virtual std::int64_t preempted() const = 0;
};

/// What was measured between start and stop of one collection.
struct PerfMeasurement {
  std::string name;                             ///< of the collection: a namespace, or what startCollectingMetrics says
  std::int64_t pods = 0;                        ///< that got scheduled
  std::int64_t elapsed_us = 0;                  ///< from the start of the collection to the last of them
  std::optional<ThroughputSummary> throughput;  ///< absent: it was over before the second sample
  BackgroundCounts background;
  std::int64_t updated = 0;    ///< objects of updateAny
  std::int64_t preempted = 0;  ///< pods
  std::int64_t missing = 0;    ///< repetitions of churn and deletions that the pods should have met and did not
  double pods_per_second() const {
    return elapsed_us > 0 ? static_cast<double>(pods) * 1e6 / static_cast<double>(elapsed_us) : 0;
  }
};

struct WorkloadRunOptions {
  RatePolicy rate;
  std::int64_t wait_limit_us = 600'000'000;  ///< for pods to be scheduled, as upstream waits
  std::uint64_t seed = 0;                    ///< of generated node names
  bool volumes_first =
      false;  ///< createPods makes its volumes and claims, and the scheduler reads them, before it measures
  /// Is given what was measured, at the end of each measurement: the nodes, the pods that were on nodes when it began,
  /// and the pods of the measurement, which are pending as when they were created. May be empty.
  std::function<void(const std::string& measurement, const ClusterObjects& cluster)> on_measured = {};
};

/// One run; execute() is called once. The store's clock says the time.
class WorkloadRun {
 public:
  /// @param sleep_until  returns when the clock shows at least the given time
  /// All arguments must outlive this object.
  WorkloadRun(ObjectStore& store, PerfScheduler& scheduler, const std::function<void(std::int64_t)>& sleep_until,
              const WorkloadRunOptions& options);

  /// @throws WorkloadError naming the operation
  std::vector<PerfMeasurement> execute(const std::vector<PlannedOp>& ops);

 private:
  struct Collection {
    std::string name;
    PodFilter filter;
    std::int64_t start_us;
    std::int64_t preempted_before;
    ThroughputSampler sampler;
    std::int64_t pods = 0;
    std::int64_t last_us = 0;
    std::int64_t updated = 0;
    std::vector<StoredPodPtr> pods_before = {};  ///< only for WorkloadRunOptions::on_measured
  };
  using Done = std::function<bool()>;

  void run(const CreateNodesOp& op, const PlannedOp& planned);
  void run(const CreateNamespacesOp& op, const PlannedOp& planned);
  void run(const CreatePodsOp& op, const PlannedOp& planned);
  void run(const CreatePodSetsOp& op, const PlannedOp& planned);
  void run(const DeletePodsOp& op, const PlannedOp& planned);
  void run(const ChurnOp& op, const PlannedOp& planned);
  void run(const CreateAnyOp& op, const PlannedOp& planned);
  void run(const UpdateAnyOp& op, const PlannedOp& planned);
  void run(const BarrierOp& op, const PlannedOp& planned);
  void run(const SleepOp& op, const PlannedOp& planned);
  void run(const StartCollectingOp& op, const PlannedOp& planned);
  void run(const StopCollectingOp& op, const PlannedOp& planned);
  void run(const UnsupportedOp& op, const PlannedOp& planned);

  void create_pods(const std::string& name_space, const std::vector<ObjectSeries>& objects, std::int64_t count);
  void create_pods(const std::string& name_space, const std::vector<PerfObject>& pods);
  void create_pod(const std::string& name_space, const PerfObject& pod, std::int64_t index);
  std::vector<PerfObject> create_volumes(const std::string& name_space, const std::vector<ObjectSeries>& objects,
                                         std::int64_t count);
  void create_pods_steadily(const CreatePodsOp& op, const std::vector<ObjectSeries>& objects);
  PerfObject create_volume(const std::string& name_space, const std::vector<ObjectSeries>& objects, std::int64_t index);
  void delete_all_pods(const std::string& name_space);
  void need_namespace(const std::string& name);
  void start_collecting(std::string name, PodFilter filter);
  void stop_collecting();
  ClusterObjects measured_cluster() const;

  /// One round: what is due in the background, a slice of the scheduler, the events of the store.
  /// @return whether there was anything to do
  bool step();
  void read_events();
  std::size_t slice() const;
  std::int64_t measured() const { return collection_ ? collection_->pods : 0; }
  /// Goes on until `done`, which is asked after each round.
  /// @param what  that is waited for, for the error when nothing will bring it about or the limit is over
  void wait(const Done& done, const std::function<std::string()>& what);
  void wait_for_time(std::int64_t time_us);
  void wait_for_pods(const std::string& name_space, const PerfSelector& selector, std::int64_t count, bool attempted);
  /// Sleeps until something is due, at most until `limit_us`. @return false: nothing ever is
  bool idle(std::int64_t limit_us);
  static void check(const StoreStatus& status, std::string_view what);
  std::int64_t now_us() const { return store_.clock().now_us(); }

  ObjectStore& store_;
  PerfScheduler& scheduler_;
  const std::function<void(std::int64_t)>& sleep_until_;
  WorkloadRunOptions options_;
  GeneratedNames names_;
  Watch watch_;
  Background background_;
  std::int64_t node_count_ = 0;                   ///< of createNodes
  std::map<std::string, std::int64_t> expected_;  ///< pods by namespace that barriers wait for
  std::optional<Collection> collection_;
  std::optional<PodCounts> counts_;  ///< of the wait that goes on
  std::vector<PerfMeasurement> measurements_;
};

}  // namespace berth
