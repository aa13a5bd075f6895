// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace berth::test {

struct ProgramRun {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// Runs `berth` with `arguments`, `input` on its standard input, in the C locale and without a terminal.
/// @param redirections  in the shell's words, such as "2>&-"; they win over the files that `out` and `err` come from
/// @return exit_code is 128 and the number of the signal when one ended the program
ProgramRun run_berth(const std::vector<std::string>& arguments, const std::string& input = "",
                     const std::string& redirections = "");
/// The same for another program, such as a shell that sets limits and then runs `berth`.
ProgramRun run_program(const std::string& program, const std::vector<std::string>& arguments,
                       const std::string& input = "", const std::string& redirections = "");

/// A new file in a folder that is removed at the end of the process.
/// @return its path
std::string write_file(const std::string& name, const std::string& content);
std::string read_file(const std::string& path);

/// Three nodes (a: 4 cores, b: 4 cores and a taint, c: cordoned), a running pod on a, and pending pods: fits, too-big,
/// gated, other (a scheduler name that no profile has).
std::string small_cluster();

}  // namespace berth::test
