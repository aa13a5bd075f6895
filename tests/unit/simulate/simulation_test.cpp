// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "host/simulate/plot.h"
#include "host/simulate/scenario_reader.h"

namespace berth {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

SimulationResult run(const std::string& text, const std::string& backend = "cpu", ClusterObjects cluster = {}) {
  std::vector<std::string> warnings;
  const Scenario scenario =
      make_scenario(parse_scenario("apiVersion: berth.dev/v1alpha1\nkind: BerthScenario\n" + text, "f"),
                    std::move(cluster), warnings);
  SimulationOptions options;
  options.loop.config = default_scheduler_config(FeatureGates());
  options.loop.engine.backend = backend;
  options.loop.engine.threads = 1;
  return simulate(scenario, options);
}

std::string node(const std::string& name, int cores) {
  return "{apiVersion: v1, kind: Node, metadata: {name: " + name +
         "}, status: {allocatable: {cpu: " + std::to_string(cores) + ", memory: 8Gi, pods: 10}}}";
}
/// A pod that requests one core. @param spec  more fields
std::string pod(const std::string& name, const std::string& spec = "") {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {" + spec +
         "containers: [{name: c, resources: {requests: {cpu: 1}}}]}}";
}

const SimulatedPod& pod_of(const SimulationResult& result, const std::string& name) {
  const auto at = std::find_if(result.pods.begin(), result.pods.end(),
                               [&](const SimulatedPod& each) { return each.name == "default/" + name; });
  if (at == result.pods.end()) throw std::logic_error("no pod " + name);
  return *at;
}

TEST(Simulation, KeepsTheEventsOfTheScheduler) {
  const SimulationResult result =
      run("actions: [{at: 1s, create: [" + pod("p") + "]}, {at: 2s, create: [" + node("n1", 2) + "]}]\n");
  ASSERT_EQ(result.events.size(), 2U);
  EXPECT_EQ(result.event_count, 2);
  EXPECT_EQ(result.events[0].time_us, kSecondUs);
  EXPECT_EQ(result.events[0].pod, "default/p");
  EXPECT_TRUE(result.events[0].is_warning);
  EXPECT_EQ(result.events[0].reason, "FailedScheduling");
  EXPECT_EQ(result.events[0].note, "no nodes available to schedule pods");
  EXPECT_EQ(result.events[1].reason, "Scheduled");
  EXPECT_EQ(result.events[1].action, "Binding");
}

TEST(Simulation, WarnsWhenSchedulingPauses) {
  std::vector<std::string> unused, warned;
  const Scenario scenario =
      make_scenario(parse_scenario("apiVersion: berth.dev/v1alpha1\nkind: BerthScenario\nuntil: 1m\nactions: [{at: 0s, "
                                   "create: [" +
                                       node("n1", 2) + ", " + pod("p") + "]}]\n",
                                   "f"),
                    {}, unused);
  SimulationOptions options;
  options.loop.config = default_scheduler_config(FeatureGates());
  options.loop.engine.backend = "cpu";
  options.loop.unbound_pods_max = 0;
  options.warn = [&](const std::string& sentence) { warned.push_back(sentence); };
  simulate(scenario, options);
  ASSERT_EQ(warned.size(), 1U);
  EXPECT_EQ(warned[0].rfind("scheduling pauses: 0 pods have a node and are not bound yet", 0), 0U) << warned[0];
}

TEST(Simulation, PodsArriveRunAndEnd) {
  const SimulationResult result =
      run("startDelay: 5s\nactions: [{at: 0s, create: [" + node("n1", 2) +
          "]}]\narrivals: [{at: 10s, every: 10s, count: 4, runDuration: 60s, template: " + pod("job") + "}]\n");
  EXPECT_EQ(pod_of(result, "job-0").placed_us, 10 * kSecondUs);
  EXPECT_EQ(pod_of(result, "job-0").ended_us, 75 * kSecondUs);
  EXPECT_EQ(pod_of(result, "job-1").placed_us, 20 * kSecondUs);
  EXPECT_EQ(pod_of(result, "job-2").arrived_us, 30 * kSecondUs);
  EXPECT_EQ(pod_of(result, "job-2").placed_us, 75 * kSecondUs) << "the instant in which job-0 ends";
  EXPECT_EQ(pod_of(result, "job-3").placed_us, 85 * kSecondUs);
  EXPECT_EQ(pod_of(result, "job-3").outcome, PodOutcome::kFinished);
  EXPECT_EQ(result.last.finished, 4);
  EXPECT_EQ(result.totals.placed, 4);
  EXPECT_EQ(result.pending_max, 2);
  EXPECT_EQ(result.end_us, 150 * kSecondUs) << "nothing is planned after the last end";
  EXPECT_EQ(result.end, SimulationEnd::kQuiet);
}

TEST(Simulation, AWaitingPodIsPlacedInTheInstantInWhichANodeComes) {
  const SimulationResult result = run("actions:\n- {at: 0s, create: [" + node("full", 0) + ", " + pod("p") +
                                      "]}\n- {at: 100s, create: [" + node("n1", 1) + "]}\n");
  EXPECT_EQ(pod_of(result, "p").placed_us, 100 * kSecondUs);
  EXPECT_EQ(pod_of(result, "p").node_name, "n1");
  EXPECT_EQ(result.totals.failed, 1);
  EXPECT_TRUE(result.waiting.empty());
}

TEST(Simulation, AnEvictedPodEndsItsGracePeriodBeforeItsPreemptorIsBound) {
  const SimulationResult result = run("actions:\n- {at: 0s, create: [" + node("n1", 1) + ", " +
                                      pod("low", "priority: 0, terminationGracePeriodSeconds: 20, ") +
                                      "]}\n- {at: 100s, create: [" + pod("high", "priority: 9, ") + "]}\n");
  EXPECT_EQ(pod_of(result, "low").outcome, PodOutcome::kPreempted);
  EXPECT_EQ(pod_of(result, "low").ended_us, 120 * kSecondUs);
  EXPECT_EQ(pod_of(result, "high").placed_us, 120 * kSecondUs);
  EXPECT_EQ(result.totals.preempted, 1);
  EXPECT_EQ(result.last.removed, 1);
  EXPECT_EQ(result.last.finished, 0);
}

TEST(Simulation, PodsOfANodeThatGoesAreLostAfterFortySeconds) {
  const SimulationResult result = run("actions:\n- {at: 0s, create: [" + node("n1", 1) + ", " + pod("p") +
                                      "]}\n- {at: 60s, delete: [{kind: Node, name: n1}]}\n");
  EXPECT_EQ(pod_of(result, "p").outcome, PodOutcome::kRemoved);
  EXPECT_EQ(pod_of(result, "p").ended_us, 100 * kSecondUs);
  EXPECT_EQ(result.last.nodes, 0);
  EXPECT_EQ(result.last.running, 0);
}

TEST(Simulation, PodsOfANodeThatComesBackInTimeStay) {
  const SimulationResult result =
      run("actions:\n- {at: 0s, create: [" + node("n1", 1) + ", " + pod("p") +
          "]}\n- {at: 60s, delete: [{kind: Node, name: n1}]}\n- {at: 99s, create: [" + node("n1", 1) + "]}\n");
  EXPECT_EQ(pod_of(result, "p").outcome, PodOutcome::kRunning);
  EXPECT_EQ(result.last.requested[0], 1000);
}

TEST(Simulation, ACordonedNodeTakesNoPodUntilItIsUncordoned) {
  const SimulationResult result =
      run("actions:\n- {at: 0s, create: [" + node("n1", 1) +
          "], update: [{kind: Node, name: n1, unschedulable: true}]}\n- {at: 10s, create: [" + pod("p") +
          "]}\n- {at: 50s, update: [{kind: Node, name: n1, unschedulable: false}]}\n");
  EXPECT_EQ(pod_of(result, "p").placed_us, 50 * kSecondUs);
}

std::string storage_class(const std::string& name, const std::string& mode) {
  return "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: " + name +
         "}, provisioner: csi.example.com, volumeBindingMode: " + mode + "}";
}
std::string claim(const std::string& name, const std::string& class_name) {
  return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name +
         "}, spec: {accessModes: [ReadWriteOnce], storageClassName: " + class_name +
         ", resources: {requests: {storage: 1Gi}}}}";
}
std::string claim_pod(const std::string& name, const std::string& claim_name) {
  return pod(name, "volumes: [{name: v, persistentVolumeClaim: {claimName: " + claim_name + "}}], ");
}

TEST(Simulation, AClaimThatDoesNotWaitIsBoundForItsPod) {
  const SimulationResult result =
      run("until: 1m\nactions: [{at: 1s, create: [" + node("n1", 2) + ", " + storage_class("s", "Immediate") + ", " +
          claim("c", "s") + ", " + claim_pod("p", "c") + "]}]\n");
  EXPECT_EQ(pod_of(result, "p").placed_us, kSecondUs);
}

TEST(Simulation, APodWaitsWhileTheProvisionerOfItsClaimFails) {
  for (const char* mode : {"Immediate", "WaitForFirstConsumer"}) {
    const SimulationResult result =
        run("until: 5m\nactions: [{at: 0s, provisioners: [{name: csi.example.com, fails: true}], create: [" +
            node("n1", 2) + ", " + storage_class("s", mode) + ", " + claim("c", "s") + ", " + claim_pod("p", "c") +
            "]}, {at: 60s, provisioners: [{name: csi.example.com, fails: false}]}]\n");
    ASSERT_TRUE(pod_of(result, "p").placed_us.has_value()) << mode;
    EXPECT_GE(*pod_of(result, "p").placed_us, 60 * kSecondUs) << mode;
    EXPECT_LE(*pod_of(result, "p").placed_us, 75 * kSecondUs) << mode << ": within a backoff";
    if (std::string_view(mode) == "Immediate") continue;
    const auto is_failure = [](const auto& event) {
      return event.note.find("binding volumes: provisioning failed for PVC \"c\"") != std::string::npos;
    };
    EXPECT_TRUE(std::any_of(result.events.begin(), result.events.end(), is_failure));
  }
}

TEST(Simulation, EndsWhenRetriedPodsFindNoNode) {
  const SimulationResult result = run("actions: [{at: 0s, create: [" + pod("p") + "]}]\n");
  EXPECT_EQ(result.end, SimulationEnd::kQuiet);
  EXPECT_GE(result.totals.failed, 2) << "the leftover flush tried it once more";
  EXPECT_LE(result.end_us, 341 * kSecondUs);
  ASSERT_EQ(result.waiting.size(), 1u);
  EXPECT_EQ(result.waiting[0].name, "default/p");
  EXPECT_EQ(result.waiting[0].reason, "Unschedulable");
  EXPECT_EQ(pod_of(result, "p").outcome, PodOutcome::kPending);
}

TEST(Simulation, UntilEndsItInTheMiddleOrLater) {
  const std::string text = "actions: [{at: 0s, create: [" + node("n1", 1) + ", " + pod("p") + "]}]\nrunDuration: 60s\n";
  const SimulationResult early = run(text + "until: 30s\n");
  EXPECT_EQ(early.end, SimulationEnd::kUntil);
  EXPECT_EQ(early.end_us, 30 * kSecondUs);
  EXPECT_EQ(early.last.running, 1);
  const SimulationResult late = run(text + "until: 120s\n");
  EXPECT_EQ(late.end_us, 120 * kSecondUs);
  EXPECT_EQ(late.last.finished, 1);
  EXPECT_DOUBLE_EQ(late.mean_utilisation[0], 0.5);
}

TEST(Simulation, AnEmptyScenarioEndsAtOnce) {
  const SimulationResult result = run("");
  EXPECT_EQ(result.end_us, 0);
  EXPECT_TRUE(result.pods.empty());
}

TEST(Simulation, RunningPodsOfADumpKeepRunning) {
  ClusterObjects cluster;
  auto host = std::make_shared<Node>();
  host->name = "n1";
  host->allocatable.milli_cpu = 1000;
  host->allowed_pod_number = 10;
  cluster.nodes.push_back(host);
  auto running = std::make_shared<Pod>();
  running->name = "old";
  running->spec = std::make_shared<const PodSpec>();
  running->node_name = "n1";
  running->phase = PodPhase::kRunning;
  running->start_time_us = kDefaultStartUs;
  cluster.pods.push_back(running);
  const SimulationResult result = run("runDuration: 90s\n", "cpu", std::move(cluster));
  EXPECT_EQ(result.start_us, kDefaultStartUs);
  EXPECT_EQ(pod_of(result, "old").ended_us, 90 * kSecondUs);
  EXPECT_FALSE(pod_of(result, "old").placed_us.has_value());
  EXPECT_EQ(result.totals.arrived, 0);
}

/// All of a result that does not depend on how it was computed.
std::string text_of(const SimulationResult& result) {
  std::string text = plot_svg(result);
  for (const SimulatedPod& each : result.pods) {
    text += each.name + " " + each.node_name + " " + std::to_string(each.arrived_us) + " " +
            std::to_string(each.placed_us.value_or(-1)) + " " + std::to_string(each.ended_us.value_or(-1)) + "\n";
  }
  return text;
}

TEST(Simulation, IsTheSameAgainAndOnEveryBackend) {
  std::string text = "actions:\n- at: 0s\n  create:\n";
  for (int i = 0; i < 6; ++i) text += "  - " + node("n" + std::to_string(i), 4) + "\n";
  text +=
      "- {at: 100s, delete: [{kind: Node, name: n3}]}\narrivals:\n- {every: 3s, count: 80, runDuration: 100s, "
      "template: " +
      pod("job", "priority: 0, ") +
      "}\n- {at: 50s, every: 7s, count: 20, runDuration: 40s, template: " + pod("high", "priority: 5, ") + "}\n";
  const std::string first = text_of(run(text));
  EXPECT_EQ(text_of(run(text)), first);
  EXPECT_EQ(text_of(run(text, "reference")), first);
  EXPECT_NE(first.find("default/high-19"), std::string::npos);
}

}  // namespace
}  // namespace berth
