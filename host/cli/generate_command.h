// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host/cli/exit_code.h"

namespace berth {

/// `berth generate`: a cluster made from a declarative spec and a seed, and a configuration where the spec has one.
struct GenerateCommand {
  std::string spec_path;
  std::uint64_t seed = 0;
  std::string output_path = "-";
  std::string config_path;         ///< where the random configuration goes; empty: nowhere
  std::string feature_gates_path;  ///< the same for its feature gates
  bool quiet = false;
};

/// @throws InputError
ExitCode run(const GenerateCommand& command);

}  // namespace berth
