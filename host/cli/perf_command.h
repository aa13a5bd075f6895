// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/cli/config_options.h"
#include "host/cli/exit_code.h"

namespace berth {

/// `berth perf`: runs the workloads of scheduler_perf files and compares their throughput with upstream's thresholds.
struct PerfCommand {
  std::vector<std::string> paths;  ///< of workload files
  std::string labels;              ///< as matches_labels() reads them; empty: every workload
  std::string name_pattern;        ///< ECMAScript expression that is found in the name; empty: every workload
  std::int32_t rate_factor = 1;
  std::int32_t scale = 1;  ///< PlanScale::factor
  ConfigOptions config;    ///< of the engine; the configuration of the scheduler is the workload's
  bool quiet = false;
  std::string metrics_path;      ///< empty: none
  std::string dump_path;         ///< a folder; empty: none
  std::string format = "table";  ///< table, json
};

/// @return kError when a workload failed
/// @throws InputError, UsageError, OutputError, std::runtime_error
ExitCode run(const PerfCommand& command);

}  // namespace berth
