// SPDX-License-Identifier: Apache-2.0

// `--backend cuda` and the device lines of `berth version`, on machines and in builds of every kind.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/schema.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

Json cuda_facts() { return Json::parse(run_berth({"version", "-o", "json"}).out)["cuda"]; }

ProgramRun schedule(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"schedule", "-f", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_berth(arguments, small_cluster());
}

/// A cluster that `bench` takes: -f - is read once.
std::string cluster_file() { return write_file("cluster.yaml", small_cluster()); }

TEST(DeviceFlags, AreEngineOptionsAndStrictlyParsed) {
  EXPECT_EQ(schedule({"--device", "1", "--on-device-failure", "rerun-on-cpu"}).exit_code, 0) << "auto opens none";
  EXPECT_EQ(schedule({"--device", "-1"}).exit_code, 2);
  EXPECT_EQ(schedule({"--device", "first"}).exit_code, 2);
  EXPECT_EQ(schedule({"--device", "99999999999"}).exit_code, 2);
  const ProgramRun run = schedule({"--on-device-failure", "rerunOnCpu"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("got \"rerunOnCpu\", expected stop or rerun-on-cpu"), std::string::npos) << run.err;
}

TEST(DeviceConfiguration, IsReadFromTheEngineFile) {
  const std::string head = "apiVersion: berth.dev/v1alpha1\nkind: BerthEngineConfiguration\n";
  const std::string good =
      write_file("good.yaml", head + "device: {ordinal: 1, memoryBytesMax: 60Gi, onFailure: stop}\n");
  EXPECT_EQ(schedule({"--engine-config", good}).exit_code, 0);
  const ProgramRun bad = schedule({"--engine-config", write_file("bad.yaml", head + "device: {ordinal: x}\n")});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_NE(bad.err.find("device.ordinal: got \"x\", expected an integer"), std::string::npos) << bad.err;
}

TEST(Version, PrintsCudaSupportAndDevices) {
  const Json cuda = cuda_facts();
  const std::string table = run_berth({"version"}).out;
  if (!cuda["built"]) {
    EXPECT_NE(table.find("not in this build"), std::string::npos) << table;
    return;
  }
  EXPECT_FALSE(cuda["version"].get<std::string>().empty());
  EXPECT_FALSE(cuda["architectures"].get<std::string>().empty());
  EXPECT_EQ(cuda["devices"].empty(), cuda.contains("problem")) << cuda;
  if (cuda["devices"].empty()) {
    EXPECT_NE(table.find("none: " + cuda["problem"].get<std::string>()), std::string::npos) << table;
  } else {
    EXPECT_NE(table.find(cuda["devices"][0]["name"].get<std::string>()), std::string::npos) << table;
  }
}

TEST(BuildWithoutCuda, RefusesCudaAndSaysWhatToDo) {
  if (cuda_facts()["built"]) GTEST_SKIP() << "needs a build without CUDA";
  const std::string message =
      "berth: backend: this build has no CUDA backend; build one with `make cuda`, or use auto, cpu or reference\n";
  for (const ProgramRun& run :
       {schedule({"--backend", "cuda"}), schedule({"--backend", "cuda", "--on-device-failure", "rerun-on-cpu"}),
        run_berth({"explain", "--all", "--backend", "cuda", "-f", "-"}, small_cluster()),
        run_berth({"bench", "--backends", "cuda", "-f", cluster_file()})}) {
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.err, message);
    EXPECT_EQ(run.out, "");
  }
  EXPECT_EQ(Json::parse(schedule({"-o", "json"}).out)["backend"]["why"], "this build has no CUDA backend");
}

class CudaBuild : public testing::Test {
 protected:
  void SetUp() override {
    cuda_ = cuda_facts();
    if (!cuda_["built"]) GTEST_SKIP() << "needs a build with CUDA (make cuda-test)";
  }
  bool has_device() const { return !cuda_["devices"].empty(); }
  Json cuda_;
};

class CudaWithoutDevice : public CudaBuild {
 protected:
  void SetUp() override {
    CudaBuild::SetUp();
    if (!IsSkipped() && has_device()) GTEST_SKIP() << "needs a machine without a device";
  }
};

TEST_F(CudaWithoutDevice, TheReasonIsOneLineWithItsOwnExitCode) {
  for (const ProgramRun& run : {schedule({"--backend", "cuda", "-o", "json"}),
                                run_berth({"bench", "--backends", "cpu,cuda", "-f", cluster_file()})}) {
    EXPECT_EQ(run.exit_code, 4);
    EXPECT_EQ(run.out, "") << "nothing is printed as placed";
    EXPECT_EQ(run.err, "berth: " + cuda_["problem"].get<std::string>() + "\n");
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
  }
}

TEST_F(CudaWithoutDevice, FallsBackToCpuWhenAllowedAndReportsIt) {
  const ProgramRun run = schedule({"--backend", "cuda", "--on-device-failure", "rerun-on-cpu", "-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json report = Json::parse(run.out);
  EXPECT_TRUE(matches_schema(report, "schedule-report"));
  EXPECT_EQ(report["backend"]["servedBy"], "cpu");
  const std::string why = "cuda cannot be used: " + cuda_["problem"].get<std::string>() + "; done by cpu";
  EXPECT_EQ(report["backend"]["why"], why);
  EXPECT_EQ(run.err, "berth: warning: " + why + "\n");
  EXPECT_EQ(report["placements"], Json::parse(schedule({"--backend", "cpu", "-o", "json"}).out)["placements"]);
  EXPECT_EQ(schedule({"--backend", "cuda", "--on-device-failure", "rerun-on-cpu", "-q", "-o", "json"}).err, "");
}

TEST_F(CudaBuild, AutoOpensNoDeviceForSmallWork) {
  EXPECT_EQ(Json::parse(schedule({"-o", "json"}).out)["backend"],
            Json::parse(R"({"servedBy":"cpu","why":"3 nodes x 4 kinds of pods is below the gain threshold"})"));
}

TEST_F(CudaBuild, ExplainNeedsNoDevice) {
  const ProgramRun cuda = run_berth({"explain", "--all", "--backend", "cuda", "-f", "-"}, small_cluster());
  EXPECT_EQ(cuda.exit_code, 0) << cuda.err;
  EXPECT_EQ(cuda.out, run_berth({"explain", "--all", "--backend", "cpu", "-f", "-"}, small_cluster()).out);
}

TEST_F(CudaBuild, APresentDeviceIsUsedAndReported) {
  if (!has_device()) GTEST_SKIP() << "needs a device: " << cuda_.value("problem", "none is here");
  const ProgramRun run = schedule({"--backend", "cuda", "-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json report = Json::parse(run.out);
  EXPECT_TRUE(matches_schema(report, "schedule-report"));
  EXPECT_EQ(report["backend"]["servedBy"], "cuda");
  EXPECT_EQ(report["stats"]["device"]["name"], cuda_["devices"][0]["name"]);
  const ProgramRun bench =
      run_berth({"bench", "--backends", "cuda", "--repeat", "1", "-o", "json", "-f", cluster_file()});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  EXPECT_FALSE(Json::parse(bench.out)["runs"][0]["device"]["kernels"].empty());
}

}  // namespace
}  // namespace berth::test
