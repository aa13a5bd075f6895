// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/cli/exit_code.h"

namespace berth {

/// `berth man`: the man page of the program, as roff.
struct ManCommand {};

/// `berth completion`: what a shell reads to complete the arguments of the program.
struct CompletionCommand {
  std::string shell;  ///< bash, zsh, fish
};

/// @throws OutputError
ExitCode run(const ManCommand& command);
/// @throws OutputError
ExitCode run(const CompletionCommand& command);

}  // namespace berth
