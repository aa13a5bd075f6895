// SPDX-License-Identifier: Apache-2.0
#include "host/cli/pages_command.h"

#include "host/cli/command_line.h"
#include "host/cli/version_command.h"
#include "host/report/output.h"

namespace berth {

ExitCode run(const ManCommand&) {
  print_output(man_page(program_model(), program_version()));
  return ExitCode::kDone;
}

ExitCode run(const CompletionCommand& command) {
  print_output(completion_script(program_model(), command.shell));
  return ExitCode::kDone;
}

}  // namespace berth
