// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/cli/exit_code.h"
#include "host/cli/scheduler_options.h"

namespace berth {

/// `berth scheduler`: the scheduler of a cluster, with kube-scheduler's command line.
struct SchedulerCommand {
  SchedulerFlags flags;
  std::string engine_config_path;         ///< BerthEngineConfiguration; empty: defaults
  std::vector<std::string> plugin_files;  ///< as ConfigOptions::plugin_files
};

/// Runs until it is asked to end, or loses its lease.
/// @throws InputError, UsageError, OutputError, std::runtime_error
ExitCode run(const SchedulerCommand& command);

}  // namespace berth
