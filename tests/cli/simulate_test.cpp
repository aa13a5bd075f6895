// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/schema.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

const std::string kHead = "apiVersion: berth.dev/v1alpha1\nkind: BerthScenario\n";

/// Pods that wait for one another on one core.
std::string busy_scenario() {
  return write_file("busy.yaml",
                    kHead +
                        "actions:\n- at: 0s\n  create: [{apiVersion: v1, kind: Node, metadata: {name: n1}, status: "
                        "{allocatable: {cpu: 1, memory: 1Gi, pods: 10}}}]\n- {at: 5s, delete: [{kind: Pod, name: "
                        "none}]}\narrivals: [{every: 10s, count: 3, runDuration: 30s, template: {apiVersion: v1, "
                        "kind: Pod, metadata: {name: job}, spec: {containers: [{name: c, resources: {requests: "
                        "{cpu: 1}}}]}}}]\n");
}

TEST(SimulateCommand, TheJsonReportHasTheFormOfItsSchema) {
  const ProgramRun run = run_berth({"simulate", busy_scenario(), "-o", "json", "--interval", "0s"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const Json report = Json::parse(run.out);
  EXPECT_TRUE(matches_schema(report, "simulate-report"));
  EXPECT_EQ(report["start"], "2026-01-01T00:00:00Z");
  EXPECT_EQ(report["end"], "quiet");
  EXPECT_EQ(report["endSeconds"], 90);
  EXPECT_EQ(report["summary"]["finished"], 3);
  EXPECT_EQ(report["summary"]["waitSeconds"]["max"], 40);
  EXPECT_EQ(report["summary"]["meanUtilisation"]["cpu"], 1.0);
  ASSERT_EQ(report["pods"].size(), 3u);
  EXPECT_EQ(report["pods"][1],
            Json::parse(R"({"pod":"default/job-1","outcome":"finished","node":"n1","arrivedSeconds":10,)"
                        R"("placedSeconds":30,"endedSeconds":60})"));
  ASSERT_EQ(report["failedActions"].size(), 1u);
  EXPECT_EQ(report["failedActions"][0],
            Json::parse(R"({"seconds":5,"action":"actions[1]","message":"pods \"none\" not found"})"));
}

TEST(SimulateCommand, TheExampleGivesTheSameBytesOnEveryBackendAndThreadCount) {
  const ProgramRun first = run_berth({"simulate", "examples/scenario.yaml", "-o", "json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(matches_schema(Json::parse(first.out), "simulate-report"));
  EXPECT_GT(Json::parse(first.out)["summary"]["preempted"], 0);
  for (const char* backend : {"cpu", "reference"}) {
    for (const char* threads : {"1", "2"}) {
      const ProgramRun run =
          run_berth({"simulate", "examples/scenario.yaml", "-o", "json", "--backend", backend, "--threads", threads});
      EXPECT_EQ(run.out, first.out) << backend << " " << threads;
    }
  }
}

/// Four full nodes, and four pods of higher priority after ten seconds.
std::string scenario_with_preemptors() {
  const auto pods_at = [](const std::string& time, const std::string& name, int priority) {
    std::string text = "- at: " + time + "\n  create:\n";
    for (int i = 0; i < 4; ++i)
      text += "  - {apiVersion: v1, kind: Pod, metadata: {name: " + name + std::to_string(i) +
              "}, spec: {priority: " + std::to_string(priority) +
              ", containers: [{name: c, resources: {requests: {cpu: 1}}}]}}\n";
    return text;
  };
  std::string nodes = "- at: 0s\n  create:\n";
  for (const std::string name : {"a", "b", "c", "d"})
    nodes += "  - {apiVersion: v1, kind: Node, metadata: {name: " + name +
             "}, status: {allocatable: {cpu: 1, memory: 4Gi, pods: 10}}}\n";
  return write_file("preemptors.yaml",
                    kHead + "until: 10m\nactions:\n" + nodes + pods_at("1s", "low", 0) + pods_at("10s", "high", 9));
}

TEST(SimulateCommand, EvictionsAMinuteAreLimited) {
  const std::string path = scenario_with_preemptors();
  const auto preempted_by = [&](const std::string& until, const std::string& limit) -> int {
    const ProgramRun run =
        run_berth({"simulate", path, "-o", "json", "-q", "--until", until, "--evictions-per-minute", limit});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return Json::parse(run.out)["summary"]["preempted"];
  };
  EXPECT_EQ(preempted_by("60s", "0"), 4);
  EXPECT_EQ(preempted_by("60s", "3"), 3);
  EXPECT_EQ(preempted_by("60s", "1"), 1);
  EXPECT_EQ(preempted_by("75s", "1"), 2);
  EXPECT_EQ(preempted_by("10m", "1"), 4);
}

TEST(SimulateCommand, NodesForAPreemptorMayBeDrawn) {
  const std::string path = scenario_with_preemptors();
  const std::string one_candidate =
      write_file("few.yaml",
                 "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: "
                 "[{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 0, "
                 "minCandidateNodesAbsolute: 1}}]}]\n");
  const auto pods_with = [&](const std::string& nodes, const std::string& seed) {
    const ProgramRun run = run_berth({"simulate", path, "-o", "json", "-q", "--config", one_candidate, "--tie-break",
                                      "first", "--preemption-nodes", nodes, "--seed", seed});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return Json::parse(run.out)["pods"];
  };
  const Json all = pods_with("all", "1");
  EXPECT_EQ(pods_with("all", "2"), all);
  EXPECT_NE(pods_with("kube", "1"), pods_with("kube", "2"));
}

TEST(SimulateCommand, TheTextReportSaysWhatHappened) {
  const ProgramRun run = run_berth({"simulate", busy_scenario(), "-o", "wide"});
  EXPECT_NE(run.out.find("3 pods arrived, 3 placed, 0 waiting at the end"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("Time line, in steps of 2s"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("Refused by the API: 1 action"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("default/job-2  finished"), std::string::npos) << run.out;
}

TEST(SimulateCommand, ADumpIsSimulatedUntilNothingHappens) {
  const ProgramRun run = run_berth({"simulate", "-", "-o", "json", "-q", "--run-duration", "1h"}, small_cluster());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json report = Json::parse(run.out);
  EXPECT_TRUE(matches_schema(report, "simulate-report"));
  EXPECT_EQ(report["summary"]["finished"], 3) << "the big one fits when the others have ended";
  ASSERT_EQ(report["waiting"].size(), 2u);
  EXPECT_EQ(report["waiting"][0]["reason"], "SchedulingGated");
  EXPECT_EQ(report["waiting"][1]["reason"], "") << "the pod of another scheduler";
}

TEST(SimulateCommand, AScenarioRunsOnTheClusterOfADump) {
  const std::string cluster = write_file("cluster.yaml", small_cluster());
  const std::string scenario = write_file("scenario.yaml", kHead + "until: 1h\n");
  const ProgramRun run = run_berth({"simulate", cluster, scenario, "-o", "json", "--until", "2h"});
  const Json report = Json::parse(run.out);
  EXPECT_EQ(report["summary"]["nodes"], 3);
  EXPECT_EQ(report["endSeconds"], 7200) << "the option wins";
  const std::string beside = write_file("beside.yaml", kHead + "until: 1h\nclusters: [cluster.yaml]\n");
  EXPECT_EQ(Json::parse(run_berth({"simulate", beside, "-o", "json"}).out)["summary"]["nodes"], 3);
}

/// Of the text of metrics; -1 where there is none.
double metric_of(const std::string& text, const std::string& sample) {
  const std::size_t at = text.find("\n" + sample + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + sample.size() + 2));
}

TEST(SimulateCommand, TheMetricsAgreeWithTheReport) {
  const std::string path = write_file("metrics.txt", "");
  const ProgramRun run = run_berth({"simulate", "examples/scenario.yaml", "-o", "json", "--metrics-out", path});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json summary = Json::parse(run.out)["summary"];
  const std::string text = read_file(path);
  const std::string attempts = "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"";
  EXPECT_EQ(metric_of(text, attempts + "scheduled\"}"), summary["placed"]);
  EXPECT_EQ(metric_of(text, attempts + "unschedulable\"}"), summary["failedAttempts"]);
  EXPECT_GE(metric_of(text, "scheduler_preemption_victims_sum"), summary["preempted"])
      << "victims that leave already are counted, and not evicted again";
  EXPECT_GT(metric_of(text, "scheduler_preemption_victims_sum"), 0);
  EXPECT_EQ(metric_of(text, "scheduler_pending_pods{queue=\"unschedulable\"}"), summary["pending"]);
  EXPECT_EQ(metric_of(text, "scheduler_cache_size{type=\"nodes\"}"), summary["nodes"]);
}

TEST(SimulateCommand, TheMetricsAreWritten) {
  const std::string path = write_file("metrics.txt", "");
  const ProgramRun plain = run_berth({"simulate", busy_scenario(), "-o", "json"});
  const ProgramRun run = run_berth({"simulate", busy_scenario(), "-o", "json", "--metrics-out", path});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, plain.out);
  EXPECT_NE(read_file(path).find("\nscheduler_pod_scheduling_attempts_count 3\n"), std::string::npos);
  const ProgramRun bad = run_berth({"simulate", busy_scenario(), "--metrics-out", "/nowhere/metrics.txt"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_NE(bad.err.find("berth: /nowhere/metrics.txt: cannot be written"), std::string::npos) << bad.err;
}

TEST(SimulateCommand, ThePlotIsWritten) {
  const std::string path = write_file("plot.svg", "");
  ASSERT_EQ(run_berth({"simulate", busy_scenario(), "--plot", path}).exit_code, 0);
  EXPECT_TRUE(read_file(path).starts_with("<svg "));
  const ProgramRun bad = run_berth({"simulate", busy_scenario(), "--plot", "/nowhere/plot.svg"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_NE(bad.err.find("berth: /nowhere/plot.svg: cannot be written"), std::string::npos) << bad.err;
}

TEST(SimulateCommand, BadInputIsRefused) {
  const std::string bad = write_file("bad.yaml", kHead + "untill: 1h\n");
  const ProgramRun run = run_berth({"simulate", bad});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_NE(run.err.find("bad.yaml: line 3, untill: unknown field"), std::string::npos) << run.err;
  EXPECT_EQ(run_berth({"simulate", "/nowhere.yaml"}).exit_code, 1);
  EXPECT_EQ(run_berth({"simulate"}).exit_code, 2);
  EXPECT_EQ(run_berth({"simulate", busy_scenario(), "--until", "1 day"}).exit_code, 2);
  EXPECT_EQ(run_berth({"simulate", busy_scenario(), "--until", "876001h"}).exit_code, 2);
  const ProgramRun twice = run_berth({"simulate", busy_scenario(), write_file("other.yaml", kHead)});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_NE(twice.err.find("expected one at most"), std::string::npos) << twice.err;
}

TEST(SimulateCommand, ForeignTextReachesNoTerminal) {
  const std::string scenario = write_file(
      "foreign.yaml", kHead +
                          "actions: [{at: 0s, create: [{apiVersion: v1, kind: Pod, metadata: {name: \"a\\e[31m\"}, "
                          "spec: {containers: [{name: c}]}}], delete: [{kind: Node, name: \"x\\e[2J\"}]}]\n");
  const ProgramRun run = run_berth({"simulate", scenario, "-o", "wide"});
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(run.err.find('\x1b'), std::string::npos);
  EXPECT_NE(run.out.find("default/a\\x1b[31m"), std::string::npos) << run.out;
}

TEST(SimulateCommand, ATraceRunsFromItsBeginning) {
  const std::string nodes = write_file("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nnode-a,1000,1024,0,\n");
  const std::string pods = write_file(
      "pods.csv",
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
      "scheduled_time\np-0,1000,1024,0,0,,LS,Running,100,160,110\np-1,1000,1024,0,0,,LS,Running,120,200,150\n");
  const std::string cluster = write_file("trace.json", "");
  ASSERT_EQ(run_berth({"import", "openb", "--nodes", nodes, "--pods", pods, "-o", cluster}).exit_code, 0);
  const Json report = Json::parse(run_berth({"simulate", cluster, "--start", "earliest", "-o", "json"}).out);
  EXPECT_EQ(report["start"], "2023-01-01T00:01:40Z");
  ASSERT_EQ(report["pods"].size(), 2u);
  EXPECT_EQ(report["pods"][1]["arrivedSeconds"], 20);
  EXPECT_EQ(report["pods"][1]["placedSeconds"], 50) << "when p-0 has run for 50 s";
  EXPECT_EQ(report["endSeconds"], 100);
}

}  // namespace
}  // namespace berth::test
