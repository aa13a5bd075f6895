// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

TEST(ImportOpenb, MakesObjectsThatScheduleReads) {
  const ProgramRun import =
      run_berth({"import", "openb", "--nodes", openb_nodes(), "--pods", openb_pods(), "--gpu-mode", "milli"});
  ASSERT_EQ(import.exit_code, 0) << import.err;
  const ProgramRun schedule = run_berth({"schedule", "-f", "-", "-o", "json"}, import.out);
  ASSERT_EQ(schedule.exit_code, 0) << schedule.err;
  EXPECT_EQ(nlohmann::json::parse(schedule.out)["placements"][0]["node"], "n-0") << schedule.out;
}

TEST(ImportOpenb, RefusesAModeThatIsNone) {
  const ProgramRun run =
      run_berth({"import", "openb", "--nodes", openb_nodes(), "--pods", openb_pods(), "--gpu-mode", "device"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("card|milli"), std::string::npos) << run.err;
}

TEST(Generate, SaysWhichSpecIsMissing) {
  const ProgramRun run = run_berth({"generate", "--spec", "/nonexistent.yaml"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("/nonexistent.yaml"), std::string::npos) << run.err;
  EXPECT_EQ(run_berth({"generate"}).exit_code, 2);
}

}  // namespace
}  // namespace berth::test
