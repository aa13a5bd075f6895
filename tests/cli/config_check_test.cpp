// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

const std::string kHead = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

std::string unsupported_by_name() {
  return write_file("unsupported.yaml", kHead + R"(profiles:
- schedulerName: default-scheduler
  plugins: {score: {enabled: [{name: DynamicResources, weight: 9}, {name: NodeResourcesFit, weight: 3}]}}
)");
}

TEST(ConfigCheck, PrintsPluginsWithWeightAndSupport) {
  const std::string path = write_file("config.yaml", kHead);
  const ProgramRun run = run_berth({"config", "check", path});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* part :
       {"Profile default-scheduler", "TaintToleration", "exact", "unsupported", "percentageOfNodesToScore"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part << " in " << run.out;
  }
}

TEST(ConfigCheck, PrintsTheSameAsJson) {
  const std::string path = write_file("config.yaml", kHead);
  const ProgramRun run = run_berth({"config", "check", path, "-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json check = Json::parse(run.out);
  EXPECT_EQ(check["refusals"], Json::array());
  bool found = false;
  for (const Json& plugin : check["profiles"][0]["plugins"]) {
    found =
        found || plugin == Json::parse(R"({"point":"score","plugin":"TaintToleration","weight":3,"support":"exact"})");
  }
  EXPECT_TRUE(found) << run.out;
}

TEST(ConfigCheck, FailsForAnUnsupportedPlugin) {
  const ProgramRun run = run_berth({"config", "check", unsupported_by_name()});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.out.find("plugin DynamicResources is enabled by name"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("A run with this file is refused"), std::string::npos) << run.out;
  const ProgramRun allowed = run_berth({"config", "check", unsupported_by_name(), "--allow-unsupported"});
  EXPECT_EQ(allowed.exit_code, 0);
  EXPECT_EQ(allowed.out.find("is refused"), std::string::npos) << allowed.out;
  EXPECT_NE(allowed.out.find("Left out of a run with --allow-unsupported\n"), std::string::npos) << allowed.out;
}

TEST(ConfigCheck, ListsEveryProblemWithItsPath) {
  const std::string path = write_file("wrong.yaml", kHead + "parallelism: -1\nsurprise: 1\n");
  const ProgramRun run = run_berth({"config", "check", path});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("parallelism"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("surprise"), std::string::npos) << run.err;
}

TEST(Startup, RefusesAnExplicitlyEnabledUnsupportedPlugin) {
  const ProgramRun refused = run_berth({"schedule", "-f", "-", "--config", unsupported_by_name()}, small_cluster());
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("DynamicResources"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--allow-unsupported"), std::string::npos) << refused.err;
  const ProgramRun allowed =
      run_berth({"schedule", "-f", "-", "--config", unsupported_by_name(), "--allow-unsupported"}, small_cluster());
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
  EXPECT_NE(allowed.err.find("warning"), std::string::npos) << allowed.err;
}

TEST(Startup, RefusesExtenders) {
  const std::string path = write_file("extender.yaml", kHead + R"(extenders:
- urlPrefix: http://127.0.0.1:1/x
  filterVerb: filter
)");
  const ProgramRun run = run_berth({"schedule", "-f", "-", "--config", path}, small_cluster());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("extender http://127.0.0.1:1/x"), std::string::npos) << run.err;
}

TEST(Startup, AcceptsDefaultPluginsThatAreNotBuilt) {
  const std::string path = write_file("config.yaml", kHead);
  EXPECT_EQ(run_berth({"schedule", "-f", "-", "--config", path}, small_cluster()).exit_code, 0);
}

std::string with_out_of_tree_plugins() {
  return write_file("coscheduling.yaml", kHead + R"(profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}
    score: {enabled: [{name: Trimaran, weight: 5}]}
  pluginConfig:
  - {name: Coscheduling, args: {permitWaitingTimeSeconds: 10}}
)");
}

TEST(OutOfTreePlugins, AreRefusedByNameWithTheOptionThatAllowsThem) {
  const ProgramRun run = run_berth({"schedule", "-f", "-", "--config", with_out_of_tree_plugins()}, small_cluster());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("line 6, profiles[0].plugins.multiPoint.enabled[0]: unknown plugin \"Coscheduling\""),
            std::string::npos)
      << run.err;
  EXPECT_NE(run.err.find("unknown plugin \"Trimaran\""), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("--allow-unsupported"), std::string::npos) << run.err;
}

TEST(OutOfTreePlugins, PassWithAllowUnsupportedAndAWarningEach) {
  const std::vector<std::string> arguments = {
      "schedule", "-f", "-", "--allow-unsupported", "--config", with_out_of_tree_plugins()};
  const ProgramRun run = run_berth(arguments, small_cluster());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto warning = run.err.find("warning: ");
  ASSERT_NE(warning, std::string::npos) << run.err;
  EXPECT_NE(run.err.find("\"Coscheduling\""), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("\"Trimaran\""), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("\"Coscheduling\"", run.err.find("\"Coscheduling\"") + 1), std::string::npos)
      << "said once although three places name it: " << run.err;
  std::vector<std::string> quiet = arguments;
  quiet.push_back("-q");
  EXPECT_EQ(run_berth(quiet, small_cluster()).err, "");
}

TEST(OutOfTreePlugins, AreMarkedByConfigCheck) {
  const ProgramRun table = run_berth({"config", "check", with_out_of_tree_plugins()});
  EXPECT_EQ(table.exit_code, 1);
  EXPECT_NE(table.out.find("not in-tree: left out"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("PrioritySort runs in profile default-scheduler"), std::string::npos) << table.out;
  const ProgramRun run =
      run_berth({"config", "check", with_out_of_tree_plugins(), "--allow-unsupported", "-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json check = Json::parse(run.out);
  EXPECT_EQ(check["refusals"].size(), 2u) << run.out;
  std::vector<std::string> points;
  for (const Json& plugin : check["profiles"][0]["plugins"]) {
    if (plugin["plugin"] == "Coscheduling" || plugin["plugin"] == "Trimaran") {
      EXPECT_EQ(plugin["support"], "unsupported");
      points.push_back(plugin["point"]);
    }
  }
  EXPECT_EQ(points, (std::vector<std::string>{"multiPoint", "score", "pluginConfig"}));
}

TEST(GatesOfOtherComponents, AreRefusedByNameOrPassWithAWarning) {
  const std::vector<std::string> arguments = {"schedule", "-f", "-", "--feature-gates",
                                              "KubeletInUserNamespace=true,StorageCapacityScoring=true"};
  const ProgramRun refused = run_berth(arguments, small_cluster());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("\"KubeletInUserNamespace\""), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--allow-unsupported"), std::string::npos) << refused.err;
  std::vector<std::string> allowed = arguments;
  allowed.push_back("--allow-unsupported");
  const ProgramRun run = run_berth(allowed, small_cluster());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.err.find("warning: feature gate \"KubeletInUserNamespace\""), std::string::npos) << run.err;
  const ProgramRun check = run_berth({"config", "check", write_file("config.yaml", kHead), "--allow-unsupported",
                                      "--feature-gates", "KubeletInUserNamespace=true", "-o", "json"});
  EXPECT_NE(check.out.find("feature gate KubeletInUserNamespace is not one of the scheduler"), std::string::npos)
      << check.out;
}

TEST(GangScheduling, IsRefusedByNameWhereverAConfigurationIsRead) {
  const std::string config = write_file("config.yaml", kHead);
  for (std::vector<std::string> arguments : {std::vector<std::string>{"config", "check", config},
                                             {"schedule", "-f", "-"},
                                             {"simulate", "-"},
                                             {"explain", "fits", "-f", "-"},
                                             {"schedule", "-f", "-", "--allow-unsupported"}}) {
    arguments.insert(arguments.end(), {"--feature-gates", "GenericWorkload=true,GangScheduling=true"});
    const ProgramRun run = run_berth(arguments, small_cluster());
    EXPECT_EQ(run.exit_code, 1) << arguments.front() << ": " << run.err;
    for (const char* const gate : {"GenericWorkload", "GangScheduling"})
      EXPECT_NE(run.err.find(std::string(gate) + ": got true, but gang scheduling is not built"), std::string::npos)
          << arguments.front() << ": " << run.err;
  }
}

TEST(OldConfigurations, GetAHintHowToMigrate) {
  const std::string path =
      write_file("old.yaml", "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n");
  const ProgramRun run = run_berth({"schedule", "-f", "-", "--config", path}, small_cluster());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("to migrate from v1beta3, write apiVersion kubescheduler.config.k8s.io/v1"), std::string::npos)
      << run.err;
}

}  // namespace
}  // namespace berth::test
