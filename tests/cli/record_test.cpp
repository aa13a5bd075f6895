// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/cli/program.h"

namespace berth::test {
namespace {

constexpr int kDifferent = 5;

/// A free name in the folder of write_file().
std::string free_name(const std::string& name) {
  std::string path = write_file(name, "");
  std::filesystem::remove(path);
  return path;
}

/// The recorded example.
std::string recorded_example(const std::string& name) {
  std::string path = free_name(name);
  const ProgramRun run = run_berth({"record", "examples/scenario.yaml", "-o", path});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return path;
}

std::string hash_in(const std::string& text) {
  const std::size_t at = text.find(", hash ");
  return at == std::string::npos ? "" : text.substr(at + 7, 32);
}

TEST(RecordCommand, ReplayGivesTheSameHashOnEveryBackendThreadCountAndBatchSize) {
  const std::string path = recorded_example("replayed.db");
  const std::string engine = write_file(
      "small-batches.yaml", "apiVersion: berth.dev/v1alpha1\nkind: BerthEngineConfiguration\nbatchPodsMax: 3\n");
  const std::string hash = hash_in(run_berth({"diff", path, path}).out);
  ASSERT_EQ(hash.size(), 32u);
  for (const char* backend : {"cpu", "reference"}) {
    for (const char* threads : {"1", "2"}) {
      const ProgramRun run = run_berth({"replay", path, "--backend", backend, "--threads", threads});
      EXPECT_EQ(run.exit_code, 0) << run.err;
      EXPECT_NE(run.out.find("Equal: the same decisions"), std::string::npos) << run.out;
      EXPECT_EQ(hash_in(run.out.substr(run.out.find("\nB "))), hash);
    }
  }
  const ProgramRun small = run_berth({"replay", path, "--engine-config", engine});
  EXPECT_EQ(small.exit_code, 0) << small.out << small.err;
  EXPECT_EQ(hash_in(small.out.substr(small.out.find("\nB "))), hash);
}

TEST(RecordCommand, ASimulationOfARecordingIsThatOfItsInputs) {
  const std::string path = recorded_example("simulated.db");
  EXPECT_EQ(run_berth({"simulate", path, "-o", "json"}).out,
            run_berth({"simulate", "examples/scenario.yaml", "-o", "json"}).out);
  const ProgramRun both = run_berth({"simulate", path, "examples/scenario.yaml"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_NE(both.err.find("expected the recording alone"), std::string::npos) << both.err;
}

TEST(RecordCommand, StandardInputIsRecorded) {
  const std::string path = free_name("stdin.db");
  const ProgramRun run = run_berth({"record", "-", "-o", path, "-q"}, small_cluster());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run_berth({"replay", path, "-q"}).exit_code, 0);
}

TEST(RecordCommand, OptionsAreThoseOfTheRecordingUnlessTheyAreGiven) {
  const std::string path = free_name("options.db");
  ASSERT_EQ(run_berth({"record", "examples/scenario.yaml", "-o", path, "--seed", "7", "--tie-break", "random",
                       "--until", "30m"})
                .exit_code,
            0);
  EXPECT_EQ(run_berth({"replay", path}).exit_code, 0);
  const ProgramRun other = run_berth({"replay", path, "--seed", "8"});
  EXPECT_EQ(other.exit_code, kDifferent);
  EXPECT_NE(other.out.find("option.seed: 7 | 8"), std::string::npos) << other.out;
}

TEST(RecordCommand, LimitsOfPreemptionAreRecorded) {
  const std::string path = free_name("limits.db");
  ASSERT_EQ(run_berth({"record", "examples/scenario.yaml", "-o", path, "--evictions-per-minute", "1",
                       "--preemption-nodes", "kube"})
                .exit_code,
            0);
  EXPECT_EQ(run_berth({"replay", path}).exit_code, 0);
  const ProgramRun other = run_berth({"replay", path, "--evictions-per-minute", "0", "--preemption-nodes", "all"});
  EXPECT_NE(other.out.find("option.evictions-per-minute: 1 | 0"), std::string::npos) << other.out;
  EXPECT_NE(other.out.find("option.preemption-nodes: kube | all"), std::string::npos) << other.out;
}

TEST(RecordCommand, DiffExplainsAnotherConfiguration) {
  const std::string path = recorded_example("a.db");
  const std::string config = write_file("most.yaml",
                                        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                                        "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: "
                                        "{type: MostAllocated, resources: [{name: cpu, weight: 1}]}}}]}]\n");
  const std::string other = free_name("b.db");
  const ProgramRun replay = run_berth({"replay", path, "--config", config, "-o", other});
  EXPECT_EQ(replay.exit_code, kDifferent) << replay.err;
  const ProgramRun diff = run_berth({"diff", path, other, "--differences", "2"});
  EXPECT_EQ(diff.exit_code, kDifferent);
  EXPECT_NE(diff.out.find("input: configuration: - | "), std::string::npos) << diff.out;
  EXPECT_NE(diff.out.find("another node: the best total was"), std::string::npos) << diff.out;
  EXPECT_NE(
      diff.out.find("profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.type: - | \"MostAllocated\""),
      std::string::npos)
      << diff.out;
  EXPECT_NE(diff.out.find("why: node node-b: NodeResourcesFit gives 87 x 1 in A, 18 x 1 in B"), std::string::npos)
      << diff.out;
  EXPECT_NE(diff.out.find("The differences after it may all come of it:"), std::string::npos) << diff.out;
  // The configuration travels with the new recording.
  EXPECT_EQ(run_berth({"replay", other}).exit_code, 0);
}

TEST(RecordCommand, DiffNamesTheFieldAndTheVerdictThatDiffer) {
  const std::string path = recorded_example("field-a.db");
  std::string scenario = read_file("examples/scenario.yaml");
  const std::size_t cpu = scenario.find("cpu: 1500m");
  ASSERT_NE(cpu, std::string::npos);
  scenario.replace(cpu, 10, "cpu: 9000m");
  const std::string other = free_name("field-b.db");
  ASSERT_EQ(run_berth({"record", write_file("field.yaml", scenario), "-o", other}).exit_code, 0);
  const ProgramRun diff = run_berth({"diff", path, other});
  EXPECT_NE(diff.out.find(".containers[web].resources.requests.cpu: \"1500m\" | \"9000m\""), std::string::npos)
      << diff.out;
  EXPECT_NE(diff.out.find("why: node node-b: in A it fits; in B NodeResourcesFit refuses it: Insufficient cpu"),
            std::string::npos)
      << diff.out;
}

TEST(RecordCommand, DiffOfAnotherSeedComparesPodsByName) {
  const std::string path = recorded_example("seed-a.db");
  const ProgramRun replay = run_berth({"replay", path, "--seed", "9", "--tie-break", "random"});
  EXPECT_EQ(replay.exit_code, kDifferent);
  EXPECT_EQ(replay.out.find("did nothing of the kind"), std::string::npos) << replay.out;
  EXPECT_NE(replay.out.find("why: every plugin gives both nodes the same in A and in B, and no node is better: the tie "
                            "was broken otherwise"),
            std::string::npos)
      << replay.out;
}

TEST(RecordCommand, ARunThatDoesNotBeginLeavesNoFileAndNamesItsOwnFiles) {
  const std::string path = free_name("none.db");
  const std::string scenario = write_file("bad-cluster.json", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":5}");
  const ProgramRun run = run_berth({"record", scenario, "-o", path});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find(scenario), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("input-"), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RecordCommand, ARecordingIsReplacedOnlyWhenAsked) {
  const std::string path = recorded_example("again.db");
  const ProgramRun refused = run_berth({"record", "examples/scenario.yaml", "-o", path});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("is there already"), std::string::npos) << refused.err;
  EXPECT_EQ(run_berth({"record", "examples/scenario.yaml", "-o", path, "--force"}).exit_code, 0);
  const ProgramRun missing = run_berth({"record", "examples/scenario.yaml", "-o", "/nonexistent/run.db"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_NE(missing.err.find("cannot be written"), std::string::npos) << missing.err;
}

TEST(RecordCommand, AReplayNeverReplacesWhatItReads) {
  const std::string path = recorded_example("input.db");
  for (const char* command : {"replay", "record"}) {
    const ProgramRun run = run_berth({command, path, "-o", path, "--force"});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_NE(run.err.find("the same file"), std::string::npos) << run.err;
  }
  EXPECT_EQ(run_berth({"replay", path}).exit_code, 0);
}

TEST(RecordCommand, TheQueriesOfThePageWork) {
  const std::string path = recorded_example("queries.db");
  const std::string script = write_file("queries.py", R"(
import re, sqlite3, sys
page = open("docs/recordings.md", encoding="utf-8").read()
queries = [query for block in re.findall(r"```sql\n(.*?)```", page, re.S) for query in block.split(";") if query.strip()]
database = sqlite3.connect(sys.argv[1])
for query in queries:
    print(len(database.execute(query).fetchall()))
)");
  const ProgramRun run = run_program("python3", {script, path});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_GE(std::count(run.out.begin(), run.out.end(), '\n'), 3) << run.out;
  EXPECT_EQ(("\n" + run.out).find("\n0\n"), std::string::npos) << "a query of the page finds nothing";
}

}  // namespace
}  // namespace berth::test
