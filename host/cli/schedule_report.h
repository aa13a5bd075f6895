// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/report/terminal.h"
#include "host/scheduler/scheduler.h"

namespace berth {

/// Pods without a node whose reasons are the same except for the counts in the text.
struct UnplacedGroup {
  std::string reason;                 ///< Unplaced::reason
  std::string causes;                 ///< the text without its counts: "Insufficient cpu, node(s) were unschedulable"
  std::string example_text;           ///< the whole text of the first pod
  std::vector<std::string> examples;  ///< names of the first few pods
  std::int64_t pod_count = 0;
};

/// Largest group first, then in queue order of their first pods.
std::vector<UnplacedGroup> group_unplaced(const ScheduleResult& result);

/// A FitError text without its counts; any other text as it is.
std::string causes_of(std::string_view message);

struct ScheduleReportOptions {
  bool wide = false;   ///< name every pod with its node
  bool stats = false;  ///< times and memory by part
};

/// The report for people, 80 to 100 columns wide.
std::string schedule_report(const ClusterObjects& objects, const ScheduleResult& result,
                            const ScheduleReportOptions& options, const Terminal& terminal);

}  // namespace berth
