// SPDX-License-Identifier: Apache-2.0
#include "host/cli/command_line.h"

int main(int argument_count, char** arguments) {
  return static_cast<int>(berth::run_program(argument_count, arguments));
}
