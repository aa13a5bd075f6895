// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host/cli/exit_code.h"

namespace berth {

/// `berth import openb`: the openb GPU cluster trace as Kubernetes objects.
struct ImportOpenbCommand {
  std::string nodes_path;
  std::string pods_path;
  std::string gpu_mode = "card";  ///< card, milli
  std::int64_t pods_per_node = 110;
  bool qos_priority = false;
  std::string output_path = "-";
  bool quiet = false;
};

/// @throws InputError
ExitCode run(const ImportOpenbCommand& command);

}  // namespace berth
