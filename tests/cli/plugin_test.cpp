// SPDX-License-Identifier: Apache-2.0
// --plugin, with the plugin of examples/plugin.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/cli/schema.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

const std::string kExample = "examples/plugin/";

/// Of `command`, with the plugin and its configuration in front of `more`.
ProgramRun run_with_plugin(const std::string& command, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {command, "--plugin", BERTH_LICENSES_PLUGIN, "--config",
                                        kExample + "scheduler.yaml"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_berth(arguments);
}

TEST(Plugin, ItsPodsArePlacedNominatedAndPreemptedFor) {
  const ProgramRun run =
      run_with_plugin("schedule", {"-f", kExample + "cluster.json", kExample + "pods.json", "-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json report = Json::parse(run.out);
  EXPECT_TRUE(matches_schema(report, "schedule-report"));
  ASSERT_EQ(report["placements"].size(), 2u) << report;
  EXPECT_EQ(report["placements"][0]["pod"], "default/takes-last");
  EXPECT_EQ(report["placements"][0]["node"], "many");
  EXPECT_EQ(report["placements"][1]["pod"], "default/evicts");
  EXPECT_EQ(report["placements"][1]["node"], "few");
  EXPECT_EQ(report["placements"][1]["preempted"], Json::array({"default/holds-one"}));
  EXPECT_NE(report["unplaced"].dump().find("3 node(s) did not offer enough licenses"), std::string::npos);
}

TEST(Plugin, PodsAreNominatedWhereItsVerdictAllowsIt) {
  const ProgramRun run = run_with_plugin(
      "schedule", {"-f", kExample + "cluster.json", kExample + "pods.json", "--preemption", "nominate", "-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json report = Json::parse(run.out);
  ASSERT_EQ(report["unplaced"].size(), 2u) << report;
  EXPECT_EQ(report["unplaced"][0]["pod"], "default/evicts");
  EXPECT_EQ(report["unplaced"][0]["nominatedNode"], "few");
}

TEST(Plugin, IsExplained) {
  const ProgramRun run = run_with_plugin(
      "explain", {"-f", kExample + "cluster.json", "-f", kExample + "pods.json", "default/takes-last", "-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("node(s) had no free license"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("\"Licenses\""), std::string::npos) << run.out;
}

TEST(Plugin, TakesPartInASimulation) {
  const ProgramRun run = run_with_plugin("simulate", {kExample + "cluster.json", kExample + "pods.json", "-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json report = Json::parse(run.out);
  std::string places;
  for (const Json& pod : report["pods"])
    places +=
        pod["pod"].get<std::string>() + " " + pod.value("node", "-") + " " + pod["outcome"].get<std::string>() + "\n";
  EXPECT_EQ(places,
            "default/evicts few running\ndefault/holds-one few preempted\ndefault/holds-three many running\n"
            "default/takes-last many running\ndefault/too-many - pending\n");
}

TEST(Plugin, ThatCannotBeLoadedIsNamed) {
  const ProgramRun run = run_berth({"schedule", "--plugin", "nowhere.so", "-f", kExample + "cluster.json"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("nowhere.so: cannot be loaded as a plugin: "), std::string::npos) << run.err;
  const ProgramRun text = run_berth({"schedule", "--plugin", kExample + "licenses.c", "-f", kExample + "cluster.json"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_NE(text.err.find("licenses.c: cannot be loaded as a plugin: "), std::string::npos) << text.err;
}

TEST(Plugin, ThatNoProfileEnablesIsRefused) {
  const ProgramRun run = run_berth({"schedule", "--plugin", BERTH_LICENSES_PLUGIN, "-f", kExample + "cluster.json"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("no profile enables plugin Licenses"), std::string::npos) << run.err;
}

TEST(Plugin, ArgumentsThatItRefusesAreAnErrorWithItsReason) {
  const std::string config = write_file("arguments.yaml",
                                        "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                        "kind: KubeSchedulerConfiguration\n"
                                        "profiles:\n"
                                        "  - plugins: {filter: {enabled: [{name: Licenses}]}}\n"
                                        "    pluginConfig: [{name: Licenses, args: {prefer: cheap}}]\n");
  const ProgramRun run =
      run_berth({"schedule", "--plugin", BERTH_LICENSES_PLUGIN, "--config", config, "-f", kExample + "cluster.json"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("plugin Licenses: expected the arguments {}"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace berth::test
