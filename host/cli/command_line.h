// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/cli/command_model.h"
#include "host/cli/exit_code.h"

namespace berth {

/// Understands the arguments of `berth`, does what they ask, and says what went wrong on standard error. Never throws.
ExitCode run_program(int argument_count, const char* const* arguments);

/// The command line as data; hidden commands are not in it.
CommandModel program_model();

}  // namespace berth
