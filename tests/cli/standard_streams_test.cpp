// SPDX-License-Identifier: Apache-2.0
// Standard streams that are closed, full, or pipes without a reader: no command may end by a signal, and results that
// could not be written are exit code 1.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace berth::test {
namespace {

constexpr int kDone = 0;
constexpr int kError = 1;
constexpr int kUsage = 2;

/// A command, and what it gives where every stream works.
struct Command {
  std::string name;
  std::vector<std::string> arguments;
  std::string input;
  int exit_code = kDone;
  bool has_result = true;  ///< writes to standard output
};

/// An object of an unknown kind gives a warning.
std::string cluster_with_a_warning() { return small_cluster() + "---\n{apiVersion: v1, kind: Thing}\n"; }

std::string spec_with_a_warning() {
  return R"(nodePools: [{name: a, count: 1, allocatable: {cpu: 1}}]
pods: [{name: p, running: 3, requests: {cpu: 1}, runningOn: [a]}]
)";
}

std::vector<Command> commands() {
  const std::string config = write_file("streams-config.yaml",
                                        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                                        "extenders: [{urlPrefix: 'http://localhost', filterVerb: filter}]\n");
  const std::string nodes = write_file("streams-nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,1000,1000,0,\n");
  const std::string pods =
      write_file("streams-pods.csv",
                 "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
                 "scheduled_time\np,1,1,0,0,,LS,Running,0,1,1\n");
  const std::string cluster = cluster_with_a_warning();
  return {{"schedule", {"schedule", "-f", "-"}, cluster},
          {"schedule_json", {"schedule", "-f", "-", "-o", "json"}, cluster},
          {"schedule_yaml", {"schedule", "-f", "-", "-o", "yaml"}, cluster},
          {"schedule_bindings", {"schedule", "-f", "-", "-o", "bindings"}, cluster},
          {"schedule_of_a_bad_object", {"schedule", "-f", "-"}, "kind: Pod\n", kError, false},
          {"schedule_that_leaves_out", {"schedule", "-f", "-", "--skip-invalid"}, cluster + "---\nkind: Pod\n"},
          {"schedule_with_extender", {"schedule", "-f", "-", "--config", config, "--allow-unsupported"}, cluster},
          {"explain", {"explain", "--all", "-f", "-"}, cluster},
          {"explain_json", {"explain", "--all", "-f", "-", "-o", "json"}, cluster},
          {"explain_of_no_pod", {"explain", "absent", "-f", "-"}, cluster, kError, false},
          {"config_check", {"config", "check", config}, "", kError},
          {"generate", {"generate", "--spec", "-"}, spec_with_a_warning()},
          {"generate_of_a_bad_spec", {"generate", "--spec", "-"}, "nodePools: 7\n", kError, false},
          {"import", {"import", "openb", "--nodes", nodes, "--pods", pods}, ""},
          {"bench", {"bench", "-f", "-", "--repeat", "1"}, cluster},
          {"version", {"version"}, ""},
          {"version_json", {"version", "-o", "json"}, ""},
          {"version_flag", {"--version"}, ""},
          {"help", {"--help"}, ""},
          {"help_of_schedule", {"schedule", "--help"}, ""},
          {"man", {"man"}, ""},
          {"completion", {"completion", "bash"}, ""},
          {"unknown_option", {"--nonsense"}, "", kUsage, false},
          {"no_command", {}, "", kUsage, false}};
}

void PrintTo(const Command& command, std::ostream* out) { *out << command.name; }

class StandardStreams : public testing::TestWithParam<Command> {};

TEST_P(StandardStreams, GiveTheExpectedExitCodeWhenAllWork) {
  const ProgramRun run = run_berth(GetParam().arguments, GetParam().input);
  EXPECT_EQ(run.exit_code, GetParam().exit_code) << run.err;
  EXPECT_EQ(run.out.empty(), !GetParam().has_result);
}

TEST_P(StandardStreams, LoseMessagesOnlyWhenStandardErrorTakesNone) {
  const ProgramRun good = run_berth(GetParam().arguments, GetParam().input);
  for (const char* broken : {"2>&-", "2>/dev/full"}) {
    const ProgramRun run = run_berth(GetParam().arguments, GetParam().input, broken);
    EXPECT_EQ(run.exit_code, GetParam().exit_code) << broken;
    EXPECT_EQ(run.out.empty(), good.out.empty()) << broken;
    EXPECT_EQ(run.err, "") << broken;
  }
}

TEST_P(StandardStreams, AreAnErrorWhenResultsCannotBeWritten) {
  const int expected = GetParam().has_result ? kError : GetParam().exit_code;
  for (const char* broken : {">&-", ">/dev/full"}) {
    const ProgramRun run = run_berth(GetParam().arguments, GetParam().input, broken);
    EXPECT_EQ(run.exit_code, expected) << broken << run.err;
    EXPECT_EQ(run.err.substr(0, 7), "berth: ") << broken << run.err;
    EXPECT_EQ(run.err.find("cannot") != run.err.npos, GetParam().has_result) << broken << run.err;
  }
}

TEST_P(StandardStreams, EndNoCommandByASignalWhenAllAreBroken) {
  const int expected = GetParam().has_result ? kError : GetParam().exit_code;
  for (const char* broken : {">&- 2>&-", ">/dev/full 2>/dev/full"}) {
    EXPECT_EQ(run_berth(GetParam().arguments, GetParam().input, broken).exit_code, expected) << broken;
  }
  EXPECT_EQ(run_berth(GetParam().arguments, GetParam().input, "<&- >&- 2>&-").exit_code,
            GetParam().exit_code == kUsage ? kUsage : kError);
}

