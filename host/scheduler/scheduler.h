// SPDX-License-Identifier: Apache-2.0
#pragma once

// The scheduling run over loaded objects: queue order, batches, the backend, and what became of every pod.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"
#include "host/scheduler/backend_factory.h"
#include "host/scheduler/queue_run.h"

namespace berth {

struct ScheduleOptions {
  SchedulerConfig config;
  EngineConfig engine;
  PreemptionOptions preemption;
  double load_seconds = 0;  ///< what reading the input took; handed through to the stats
  /// Called between batches, on the calling thread; starts again from 0 when a run falls back to cpu.
  std::function<void(std::size_t done, std::size_t total)> progress;
  OpenAccelerator open_accelerator = built_in_accelerator();  ///< tests give one without a device
  QueueRunObserver* observer =
      nullptr;  ///< is told of each attempt; null: nobody. A run that falls back to cpu begins again
};

struct Placement {
  PodPtr pod;
  NodeIndex node;
  std::int64_t score = 0;
  VolumeDecisionsPtr volumes = nullptr;  ///< null: the pod has no unbound claims
};

struct Unplaced {
  PodPtr pod;
  std::string_view reason;   ///< "Unschedulable", "SchedulingGated", "SchedulerError", or "Preempted": it was placed
                             ///< and then evicted
  std::int32_t message = 0;  ///< index into ScheduleResult::messages
  NodeIndex nominated = kNoNode;  ///< that preemption reserved for the pod
};

/// A PodDisruptionBudget of which the run evicted more pods than it allowed.
struct ViolatedBudget {
  std::string budget;  ///< "namespace/name"
  std::int32_t allowed = 0;
  std::int32_t evicted = 0;
};

/// A pod that no profile of this scheduler takes up, or that is being deleted; or one kept out of the accounts.
struct Skipped {
  std::string pod;  ///< "namespace/name"
  std::string reason;
};

struct ResourceUse {
  std::string name;
  std::int64_t allocatable = 0;  ///< unit of ResourceAmounts; "pods" counts pods
  std::int64_t used_before = 0;
  std::int64_t used_after = 0;
  /// Of cpu and memory: what is free after the run on nodes where the other one is scarcer, beyond the share that is
  /// free of that one.
  std::optional<std::int64_t> stranded_after;
};

struct ScheduleStats {
  std::int64_t nodes = 0;
  std::int64_t pods = 0;  ///< pending pods that were tried
  std::int64_t running_pods = 0;
  std::int64_t classes = 0;
  double load_seconds = 0;
  double compile_seconds = 0;
  double schedule_seconds = 0;
  double pods_per_second = 0;
  std::map<std::string, std::uint64_t> bytes;  ///< "model", "columns", "rows", "peakRss", ...
  std::map<std::string, std::int64_t> ways;    ///< how pods found their nodes, and why not by the index: AnswerWays
  std::map<std::string, std::int64_t> host;    ///< what plugins on the host were asked; empty where there are none
  std::optional<DeviceStats> device;           ///< of a backend that has one
};

/// One of ScheduleResult::notes.
inline constexpr std::string_view kNoNodeNote = "the input has no Node, so no pod can be placed";

struct ScheduleResult {
  std::string served_by;  ///< backend that answered
  std::string why;        ///< why it was chosen
  std::uint64_t seed = 0;
  std::vector<std::string> node_names;  ///< by NodeIndex
  std::vector<Placement> placements;    ///< queue order
  std::vector<Unplaced> unplaced;       ///< queue order
  std::vector<std::string> messages;
  std::vector<Eviction> evictions;               ///< in order; with PreemptionMode::kNominate, those that would follow
  std::vector<ViolatedBudget> violated_budgets;  ///< in input order
  std::vector<Skipped> skipped;
  std::vector<std::string> notes;  ///< said once each: what a run like this leaves out, what the input lacks
  ScheduleStats stats;
  std::vector<ResourceUse> resources;
  /// Largest of cpu and memory requested / allocatable per node, percent; for the histogram.
  std::vector<std::int32_t> node_use_percent_before;
  std::vector<std::int32_t> node_use_percent_after;
};

/// Places every pending pod of `objects`, in queue order: priority, creation time, input order. Pods that find no node
/// preempt others as far as options.preemption says.
/// @throws InputError when the chosen backend cannot serve the configuration; nothing was placed then.
/// @throws DeviceError when no device can be used or one fails, unless engine.on_device_failure has cpu do the whole
///         run: then served_by and why say so, and times are those of that run.
ScheduleResult schedule(const ClusterObjects& objects, const ScheduleOptions& options);

}  // namespace berth
