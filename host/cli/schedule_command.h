// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/cli/config_options.h"
#include "host/cli/exit_code.h"
#include "host/cli/input_options.h"
#include "host/cli/preemption_limit_options.h"

namespace berth {

/// `berth schedule`: places every pending pod and reports.
struct ScheduleCommand {
  InputOptions input;
  ConfigOptions config;
  std::string format = "table";      ///< table, wide, json, yaml, bindings, deletions
  std::string preemption = "evict";  ///< evict, nominate, off
  PreemptionLimitOptions limits;
  bool fail_unplaced = false;
  bool stats = false;
};

/// Writes the result to standard output, what goes on to standard error.
/// @throws InputError, UsageError, OutputError, std::runtime_error
ExitCode run(const ScheduleCommand& command);

}  // namespace berth
