// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "host/cli/command_model.h"

namespace berth {

/// The command `app` of the parser with its options and its commands; hidden commands are not in it.
CommandModel parser_model(const CLI::App& app);

}  // namespace berth
