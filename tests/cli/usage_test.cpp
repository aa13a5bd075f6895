// SPDX-License-Identifier: Apache-2.0
// What the command line refuses, and how it says so.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace berth::test {
namespace {

using Arguments = std::vector<std::string>;

Arguments joined(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// A command with what it needs besides the option under test.
struct NumberCommand {
  Arguments words;
  Arguments needed;
};

NumberCommand schedule() { return {{"schedule"}, {"-f", write_file("cluster.yaml", small_cluster())}}; }

std::string spec_file() {
  return write_file("spec.yaml",
                    "version: 1\nnodePools: [{name: pool, count: 2, allocatable: {cpu: 4, memory: 8Gi, pods: 10}}]\n");
}

/// Every command with each of its options that reads a number.
std::vector<std::pair<NumberCommand, std::string>> number_options() {
  const std::string cluster = write_file("cluster.yaml", small_cluster());
  const std::string csv = write_file("list.csv", "");
  std::vector<std::pair<NumberCommand, std::string>> all;
  for (const char* option : {"--seed", "--threads", "--device"}) all.emplace_back(schedule(), option);
  all.push_back({{{"explain"}, {"fits", "-f", cluster}}, "--threads"});
  all.push_back({{{"generate"}, {"--spec", spec_file()}}, "--seed"});
  all.push_back({{{"import", "openb"}, {"--nodes", csv, "--pods", csv}}, "--pods-per-node"});
  for (const char* option : {"--seed", "--threads", "--device", "--spec-seed", "--repeat"})
    all.push_back({{{"bench"}, {"-f", cluster}}, option});
  return all;
}

TEST(Numbers, AreReadInTheSameWayByEveryCommand) {
  for (const auto& [command, option] : number_options()) {
    for (const char* value : {"010", "0x10", "18446744073709551616", "-1", "+1", " 1", "1e3", "1.0", "ten", ""}) {
      const ProgramRun run = run_berth(joined(joined(command.words, {option, value}), command.needed));
      EXPECT_EQ(run.exit_code, 2) << command.words[0] << " " << option << " " << value << run.err;
      const std::string expected = option + ": got \"" + value + "\", expected a whole number from ";
      EXPECT_NE(run.err.find(expected), std::string::npos) << run.err;
    }
  }
}

TEST(Numbers, TheLargestSeedIsTaken) {
  const Arguments seed = {"--seed", "18446744073709551615"};
  EXPECT_EQ(run_berth(joined({"schedule", "-f", "-"}, seed), small_cluster()).exit_code, 0);
  EXPECT_EQ(run_berth(joined({"generate", "--spec", spec_file()}, seed)).exit_code, 0);
}

/// Every option with a value of every command; what is needed besides stands in front.
std::vector<Arguments> options_with_values() {
  std::vector<Arguments> all;
  const auto add = [&](const Arguments& command, const std::vector<std::string>& options) {
    for (const std::string& option : options) all.push_back(joined(command, {option}));
  };
  const std::string cluster = write_file("cluster.yaml", small_cluster());
  add({"schedule", "-f", cluster},
      {"-f", "--config", "--engine-config", "--emulate-version", "--backend", "--seed", "--node-sampling",
       "--tie-break", "--threads", "--device", "--on-device-failure", "--plugin", "-o"});
  add({"explain", "fits", "-f", cluster}, {"-f", "-n", "--config", "--engine-config", "--emulate-version", "-o"});
  add({"config", "check", cluster}, {"--emulate-version", "--node-sampling", "-o"});
  add({"generate"}, {"--spec"});
  add({"generate", "--spec", spec_file()}, {"-o", "--config-out", "--feature-gates-out"});
  add({"import", "openb", "--pods", cluster}, {"--nodes"});
  add({"import", "openb", "--nodes", cluster}, {"--pods"});
  add({"import", "openb", "--nodes", cluster, "--pods", cluster}, {"--gpu-mode", "-o"});
  add({"bench", "-f", cluster}, {"--spec", "-f", "--backends", "--config"});
  add({"version"}, {"-o"});
  return all;
}

TEST(EmptyValues, AreRefusedByEveryOptionInBothSpellings) {
  for (const Arguments& arguments : options_with_values()) {
    const ProgramRun apart = run_berth(joined(arguments, {""}));
    EXPECT_EQ(apart.exit_code, 2) << arguments[0] << " " << arguments.back() << apart.err;
    EXPECT_NE(apart.err.find("got \"\", expected "), std::string::npos) << arguments.back() << ": " << apart.err;
    if (!arguments.back().starts_with("--")) continue;
    Arguments together = arguments;
    together.back() += "=";
    const ProgramRun run = run_berth(together);
    EXPECT_EQ(run.exit_code, 2) << arguments[0] << " " << together.back() << run.err;
    EXPECT_NE(run.err.find("got \"\", expected "), std::string::npos) << together.back() << ": " << run.err;
  }
}

TEST(EmptyValues, DoNotTakeTheNextArgumentForTheValue) {
  const std::string cluster = write_file("cluster.yaml", small_cluster());
  const ProgramRun run = run_berth({"schedule", "-f", cluster, "--config=", cluster});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("--config: got \"\", expected "), std::string::npos) << run.err;
}

TEST(EmptyValues, OfFeatureGatesAndPodsAndConfigurations) {
  EXPECT_EQ(run_berth({"schedule", "-f", "-", "--feature-gates", ""}, small_cluster()).exit_code, 0)
      << "generate --feature-gates-out may write an empty line";
  EXPECT_EQ(run_berth({"explain", "", "-f", "-"}, small_cluster()).exit_code, 2);
  EXPECT_EQ(run_berth({"config", "check", ""}).exit_code, 2);
}

TEST(RepeatedOptions, AreRefusedWhereOneValueIsMeant) {
  for (const Arguments& pair : std::vector<Arguments>{
           {"--seed", "1", "--seed", "2"}, {"-o", "json", "-o", "table"}, {"--config", "a", "--config", "b"}}) {
    const ProgramRun run = run_berth(joined({"schedule", "-f", "-"}, pair), small_cluster());
    EXPECT_EQ(run.exit_code, 2) << pair[0];
    EXPECT_NE(run.err.find("got 2 values, expected it to be given once"), std::string::npos) << run.err;
  }
  EXPECT_EQ(run_berth({"schedule", "-q", "-q", "-f", "-"}, small_cluster()).exit_code, 0);
}

TEST(RepeatedOptions, AddFilesAndBackends) {
  const std::string cluster = write_file("cluster.yaml", small_cluster());
  const std::string pod = write_file("pod.yaml", R"({apiVersion: v1, kind: Pod, metadata: {name: second},
    spec: {containers: [{name: c, image: i}]}})");
  const ProgramRun both = run_berth({"schedule", "-f", cluster, "-f", pod, "-o", "json"});
  ASSERT_EQ(both.exit_code, 0) << both.err;
  EXPECT_NE(both.out.find("default/second"), std::string::npos) << both.out;
  const ProgramRun bench = run_berth({"bench", "--backends", "cpu", "--backends", "reference", "-f", cluster});
  EXPECT_EQ(bench.exit_code, 0) << bench.err;
  EXPECT_NE(bench.out.find("reference"), std::string::npos) << bench.out;
  const ProgramRun twice = run_berth({"bench", "--backends", "cpu,cpu", "-f", cluster});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_NE(twice.err.find("expected each backend once"), std::string::npos) << twice.err;
}

