// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/schema.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

ProgramRun schedule(std::vector<std::string> more, const std::string& input = small_cluster()) {
  std::vector<std::string> arguments = {"schedule", "-f", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_berth(arguments, input);
}

TEST(Schedule, WritesAReportThatMatchesItsSchema) {
  const ProgramRun run = schedule({"-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json report = Json::parse(run.out);
  EXPECT_TRUE(matches_schema(report, "schedule-report"));
  ASSERT_EQ(report["placements"].size(), 1u) << run.out;
  EXPECT_EQ(report["placements"][0]["pod"], "default/fits");
  EXPECT_EQ(report["placements"][0]["node"], "a");
}

TEST(Schedule, ReportsWhyPodsAreUnplacedOrSkipped) {
  const Json report = Json::parse(schedule({"-o", "json"}).out);
  ASSERT_EQ(report["unplaced"].size(), 2u) << report;
  for (const Json& unplaced : report["unplaced"]) {
    if (unplaced["pod"] == "default/gated") {
      EXPECT_EQ(unplaced["reason"], "SchedulingGated");
    } else {
      EXPECT_EQ(unplaced, Json::parse(R"({"pod":"default/too-big","reason":"Unschedulable","message":
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."})"));
    }
  }
  ASSERT_EQ(report["skipped"].size(), 1u) << report;
  EXPECT_EQ(report["skipped"][0]["pod"], "default/other");
}

TEST(Schedule, TheSchemaRejectsAnUnknownField) {
  Json report = Json::parse(schedule({"-o", "json"}).out);
  report["surprise"] = 1;
  EXPECT_FALSE(matches_schema(report, "schedule-report"));
  report.erase("surprise");
  report["unplaced"][0]["reason"] = "BadLuck";
  EXPECT_FALSE(matches_schema(report, "schedule-report"));
}

TEST(Schedule, ExitsWith3OnlyWithTheOption) {
  EXPECT_EQ(schedule({}).exit_code, 0);
  EXPECT_EQ(schedule({"--fail-unplaced"}).exit_code, 3);
}

TEST(Schedule, PrintsATextReportWithoutColoursToAPipe) {
  const ProgramRun run = schedule({});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.out.find("1 pod placed on 3 nodes, 2 not placed, 1 skipped"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("Utilisation"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(run.err, "") << "no progress bar when piped";
}

TEST(Schedule, NamesEveryPodWhenWide) {
  EXPECT_NE(schedule({"-o", "wide"}).out.find("default/fits  a"), std::string::npos);
}

TEST(Schedule, AcceptsSeveralFilesInOneOrSeveralOptions) {
  const std::string nodes = write_file("nodes.yaml", small_cluster());
  const std::string pods = write_file("pods.json", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"more"},
    "spec":{"containers":[{"name":"c","image":"i"}]}})");
  const ProgramRun one = run_berth({"schedule", "-f", nodes, pods, "-o", "json"});
  const ProgramRun two = run_berth({"schedule", "-f", nodes, "-f", pods, "-o", "json"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(two.exit_code, 0) << two.err;
  EXPECT_EQ(Json::parse(one.out)["placements"], Json::parse(two.out)["placements"]);
  EXPECT_EQ(Json::parse(one.out)["placements"].size(), 2u);
}

TEST(Schedule, GivesTheSamePlacementsForTheSameSeed) {
  const Json first = Json::parse(schedule({"-o", "json", "--seed", "7"}).out);
  EXPECT_EQ(first["seed"], 7);
  EXPECT_EQ(first["placements"], Json::parse(schedule({"-o", "json", "--seed", "7"}).out)["placements"]);
}

TEST(Schedule, FlagsOverrideTheEngineFile) {
  const std::string engine = write_file("engine.yaml", R"(apiVersion: berth.dev/v1alpha1
kind: BerthEngineConfiguration
seed: 5
backend: reference
)");
  const Json from_file = Json::parse(schedule({"-o", "json", "--engine-config", engine}).out);
  EXPECT_EQ(from_file["seed"], 5);
  EXPECT_EQ(from_file["backend"]["servedBy"], "reference");
  const Json from_flag = Json::parse(schedule({"-o", "json", "--engine-config", engine, "--seed", "6"}).out);
  EXPECT_EQ(from_flag["seed"], 6);
}

TEST(Schedule, EveryBackendGivesTheSamePlacements) {
  const Json reference = Json::parse(schedule({"-o", "json", "--backend", "reference"}).out);
  const Json fast = Json::parse(schedule({"-o", "json", "--backend", "cpu"}).out);
  EXPECT_EQ(reference["placements"], fast["placements"]);
  EXPECT_EQ(reference["unplaced"], fast["unplaced"]);
}

TEST(Schedule, ListsEveryInputProblemWithItsLocation) {
  const std::string path = write_file("bad.yaml", R"(apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {priority: high, containers: [{name: c, image: i, resources: {requests: {cpu: lots}}}]}
---
apiVersion: v1
kind: Node
metadata: {name: n}
spec: {taints: [{key: k, effect: 7}]}
)");
  const ProgramRun run = run_berth({"schedule", "-f", path});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "");
  for (const char* part : {"bad.yaml", "spec.priority", "high", "lots", "got 7"}) {
    EXPECT_NE(run.err.find(part), std::string::npos) << part << " in " << run.err;
  }
}

TEST(Schedule, SkipInvalidOmitsAndListsInvalidObjects) {
  const std::string bad = write_file("bad_pod.yaml", R"(apiVersion: v1
kind: Pod
metadata: {name: broken}
spec: {priority: high, containers: []}
)");
  const std::string good = write_file("good.yaml", small_cluster());
  const ProgramRun run = run_berth({"schedule", "-f", good, bad, "--skip-invalid", "-o", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.err.find("broken"), std::string::npos) << run.err;
  EXPECT_EQ(Json::parse(run.out)["placements"].size(), 1u);
}

TEST(Schedule, StrictRefusesWhatAnApiServerWouldRefuse) {
  const std::string pod = R"(---
apiVersion: v1
kind: Pod
metadata: {name: misspelt}
spec: {nodeselector: {a: b}, containers: [{name: c}]}
)";
  const ProgramRun lenient = schedule({}, small_cluster() + pod);
  EXPECT_EQ(lenient.exit_code, 0) << lenient.err;
  EXPECT_NE(lenient.err.find("warning: "), std::string::npos) << lenient.err;
  EXPECT_NE(lenient.err.find("spec.nodeselector (Pod default/misspelt)"), std::string::npos) << lenient.err;
  const ProgramRun strict = schedule({"--strict"}, small_cluster() + pod);
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_NE(strict.err.find("spec.nodeselector (Pod default/misspelt)"), std::string::npos) << strict.err;
}

TEST(Schedule, SkipInvalidDoesNotExcuseAMissingFile) {
  const ProgramRun run = run_berth({"schedule", "-f", "/nonexistent/x.json", "--skip-invalid"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("/nonexistent/x.json"), std::string::npos) << run.err;
}

TEST(Schedule, WarnsAboutUnknownKindsUnlessQuiet) {
  const std::string input = small_cluster() + "---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\n";
  EXPECT_NE(schedule({}, input).err.find("example.com/v1"), std::string::npos);
  EXPECT_EQ(schedule({"-q"}, input).err, "");
}

TEST(Schedule, AnEmptyInputDoesNotCrash) {
  const ProgramRun run = schedule({"-o", "json"}, "");
  EXPECT_TRUE(run.exit_code == 0 || run.exit_code == 1) << run.exit_code << run.err;
}

TEST(Schedule, YamlAndJsonOutputAreEqual) {
  const std::string yaml = schedule({"-o", "yaml"}).out;
  EXPECT_EQ(yaml.rfind("schemaVersion: 1\nbackend:\n  servedBy: ", 0), 0u) << yaml;
  EXPECT_NE(yaml.find("placements:\n  - pod: default/fits\n    node: a\n    score: "), std::string::npos) << yaml;
}

}  // namespace
}  // namespace berth::test
