// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/cli/config_options.h"
#include "host/cli/exit_code.h"
#include "host/cli/input_options.h"

namespace berth {

/// `berth explain`: what each of some pods, or each pending pod, alone means to every node of the cluster as loaded.
struct ExplainCommand {
  InputOptions input;
  ConfigOptions config;
  std::vector<std::string> pods;  ///< as find_pods() takes them; empty with `all`
  std::string name_space;         ///< of pods that are given by name alone; with `all` only its pods; empty: any
  bool all = false;
  std::string format = "table";  ///< table, json
};

/// @throws InputError, UsageError, OutputError, std::runtime_error
ExitCode run(const ExplainCommand& command);

}  // namespace berth
