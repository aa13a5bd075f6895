// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "host/cli/exit_code.h"

namespace berth {

std::string_view program_version();  ///< "0.1.0"
std::string_view program_commit();   ///< as `git describe` names it; "unknown"

/// `berth version`: version and build facts, and the devices that this machine has for cuda.
struct VersionCommand {
  std::string format = "table";  ///< table, json
};

/// @throws OutputError
ExitCode run(const VersionCommand& command);

}  // namespace berth
