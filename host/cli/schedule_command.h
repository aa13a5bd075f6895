// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host/cli/config_options.h"
#include "host/cli/exit_code.h"
#include "host/cli/input_options.h"

namespace berth {

/// `berth schedule`: places every pending pod and reports.
struct ScheduleCommand {
  InputOptions input;
  ConfigOptions config;
  std::string format = "table";      ///< table, wide, json, yaml, bindings, deletions
  std::string preemption = "evict";  ///< evict, nominate, off
  bool keeps_budgets = false;
  bool replaceable_first = false;
  std::string preemption_nodes = "all";
  std::int32_t evictions_per_minute_max = 0;  ///< 0: no limit
  bool fail_unplaced = false;
  bool stats = false;
};

/// Writes the result to standard output, what goes on to standard error.
/// @throws InputError, UsageError, OutputError, std::runtime_error
ExitCode run(const ScheduleCommand& command);

}  // namespace berth