TEST(Files, OfOneOptionMayBeSeveralWhereACommandHasNoArguments) {
  const std::string cluster = write_file("cluster.yaml", small_cluster());
  const std::string pod = write_file("pod.yaml", R"({apiVersion: v1, kind: Pod, metadata: {name: second},
    spec: {containers: [{name: c, image: i}]}})");
  const ProgramRun run = run_berth({"schedule", "-f", cluster, pod, "-o", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("default/second"), std::string::npos) << run.out;
}

TEST(Files, OfExplainTakeAnOptionEachSoThatAPodMayFollow) {
  const std::string cluster = write_file("cluster.yaml", small_cluster());
  const std::string pod = write_file("pod.yaml", R"({apiVersion: v1, kind: Pod, metadata: {name: second},
    spec: {containers: [{name: c, image: i}]}})");
  const ProgramRun run = run_berth({"explain", "-f", cluster, "default/fits", "-f", pod, "second"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("default/fits"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("default/second"), std::string::npos) << run.out;
  const ProgramRun file = run_berth({"explain", "fits", "-f", cluster, pod});
  EXPECT_EQ(file.exit_code, 1);
  EXPECT_NE(file.err.find("is a file: with explain each file takes its own -f"), std::string::npos) << file.err;
}

TEST(Files, MayHaveNamesThatTheParserUsesForLists) {
  const ProgramRun run = run_berth({"schedule", "-f", "{}"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("{}"), std::string::npos) << run.err;
}

TEST(Usage, NamesTheOptionThatIsNotKnownAndTheCommandToAsk) {
  const ProgramRun run = run_berth({"config", "check", "--sed", "x"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("there is no option \"--sed\""), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("run berth config check --help"), std::string::npos) << run.err;
}

TEST(Usage, AnOptionWithoutAValueTakesNone) {
  for (const char* value : {"banana", "", "true"}) {
    const ProgramRun run = run_berth(joined({"schedule", std::string("--strict=") + value}, schedule().needed));
    EXPECT_EQ(run.exit_code, 2) << value;
    EXPECT_EQ(run.err, std::string("berth: --strict: got the value \"") + value +
                           "\", expected none: the option is given or not\n");
  }
  EXPECT_EQ(run_berth(joined({"schedule", "--strict"}, schedule().needed)).exit_code, 0);
}

TEST(Usage, StandardInputHasOneReader) {
  const ProgramRun run = run_berth({"schedule", "--config", "-", "-f", "-"}, small_cluster());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err, "berth: standard input can be read once: got --filename - and --config -\n");
  EXPECT_EQ(run_berth({"import", "openb", "--nodes", "-", "--pods", "-"}).exit_code, 2);
  EXPECT_EQ(run_berth({"generate", "--spec", "-", "-o", "-"}, "nodePools: []\n").exit_code, 0) << "-o is an output";
}

TEST(Seeds, OfGenerateAndBenchGiveTheSameClusterWhenNotGiven) {
  const std::string spec =
      write_file("random.yaml", "version: 1\nrandom: {maxNodes: 30, maxRunningPods: 80, maxPendingPods: 40}\n");
  const ProgramRun made = run_berth({"generate", "--spec", spec});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string cluster = write_file("made.json", made.out);
  const ProgramRun of_file = run_berth({"bench", "--repeat", "1", "-o", "json", "-f", cluster});
  const ProgramRun of_spec = run_berth({"bench", "--repeat", "1", "-o", "json", "--spec", spec});
  ASSERT_EQ(of_file.exit_code, 0) << of_file.err;
  const auto counts = [](const std::string& text) { return text.substr(0, text.find("compileSeconds")); };
  EXPECT_EQ(counts(of_spec.out), counts(of_file.out));
}

}  // namespace
}  // namespace berth::test
