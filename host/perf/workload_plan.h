// SPDX-License-Identifier: Apache-2.0
#pragma once

// One workload of a file, ready to run: parameters filled in, pod sets unrolled, templates decoded. Or the reason why
// Berth cannot run it.

#include <cstdint>
#include <string>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/perf/perf_config.h"
#include "host/perf/perf_objects.h"

namespace berth {

struct PlannedOp {
  PerfOp op;  ///< no parameters are left, and no CreatePodSetsOp
  /// Of its templates, in order. For namespaces: what they are copied from. For pods: and their volume and claim, where
  /// they have one.
  std::vector<ObjectSeries> objects;
};

struct WorkloadPlan {
  std::string name;         ///< "SchedulingBasic/5000Nodes_10000Pods"
  std::string skip_reason;  ///< empty: it can be run
  bool hints_on = false;    ///< the file turns SchedulerQueueingHints off, and it runs with hints
  double threshold = 0;     ///< pods a second; 0: none
  SchedulerConfig config;
  std::vector<PlannedOp> ops;
};

enum class PlanDepth : std::uint8_t {
  kDecision,  ///< only whether it can be run: of each template, one object is decoded
  kWhole,
};

/// How large a workload is made.
struct PlanScale {
  /// The counts of pods and of what createAny and updateAny make are multiplied by it, and so is what nodes offer:
  /// their allocatable amounts and their CSI limits. Nodes, namespaces and sets of pods stay as many as they are.
  std::int64_t factor = 1;
};

/// @throws InputError for files that cannot be read, and for parameters that are missing, of another kind or not used
WorkloadPlan plan_workload(const PerfFile& file, const PerfTestCase& test_case, const PerfWorkload& workload,
                           PlanDepth depth, PlanScale scale = {});

}  // namespace berth
