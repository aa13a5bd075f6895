// SPDX-License-Identifier: Apache-2.0
// --plugin, with the plugin of examples/plugin.

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/support/schema.h"

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

/// Pods with these modes, on one node with room for four.
std::string pods_of_modes(const std::vector<std::string>& modes) {
  std::string text =
      "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '9'}}\n";
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const std::string name = "p" + std::to_string(i);
    text += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: " + name +
            ", annotations: {mode: " + modes[i] + "}}\nspec: {priority: " + std::to_string(100 - i) +
            ", containers: [{name: c, resources: {requests: {cpu: '1'}}}]}\n";
  }
  return text;
}

/// The plugin's calls, of a run of the command with these pods. @param report  of the run
std::string calls_of(std::vector<std::string> command, const std::vector<std::string>& modes, Json& report) {
  const std::string log = write_file("calls.txt", "");
  const std::string config = write_file("points.yaml",
                                        "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                        "kind: KubeSchedulerConfiguration\n"
                                        "profiles:\n"
                                        "  - plugins:\n"
                                        "      multiPoint: {enabled: [{name: Points}]}\n"
                                        "      bind: {disabled: [{name: '*'}],\n"
                                        "             enabled: [{name: Points}, {name: DefaultBinder}]}\n"
                                        "    pluginConfig: [{name: Points, args: {log: " +
                                            log + "}}]\n");
  for (const char* more : {"--plugin", BERTH_LOOP_POINTS_PLUGIN, "-o", "json", "--config"}) command.emplace_back(more);
  command.push_back(config);
  if (command.front() == "schedule") command.emplace_back("-f");
  command.push_back(write_file("pods.yaml", pods_of_modes(modes)));
  const ProgramRun run = run_berth(command);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  report = Json::parse(run.out);
  std::ifstream file(log);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string calls_at_points(const std::vector<std::string>& modes, Json& report, const std::string& until = "1s") {
  return calls_of({"simulate", "--until", until}, modes, report);
}

std::string calls_of_schedule(const std::vector<std::string>& modes, Json& report) {
  std::string calls = calls_of({"schedule"}, modes, report);
  EXPECT_TRUE(matches_schema(report, "schedule-report"));
  return calls;
}

TEST(PluginPoints, AreCalledInOrderByASimulation) {
  Json report;
  const std::string calls = calls_at_points({"open"}, report);
  const std::string expected =
      "preEnqueue p0\nreserve p0\npermit p0\npreBindPreFlight p0\npreBind p0\npostBind p0\non a\n";
  EXPECT_EQ(calls.substr(0, expected.size()), expected);
  EXPECT_EQ(report["summary"]["running"], 1);
}

TEST(PluginPoints, PreEnqueueKeepsPodsOut) {
  Json report;
  EXPECT_EQ(calls_at_points({"closed"}, report), "preEnqueue p0\n");
  EXPECT_EQ(report["summary"]["pending"], 1);
}

TEST(PluginPoints, PermitMakesAGangWaitForItsLastPod) {
  Json report;
  const std::string calls = calls_at_points({"gang", "gang"}, report);
  EXPECT_NE(calls.find("permit p0\n"), std::string::npos) << calls;
  EXPECT_NE(calls.find("permit p1\nallowed 1\n"), std::string::npos) << calls;
  EXPECT_EQ(calls.find("preBind p"), std::string::npos) << "pre-flight skipped it: " << calls;
  EXPECT_EQ(report["summary"]["running"], 2);
  calls_at_points({"gang"}, report);
  EXPECT_EQ(report["summary"]["running"], 0) << "nobody allows a pod that is alone";
}

TEST(PluginPoints, RefusalsEndTheCycleAndAreUnreserved) {
  Json report;
  for (const char* mode : {"unreservable", "forbidden", "unbindable"}) {
    const std::string calls = calls_at_points({mode}, report);
    EXPECT_NE(calls.find("unreserve p0\n"), std::string::npos) << mode << ": " << calls;
    EXPECT_EQ(calls.find("postBind"), std::string::npos) << mode << ": " << calls;
    EXPECT_EQ(report["summary"]["running"], 0) << mode;
  }
}

TEST(PluginPoints, BindWritesTheBindingThroughTheScheduler) {
  Json report;
  const std::string calls = calls_at_points({"binds"}, report);
  EXPECT_NE(calls.find("preBind p0\nbind p0\npostBind p0\non a\n"), std::string::npos) << calls;
  EXPECT_EQ(report["summary"]["running"], 1);
  EXPECT_NE(calls_of_schedule({"binds"}, report).find("postBind p0"), std::string::npos);
  EXPECT_EQ(report["placements"].size(), 1u) << report;
}

TEST(PluginPoints, BindThatRefusesOrHasNoApiServerFailsTheCycle) {
  Json report;
  for (const auto& [mode, text] :
       {std::pair("unwritten", "not to be written"), std::pair("bound", "the API server is a simulated one")}) {
    const std::string calls = calls_of_schedule({mode}, report);
    EXPECT_NE(calls.find("unreserve p0\n"), std::string::npos) << mode << ": " << calls;
    ASSERT_EQ(report["unplaced"].size(), 1u) << mode << ": " << report;
    EXPECT_NE(report["unplaced"][0]["message"].dump().find(text), std::string::npos) << report;
  }
}

TEST(PluginPoints, KeepStateInACycleAndSeeTheCluster) {
  Json report;
  const std::string calls = calls_at_points({"keeps"}, report);
  EXPECT_NE(calls.find("reserve p0\npods 1, state 0\nfreed 1\npermit p0\n"), std::string::npos) << calls;
  EXPECT_NE(calls.find("postBind p0\nkept 2\non a\nfreed 2\n"), std::string::npos) << calls;
}

TEST(PluginPoints, HintsSayWhichEventsHelpAPod) {
  Json report;
  std::string calls = calls_at_points({"late", "open"}, report, "20s");
  EXPECT_NE(calls.find("\nhint p1\n"), std::string::npos) << calls;
  EXPECT_EQ(report["summary"]["running"], 1) << calls;
  calls = calls_at_points({"late", "helps"}, report, "20s");
  EXPECT_NE(calls.find("\nhint p1 helps\n"), std::string::npos) << calls;
  EXPECT_EQ(report["summary"]["running"], 2) << calls;
}

/// The plugin signs no pod.
TEST(PluginPoints, HintsAreAskedAboutNodes) {
  const std::string scenario = write_file("later.yaml",
                                          "apiVersion: berth.dev/v1alpha1\nkind: BerthScenario\nactions:\n"
                                          "  - at: 5s\n    create:\n"
                                          "      - {apiVersion: v1, kind: Node, metadata: {name: later},\n"
                                          "         status: {allocatable: {cpu: '4', memory: 8Gi, pods: '9'}}}\n");
  Json report;
  const std::string calls = calls_of({"simulate", "--until", "20s", scenario}, {"late"}, report);
  EXPECT_NE(calls.find("hint later\n"), std::string::npos) << calls;
  EXPECT_EQ(report["summary"]["running"], 0) << calls;
}

TEST(PluginPoints, ActivateTriesAPodWithoutAnEvent) {
  Json report;
  const std::string calls = calls_at_points({"late", "wakes"}, report, "20s");
  EXPECT_NE(calls.find("permit p1\nactivated 1 0\n"), std::string::npos) << calls;
  EXPECT_EQ(report["summary"]["running"], 2) << calls;
}

TEST(PluginPoints, PostFilterIsAskedAboutPodsThatNoNodeTook) {
  Json report;
  const std::string calls = calls_at_points({"open", "open", "open", "open", "open"}, report);
  EXPECT_NE(calls.find("postFilter p4\n"), std::string::npos) << calls;
  EXPECT_EQ(calls.find("postFilter p3\n"), std::string::npos) << calls;
  EXPECT_EQ(report.dump().find("unknown code 99"), std::string::npos) << report;
}

TEST(PluginPoints, AreCalledInOrderBySchedule) {
  Json report;
  const std::string calls = calls_of_schedule({"open"}, report);
  const std::string expected =
      "preEnqueue p0\nreserve p0\npermit p0\npreBindPreFlight p0\npreBind p0\npostBind p0\non a\n";
  EXPECT_EQ(calls.substr(0, expected.size()), expected);
  ASSERT_EQ(report["placements"].size(), 1u) << report;
  EXPECT_EQ(report["placements"][0]["node"], "a");
}

TEST(PluginPoints, SchedulePlacesAGangWhoseLastPodAllowsIt) {
  Json report;
  calls_of_schedule({"gang", "open", "gang"}, report);
  EXPECT_EQ(report["placements"].size(), 3u) << report;
  calls_of_schedule({"gang", "open"}, report);
  ASSERT_EQ(report["unplaced"].size(), 1u) << "nobody allows a pod that is alone: " << report;
  EXPECT_EQ(report["unplaced"][0]["pod"], "default/p0");
  EXPECT_EQ(report["unplaced"][0]["reason"], "Unschedulable");
  EXPECT_NE(report["unplaced"][0]["message"].dump().find("due to timeout"), std::string::npos) << report;
}

TEST(PluginPoints, ScheduleTriesARefusedPodOnceAndGivesItsRoomToOthers) {
  Json report;
  for (const char* mode : {"unreservable", "forbidden", "unbindable"}) {
    const std::string calls = calls_of_schedule({mode, "open", "open", "open", "open"}, report);
    EXPECT_EQ(report["placements"].size(), 4u) << mode << ": " << report;
    EXPECT_EQ(report["unplaced"].size(), 1u) << mode << ": " << report;
    EXPECT_EQ(calls.find("reserve p0"), calls.rfind("\nreserve p0") + 1) << mode << ": " << calls;
  }
}

TEST(PluginPoints, ScheduleNamesAPodThatPreEnqueueKeepsOut) {
  Json report;
  EXPECT_EQ(calls_of_schedule({"closed"}, report), "preEnqueue p0\n");
  ASSERT_EQ(report["unplaced"].size(), 1u) << report;
  EXPECT_EQ(report["unplaced"][0]["reason"], "SchedulingGated");
}

TEST(PluginPoints, AreRefusedWhereNothingCallsThem) {
  const ProgramRun run =
      run_berth({"explain", "--plugin", BERTH_LOOP_POINTS_PLUGIN, "--all", "-f", kExample + "cluster.json"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("pre_enqueue() is there, which nothing calls here"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace berth::test