INSTANTIATE_TEST_SUITE_P(Commands, StandardStreams, testing::ValuesIn(commands()),
                         [](const auto& test) { return test.param.name; });

/// Runs `berth` with one of its streams a pipe whose reader has gone.
/// @param words  the shell's, with $BERTH for the program
int exit_code_of_script(const std::string& words) {
  return run_program("/bin/bash", {"-c", "trap '' PIPE; trap - PIPE\n" + words, BERTH_PROGRAM}).exit_code;
}

TEST(ClosedDescriptor, OfStandardOutputIsSaid) {
  const std::string closed = "berth: cannot write the output: standard output is closed\n";
  EXPECT_EQ(run_berth({"--version"}, "", ">&-").err, closed);
  EXPECT_EQ(run_berth({"schedule", "-f", "-", "-q"}, small_cluster(), ">&-").err, closed);
  EXPECT_EQ(run_berth({"generate", "--spec", "-", "-q"}, spec_with_a_warning(), ">&-").err,
            "berth: standard output: cannot be written: it is closed\n");
}

TEST(ClosedPipe, OnStandardOutputIsAnError) {
  const std::string cluster = write_file("pipe-cluster.yaml", cluster_with_a_warning());
  // The reader has ended before the program writes.
  EXPECT_EQ(exit_code_of_script("exec 3> >(:); wait $!; \"$0\" schedule -f '" + cluster + "' >&3 2>/dev/null"), kError);
}

TEST(ClosedPipe, OnStandardErrorLosesMessagesOnly) {
  const std::string cluster = write_file("pipe-cluster.yaml", cluster_with_a_warning());
  EXPECT_EQ(exit_code_of_script("exec 3> >(:); wait $!; \"$0\" schedule -f '" + cluster + "' 2>&3 >/dev/null"), kDone);
}

TEST(ClosedDescriptor, DoesNotReceiveTheOutputFile) {
  const std::string file = write_file("closed-2.json", "");
  const ProgramRun run = run_berth({"generate", "--spec", "-", "-o", file}, spec_with_a_warning(), "2>&-");
  EXPECT_EQ(run.exit_code, kDone);
  EXPECT_EQ(read_file(file).find("berth:"), std::string::npos);
  EXPECT_EQ(read_file(file).substr(0, 1), "{");
}

TEST(ClosedDescriptor, IsAnErrorByTheNameOfItsDevice) {
  struct Output {
    std::string path;
    const char* closed;
  };
  for (const auto& [path, closed] : {Output{"/dev/stdout", ">&-"}, Output{"/dev/stderr", "2>&-"},
                                     Output{"/dev/fd/1", ">&-"}, Output{"/proc/self/fd/2", "2>&-"}}) {
    EXPECT_EQ(run_berth({"generate", "--spec", "-", "-o", path}, spec_with_a_warning(), closed).exit_code, kError)
        << path;
    const std::string cluster = write_file("closed-plot.yaml", small_cluster());
    EXPECT_EQ(run_berth({"simulate", cluster, "--plot", path}, "", closed).exit_code, kError) << path;
  }
  EXPECT_EQ(run_berth({"generate", "--spec", "-", "-o", "/dev/stdout"}, spec_with_a_warning()).exit_code, kDone);
  EXPECT_EQ(run_berth({"schedule", "-f", "/dev/stdin"}, "", "<&-").exit_code, kError);
}

TEST(ClosedDescriptor, OfStandardInputIsAnErrorOfReadingIt) {
  const ProgramRun run = run_berth({"schedule", "-f", "-"}, "", "<&-");
  EXPECT_EQ(run.exit_code, kError);
  EXPECT_NE(run.err.find("berth: -: cannot be read: "), std::string::npos) << run.err;
}

TEST(OutputFile, ThatCannotHoldTheResultIsAnErrorAndKeepsItsOldContent) {
  const std::string spec = write_file("big-spec.yaml", "nodePools: [{name: a, count: 2000, allocatable: {cpu: 1}}]\n");
  for (const char* name : {"limited.json", "limited.json.gz"}) {
    const std::string file = write_file(name, "old");
    // A file size limit of one block; without a guard the signal SIGXFSZ ends the program.
    const ProgramRun run = run_program(
        "/bin/bash", {"-c", "ulimit -f 1; \"$0\" generate --spec '" + spec + "' -o '" + file + "'", BERTH_PROGRAM});
    EXPECT_EQ(run.exit_code, kError) << run.err;
    EXPECT_NE(run.err.find(std::string(name) + ": cannot be written: "), std::string::npos) << run.err;
    EXPECT_EQ(read_file(file), "old") << name;
    const std::string folder = std::filesystem::path(file).parent_path();
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      EXPECT_NE(entry.path().extension(), ".tmp") << "the incomplete file is removed";
  }
}

TEST(OutputFile, OnAFullDeviceIsAnError) {
  for (const char* option : {"-o", "--config-out", "--feature-gates-out"}) {
    const ProgramRun run =
        run_berth({"generate", "--spec", "-", option, "/dev/full"}, "random: {configuration: true}\n", ">/dev/null");
    EXPECT_EQ(run.exit_code, kError) << option;
    EXPECT_EQ(run.err, "berth: /dev/full: cannot be written: No space left on device\n") << option;
  }
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
}

}  // namespace
}  // namespace berth::test
