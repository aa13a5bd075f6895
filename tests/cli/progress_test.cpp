// SPDX-License-Identifier: Apache-2.0
// Progress bars, for which the standard error of the program has to be a terminal.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace berth::test {
namespace {

struct WatchedRun {
  int exit_code = -1;
  std::string on_terminal;  ///< all that went to the terminal, standard error
};

/// Runs `berth` with a terminal for its standard error; standard output goes to a file.
WatchedRun watch_berth(const std::vector<std::string>& arguments) {
  const std::string out = write_file("watched-out", "");
  std::vector<char*> list = {const_cast<char*>(BERTH_PROGRAM)};
  for (const std::string& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    const int file = ::open(out.c_str(), O_WRONLY | O_TRUNC);
    ::dup2(file, STDOUT_FILENO);
    ::setenv("TERM", "xterm", 1);
    ::execv(BERTH_PROGRAM, list.data());
    ::_exit(127);
  }
  WatchedRun run;
  std::array<char, 4096> buffer;
  // A terminal whose last writer is gone gives an error, not an end of file.
  for (ssize_t got = 0; (got = ::read(terminal, buffer.data(), buffer.size())) > 0;)
    run.on_terminal.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

TEST(Progress, OfBenchCountsTheRuns) {
  const std::string cluster = write_file("cluster.yaml", small_cluster());
  const WatchedRun run = watch_berth({"bench", "--repeat", "2", "-f", cluster});
  EXPECT_EQ(run.exit_code, 0) << run.on_terminal;
  EXPECT_NE(run.on_terminal.find("measuring, run"), std::string::npos) << run.on_terminal;
  EXPECT_NE(run.on_terminal.find("0 of 2"), std::string::npos) << run.on_terminal;
  const ProgramRun away = run_berth({"bench", "--repeat", "2", "-f", cluster});
  EXPECT_EQ(away.err, "") << "no bar away from a terminal";
}

TEST(Progress, OfExplainAllCountsThePods) {
  // Long enough for the second in which no bar is shown: every pod is held against every node.
  const std::string spec = write_file("many.yaml", R"(version: 1
nodePools: [{name: pool, count: 3000, allocatable: {cpu: 4, memory: 8Gi, pods: 10}}]
pods: [{name: web, pending: 1500, requests: {cpu: 1, memory: 1Gi}}]
)");
  const ProgramRun made = run_berth({"generate", "--spec", spec});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const WatchedRun run = watch_berth({"explain", "--all", "-f", write_file("many.json", made.out)});
  EXPECT_EQ(run.exit_code, 0) << run.on_terminal;
  EXPECT_NE(run.on_terminal.find("explaining pods"), std::string::npos) << run.on_terminal;
  EXPECT_NE(run.on_terminal.find(" of 1,500"), std::string::npos) << run.on_terminal;
}

}  // namespace
}  // namespace berth::test
