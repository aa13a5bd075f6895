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
  plugins: {score: {enabled: [{name: VolumeBinding, weight: 9}, {name: NodeResourcesFit, weight: 3}]}}
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
  EXPECT_NE(run.out.find("plugin VolumeBinding is enabled by name"), std::string::npos) << run.out;
  EXPECT_EQ(run_berth({"config", "check", unsupported_by_name(), "--allow-unsupported"}).exit_code, 0);
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
  EXPECT_NE(refused.err.find("VolumeBinding"), std::string::npos) << refused.err;
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

}  // namespace
}  // namespace berth::test
