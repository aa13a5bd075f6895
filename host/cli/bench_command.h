// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/cli/config_options.h"
#include "host/cli/exit_code.h"
#include "host/cli/input_options.h"

namespace berth {

/// `berth bench`: places the same cluster several times with each backend and compares the rates.
struct BenchCommand {
  InputOptions input;     ///< either these files
  std::string spec_path;  ///< or a spec for `berth generate`, made in memory
  std::uint64_t spec_seed = 0;
  ConfigOptions config;
  std::vector<std::string> backends;  ///< empty: cpu
  std::int32_t repeat = 3;
  std::string format = "table";  ///< table, json
};

/// @throws InputError, UsageError, OutputError, std::runtime_error
ExitCode run(const BenchCommand& command);

}  // namespace berth
