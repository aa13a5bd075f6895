// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace berth::test {
namespace {

std::string openb_nodes() {
  return write_file("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,2,P100\n");
}
std::string openb_pods() {
  return write_file("pods.csv",
                    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
                    "scheduled_time\np-0,1000,1024,1,500,,LS,Running,0,9,1\n");
}

TEST(ImportOpenb, WritesObjectsThatScheduleReads) {
  const ProgramRun import =
      run_berth({"import", "openb", "--nodes", openb_nodes(), "--pods", openb_pods(), "--gpu-mode", "milli"});
  ASSERT_EQ(import.exit_code, 0) << import.err;
  const ProgramRun schedule = run_berth({"schedule", "-f", "-", "-o", "json"}, import.out);
  ASSERT_EQ(schedule.exit_code, 0) << schedule.err;
  EXPECT_EQ(nlohmann::json::parse(schedule.out)["placements"][0]["node"], "n-0") << schedule.out;
}

TEST(ImportOpenb, RefusesAnUnknownMode) {
  const ProgramRun run =
      run_berth({"import", "openb", "--nodes", openb_nodes(), "--pods", openb_pods(), "--gpu-mode", "device"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("expected card or milli"), std::string::npos) << run.err;
}

TEST(Generate, NamesTheMissingSpec) {
  const ProgramRun run = run_berth({"generate", "--spec", "/nonexistent.yaml"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("/nonexistent.yaml"), std::string::npos) << run.err;
  EXPECT_EQ(run_berth({"generate"}).exit_code, 2);
}

TEST(Generate, WritesTheConfigurationAndGatesThatExplainReads) {
  const std::string spec = write_file("random.yaml", "random: {configuration: true, maxNodes: 4, maxPendingPods: 3}\n");
  const std::string config = write_file("config.json", "");
  const std::string gates = write_file("gates", "");
  const ProgramRun generate =
      run_berth({"generate", "--spec", spec, "--seed", "8", "--config-out", config, "--feature-gates-out", gates});
  ASSERT_EQ(generate.exit_code, 0) << generate.err;
  const std::string line = read_file(gates);
  ASSERT_TRUE(line.ends_with('\n'));
  const std::string gate_text = line.substr(0, line.size() - 1);
  const ProgramRun check = run_berth({"config", "check", config, "--feature-gates", gate_text});
  EXPECT_EQ(check.exit_code, 0) << check.err;
  const ProgramRun explain =
      run_berth({"explain", "--all", "-f", "-", "--config", config, "--feature-gates", gate_text, "-o", "json", "-q"},
                generate.out);
  EXPECT_EQ(explain.exit_code, 0) << explain.err;
}

TEST(Generate, RefusesConfigOutForANonRandomCluster) {
  const std::string spec = write_file("plain.yaml", "nodePools: [{name: a, count: 1}]\n");
  for (const char* option : {"--config-out", "--feature-gates-out"}) {
    const ProgramRun run = run_berth({"generate", "--spec", spec, option, "/nonexistent/file"});
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_NE(run.err.find("random.configuration: expected true"), std::string::npos) << run.err;
    EXPECT_EQ(run.out, "");
  }
}

}  // namespace
}  // namespace berth::test
