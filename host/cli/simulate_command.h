// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/cli/config_options.h"
#include "host/cli/exit_code.h"
#include "host/cli/input_options.h"
#include "host/cli/preemption_limit_options.h"

namespace berth {

inline constexpr const char* kStartChoices = "latest|earliest";

/// `berth simulate`: runs a scenario, or a dump of a cluster, on a virtual clock.
struct SimulateCommand {
  InputOptions input;  ///< paths: one scenario at most, and dumps
  ConfigOptions config;
  std::optional<std::string> start;  ///< latest, earliest; wins over the scenario
  std::optional<std::int64_t> until_us;
  std::optional<std::int64_t> run_duration_us;
  std::optional<std::int64_t> interval_us;  ///< of the time line; 0: a sample at each change
  PreemptionLimitOptions limits;
  std::string format = "table";  ///< table, wide, json, yaml
  std::string plot_path;         ///< empty: none
  std::string metrics_path;      ///< empty: none
};

/// Writes the time line to standard output, what goes on to standard error.
/// @throws InputError, UsageError, OutputError, DeviceError, std::runtime_error
ExitCode run(const SimulateCommand& command);

}  // namespace berth
