// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace berth::test {
namespace {

/// A workload file with a case that runs, one that needs devices, and one whose pods cannot be scheduled.
std::string workload_file() {
  return write_file("performance-config.yaml", R"(
- name: Basic
  labels: [small]
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes}
  - {opcode: createPods, countParam: $pods, collectMetrics: true}
  workloads:
  - {name: 2Nodes, labels: [quick], threshold: 1, featureGates: {SchedulerQueueingHints: false}, params: {nodes: 2, pods: 10}}
  - {name: 3Nodes, threshold: 1000000000, params: {nodes: 3, pods: 20}}
- name: Devices
  labels: [devices]
  workloadTemplate:
  - {opcode: createResourceDriver, driverName: d}
  - {opcode: createPods, count: 1, collectMetrics: true}
  workloads: [{name: Any}]
)");
}

std::string last_line(const std::string& text) {
  const std::size_t before = text.rfind('\n', text.size() - 2);
  return text.substr(before + 1);
}

TEST(Perf, RunsWorkloadsAndListsWhatItSkips) {
  const ProgramRun run = run_berth({"perf", "--config", workload_file(), "--rate-factor", "100"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("reached, hints on"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("skipped: Devices/Any: needs the operation createResourceDriver\n"), std::string::npos)
      << run.out;
  EXPECT_EQ(last_line(run.out), "perf: 2 workloads run, 1 skipped, 1 below threshold\n");
}

TEST(Perf, AScaledWorkloadHasMorePodsOnTheSameNodes) {
  const ProgramRun run =
      run_berth({"perf", "--config", workload_file(), "--name", "Basic/2Nodes", "--scale", "50", "-o", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json workload = nlohmann::json::parse(run.out)["workloads"][0];
  EXPECT_EQ(workload["measurements"][0]["pods"], 500) << "2 nodes of the file hold 80";
  EXPECT_EQ(run_berth({"perf", "--config", workload_file(), "--scale", "0"}).exit_code, 2);
}

TEST(Perf, DumpsTheClusterOfEachMeasurement) {
  const std::string file = write_file("two-namespaces.yaml", R"(
- name: Two
  workloadTemplate:
  - {opcode: createNodes, count: 3}
  - {opcode: createPods, count: 4}
  - {opcode: createPods, count: 5, collectMetrics: true}
  workloads: [{name: "A/b:c"}]
)");
  const std::string folder = file.substr(0, file.rfind('/'));
  ASSERT_EQ(run_berth({"perf", "--config", file, "--dump", folder}).exit_code, 0);
  const ProgramRun run = run_berth({"schedule", "-q", "-o", "json", "-f", folder + "/Two_A_b_c__namespace-2.json.gz"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json report = nlohmann::json::parse(run.out);
  EXPECT_EQ(report["placements"].size(), 5u) << "the measured pods are pending";
  EXPECT_EQ(report["stats"]["nodes"], 3);
  const ProgramRun found =
      run_berth({"simulate", folder + "/Two_A_b_c__namespace-2.json.gz", "--until", "0s", "-o", "json"});
  EXPECT_EQ(nlohmann::json::parse(found.out)["summary"]["running"], 9) << "four were on nodes before";
}

TEST(Perf, AConfigurationThatCannotBeRunEndsOnlyItsOwnWorkloads) {
  const std::string config = write_file("extenders.yaml", R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: [{urlPrefix: "http://extender", filterVerb: filter}]
)");
  const std::string file = write_file("configured.yaml", R"(
- name: Extended
  schedulerConfigPath: )" + config.substr(config.rfind('/') + 1) +
                                                             R"(
  workloadTemplate: [{opcode: createNodes, count: 1}, {opcode: createPods, count: 1, collectMetrics: true}]
  workloads: [{name: Any}]
- name: Plain
  workloadTemplate: [{opcode: createNodes, count: 1}, {opcode: createPods, count: 1, collectMetrics: true}]
  workloads: [{name: Any}]
)");
  const ProgramRun run = run_berth({"perf", "--config", file});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("skipped: Extended/Any: needs what "), std::string::npos) << run.out;
  EXPECT_EQ(last_line(run.out), "perf: 1 workloads run, 1 skipped, 0 below threshold\n");
}

TEST(Perf, SelectsByLabelAndName) {
  const std::string file = workload_file();
  EXPECT_EQ(run_berth({"perf", "--config", file, "--label", "small,-quick"}).out.find("Basic/2Nodes"),
            std::string::npos);
  EXPECT_EQ(last_line(run_berth({"perf", "--config", file, "--name", "^Basic/2"}).out),
            "perf: 1 workloads run, 0 skipped, 0 below threshold\n");
  EXPECT_EQ(run_berth({"perf", "--config", file, "--label", "nothing"}).out,
            "perf: 0 workloads run, 0 skipped, 0 below threshold\n");
}

TEST(Perf, NoExpressionForNamesTakesExponentialTime) {
  const std::string file = write_file("names.yaml", "- name: " + std::string(200, 'a') + R"(
  workloadTemplate: [{opcode: createNodes, count: 1}, {opcode: createPods, count: 1, collectMetrics: true}]
  workloads: [{name: Any}]
)");
  for (const char* pattern : {"(a*)*b", "^(a+)+$", "(a|aa)+$"})
    EXPECT_EQ(run_berth({"perf", "--config", file, "--name", pattern}).out,
              "perf: 0 workloads run, 0 skipped, 0 below threshold\n")
        << pattern;
}

TEST(Perf, WritesTheMetricsOfEachWorkload) {
  const std::string path = write_file("metrics.txt", "");
  const ProgramRun run = run_berth({"perf", "--config", workload_file(), "--metrics-out", path});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string text = read_file(path);
  for (const char* sample : {"workload=\"Basic/2Nodes\"} 10\n", "workload=\"Basic/3Nodes\"} 20\n"})
    EXPECT_NE(text.find(std::string("\nscheduler_pod_scheduling_attempts_count{") + sample), std::string::npos)
        << sample;
  EXPECT_EQ(text.find("Devices"), std::string::npos) << "what is skipped has no metrics";
  EXPECT_EQ(text.find("# TYPE scheduler_schedule_attempts_total"),
            text.rfind("# TYPE scheduler_schedule_attempts_total"));
  EXPECT_NE(run_berth({"perf", "--config", workload_file(), "--metrics-out", "-"}).out.find("# HELP scheduler_"),
            std::string::npos);
  const ProgramRun bad = run_berth({"perf", "--config", workload_file(), "--metrics-out", "/nowhere/metrics.txt"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_NE(bad.err.find("berth: /nowhere/metrics.txt: cannot be written"), std::string::npos) << bad.err;
}

TEST(Perf, WritesTheFormOfUpstreamAndItsOwnList) {
  const ProgramRun run = run_berth({"perf", "--config", workload_file(), "-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["version"], "v1");
  const nlohmann::json& item = document["dataItems"][0];
  EXPECT_EQ(item["labels"]["Name"], "Basic/2Nodes/namespace-1");
  EXPECT_EQ(item["labels"]["Metric"], "PodsPerElapsedSecond");
  EXPECT_EQ(item["unit"], "pods/s");
  EXPECT_GT(item["data"]["Average"].get<double>(), 0);
  const nlohmann::json& workload = document["workloads"][0];
  EXPECT_EQ(workload["hintsOn"], true);
  EXPECT_EQ(workload["measurements"][0]["pods"], 10);
  EXPECT_EQ(document["workloads"][2]["needs"], "the operation createResourceDriver");
}

TEST(Perf, FailsWhenAWorkloadDoesNotEnd) {
  const std::string file = write_file("stuck.yaml", R"(
- name: Stuck
  workloadTemplate:
  - {opcode: barrier, namespaces: [nowhere]}
  - {opcode: createPods, count: 1, collectMetrics: true}
  workloads: [{name: Any}]
)");
  const ProgramRun run = run_berth({"perf", "--config", file});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.out.find("failed: Stuck/Any: operation 0: the namespace nowhere is not known\n"), std::string::npos);
  EXPECT_EQ(last_line(run.out), "perf: 0 workloads run, 0 skipped, 0 below threshold, 1 failed\n");
}

TEST(Perf, NamesWhatIsWrongOnTheCommandLineAndInTheFile) {
  EXPECT_EQ(run_berth({"perf"}).exit_code, 2);
  const ProgramRun pattern = run_berth({"perf", "--config", workload_file(), "--name", "(("});
  EXPECT_EQ(pattern.exit_code, 2);
  EXPECT_NE(pattern.err.find("--name: got \"((\", expected"), std::string::npos) << pattern.err;
  EXPECT_EQ(run_berth({"perf", "--config", workload_file(), "--name", "(a)\\1"}).exit_code, 2) << "a back reference";
  const ProgramRun file = run_berth({"perf", "--config", write_file("bad.yaml", "- name: A\n  ops: []\n")});
  EXPECT_EQ(file.exit_code, 1);
  EXPECT_NE(file.err.find("[0].ops: unknown field"), std::string::npos) << file.err;
  EXPECT_EQ(run_berth({"perf", "--config", "/nonexistent.yaml"}).exit_code, 1);
}

}  // namespace
}  // namespace berth::test
