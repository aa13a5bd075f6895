// SPDX-License-Identifier: Apache-2.0
#include "host/cli/command_line.h"
#include "host/cli/standard_streams.h"

int main(int argument_count, char** arguments) {
  if (!berth::prepare_standard_streams()) return static_cast<int>(berth::ExitCode::kError);
  return static_cast<int>(berth::run_program(argument_count, arguments));
}
