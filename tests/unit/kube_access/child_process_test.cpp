// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "tests/unit/kube_access/access_test_support.h"

namespace berth {
namespace {

ChildResult run_script(const std::string& body, const ChildLimits& limits = {}) {
  return run_child("/bin/sh", {"-c", body}, {"A=1", "PATH=/usr/bin:/bin"}, limits);
}

bool has_children() {
  siginfo_t info = {};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

TEST(ChildProcess, GivesOutputErrorsAndStatus) {
  const ChildResult result = run_script("echo \"out $A\"; echo err >&2; exit 3");
  EXPECT_EQ(result.end, ChildResult::End::kExited);
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.output, "out 1\n");
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_FALSE(has_children());
}

TEST(ChildProcess, ArgumentsAreNotReadByAShell) {
  EXPECT_EQ(run_child("/bin/echo", {"$A; echo x", "*"}, {"A=1"}).output, "$A; echo x *\n");
}

TEST(ChildProcess, HasNoInputAndNoOtherFiles) {
  const int leaked = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ASSERT_GE(leaked, 0);
  const ChildResult result = run_script("cat; for i in 3 4 5 6 7 8 9 " + std::to_string(leaked) +
                                        "; do [ -e /proc/self/fd/$i ] && echo $i; done; true");
  close(leaked);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.code, 0);
}

TEST(ChildProcess, SaysWhichSignalEndedIt) {
  const ChildResult result = run_script("kill -TERM $$");
  EXPECT_EQ(result.end, ChildResult::End::kKilledBySignal);
  EXPECT_EQ(result.code, SIGTERM);
}

TEST(ChildProcess, SignalsThatThisProcessBlocksArriveThere) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const ChildResult result = run_script("kill -TERM $$; sleep 5", {.time_us = 3'000'000});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(result.end, ChildResult::End::kKilledBySignal);
}

TEST(ChildProcess, IsKilledWithItsChildrenWhenItsTimeIsOver) {
  const auto start = std::chrono::steady_clock::now();
  const ChildResult result = run_script("sleep 60 & sleep 60", {.time_us = 200'000});
  EXPECT_EQ(result.end, ChildResult::End::kTimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_FALSE(has_children());
}

TEST(ChildProcess, ProgramsLeftBehindAreNotWaitedFor) {
  const auto start = std::chrono::steady_clock::now();
  const ChildResult result = run_script("sleep 30 & echo done");
  EXPECT_EQ(result.end, ChildResult::End::kExited);
  EXPECT_EQ(result.output, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(ChildProcess, OutputIsLimitedAndErrorsAreCut) {
  const ChildLimits limits = {.output_bytes_max = 1000, .error_bytes_kept = 10};
  EXPECT_EQ(run_script("head -c 1000 /dev/zero", limits).output.size(), 1000u);
  EXPECT_EQ(run_script("head -c 1001 /dev/zero", limits).end, ChildResult::End::kTooMuchOutput);
  EXPECT_EQ(run_script("cat /dev/zero", limits).end, ChildResult::End::kTooMuchOutput);
  const ChildResult result = run_script("head -c 1000000 /dev/zero >&2; echo x", limits);
  EXPECT_EQ(result.errors.size(), 10u);
  EXPECT_EQ(result.output, "x\n");
}

TEST(ChildProcess, LargeOutputIsWhole) { EXPECT_EQ(run_script("head -c 1000000 /dev/zero").output.size(), 1'000'000u); }

TEST(ChildProcess, SaysThatAProgramIsMissingOrCannotRun) {
  EXPECT_EQ(run_child("/nowhere/at/all", {}, {}).end, ChildResult::End::kNotFound);
  TemporaryFolder folder;
  const ChildResult result = run_child(folder.write("data", "x"), {}, {});
  EXPECT_EQ(result.end, ChildResult::End::kNotStarted);
  EXPECT_EQ(result.error_number, EACCES);
  EXPECT_FALSE(has_children());
}

TEST(ChildProcess, FindsProgramsInAbsoluteFoldersOnly) {
  TemporaryFolder folder;
  const std::string script = folder.write_script("plugin", "");
  folder.write("data", "");
  EXPECT_EQ(find_program("plugin", "/nowhere::relative:" + folder.path()), script);
  EXPECT_EQ(find_program("data", folder.path()), "");
  EXPECT_EQ(find_program("plugin", ""), "");
  EXPECT_EQ(find_program("plugin", "."), "");
  EXPECT_EQ(find_program("./plugin", folder.path()), "./plugin");
}

}  // namespace
}  // namespace berth
