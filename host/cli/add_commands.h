// SPDX-License-Identifier: Apache-2.0
#pragma once

// The commands of `berth` with their options.

#include <CLI/CLI.hpp>
#include <functional>

#include "host/cli/exit_code.h"

namespace berth {

/// The parser, and what it chose to do once parse() has returned.
struct CommandLine {
  CLI::App app{"places pods on nodes exactly as kube-scheduler would"};
  std::function<ExitCode()> action;
};

/// `line` must stay where it is: the parser's callbacks refer to it.
void add_commands(CommandLine& line);

}  // namespace berth
