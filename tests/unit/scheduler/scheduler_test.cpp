// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "host/objects/errors.h"
#include "host/scheduler/backend_factory.h"
#include "host/scheduler/explainer.h"
#include "host/scheduler/intake.h"
#include "tests/support/scenario.h"

namespace berth {
namespace {

ScheduleOptions options_of(const test::Scenario& scenario) {
  ScheduleOptions options;
  options.config = scenario.config;
  options.engine = scenario.engine;
  return options;
}

ScheduleResult run(const std::string& text) {
  const test::Scenario scenario = test::parse_scenario(text);
  return schedule(scenario.objects, options_of(scenario));
}

std::vector<std::string> placed_names(const ScheduleResult& result) {
  std::vector<std::string> names;
  for (const Placement& placement : result.placements) names.push_back(placement.pod->name);
  return names;
}

/// The objects of a text with one pod changed; pods are immutable, so the pod is recreated.
template <class Change>
void change_pod(ClusterObjects& objects, std::string_view name, Change change) {
  for (PodPtr& pod : objects.pods) {
    if (pod->name != name) continue;
    auto copy = std::make_shared<Pod>();
    copy->name = pod->name;
    copy->namespace_ = pod->namespace_;
    copy->spec = pod->spec;
    copy->node_name = pod->node_name;
    copy->phase = pod->phase;
    copy->priority = pod->priority;
    change(*copy);
    pod = std::move(copy);
  }
}

TEST(QueueOrderTest, HigherPrioritiesComeFirstAndEqualOnesInInputOrder) {
  const ScheduleResult result =
      run("node n cpu=10\npod a\npod b priority=5\npod c priority=-1\npod d priority=5\npod e\n");
  EXPECT_EQ(placed_names(result), (std::vector<std::string>{"b", "d", "a", "e", "c"}));
}

TEST(QueueOrderTest, TheOlderPodComesFirstAtEqualPriority) {
  test::Scenario scenario = test::parse_scenario("node n cpu=10\npod a\npod b\npod c\n");
  change_pod(scenario.objects, "a", [](Pod& pod) { pod.creation_time_us = 300; });
  change_pod(scenario.objects, "b", [](Pod& pod) { pod.creation_time_us = 100; });
  change_pod(scenario.objects, "c", [](Pod& pod) { pod.creation_time_us = 200; });
  EXPECT_EQ(placed_names(schedule(scenario.objects, options_of(scenario))), (std::vector<std::string>{"b", "c", "a"}));
}

TEST(QueueOrderTest, ThePriorityDecidesWhichPodGetsTheLastPlace) {
  const ScheduleResult result = run("node n cpu=1\npod first cpu=1\npod important cpu=1 priority=7\n");
  EXPECT_EQ(placed_names(result), (std::vector<std::string>{"important"}));
  ASSERT_EQ(result.unplaced.size(), 1u);
  EXPECT_EQ(result.unplaced.front().pod->name, "first");
}

// Pods that are not scheduled

std::string only_skip_reason(const ScheduleResult& result, std::string_view pod) {
  EXPECT_EQ(result.skipped.size(), 1u);
  if (result.skipped.empty()) return {};
  EXPECT_EQ(result.skipped.front().pod, pod);
  return result.skipped.front().reason;
}

TEST(IntakeTest, ATerminatingPodIsSkipped) {
  const ScheduleResult result = run("node n cpu=1\npod p terminating\n");
  EXPECT_EQ(only_skip_reason(result, "default/p"), "is being deleted");
  EXPECT_TRUE(result.placements.empty());
}

TEST(IntakeTest, APodOfAnotherSchedulerIsSkippedWithThatName) {
  test::Scenario scenario = test::parse_scenario("node n cpu=1\npod p\n");
  change_pod(scenario.objects, "p", [](Pod& pod) {
    PodSpec spec = *pod.spec;
    spec.scheduler_name = "volcano";
    pod.spec = std::make_shared<const PodSpec>(std::move(spec));
  });
  EXPECT_EQ(only_skip_reason(schedule(scenario.objects, options_of(scenario)), "default/p"),
            "no profile is named \"volcano\"");
}

TEST(IntakeTest, APodOnAnUnknownNodeIsReportedAndNotCounted) {
  const ScheduleResult result = run("node n cpu=1\npod lost on=nowhere cpu=1\npod p cpu=1\n");
  EXPECT_EQ(only_skip_reason(result, "default/lost"), "is bound to node \"nowhere\", which is not in the input");
  EXPECT_EQ(result.stats.running_pods, 0);
  EXPECT_EQ(placed_names(result), (std::vector<std::string>{"p"}));
}

TEST(IntakeTest, RunningPodsWithTheSameUidAreReported) {
  const ScheduleResult result = run("node n cpu=4\npod twin on=n cpu=1\npod twin on=n cpu=1\n");
  EXPECT_EQ(result.skipped.size(), 1u);
  EXPECT_EQ(result.stats.running_pods, 1);
}

TEST(IntakeTest, AFinishedPodIsNeitherRunningNorPending) {
  test::Scenario scenario = test::parse_scenario("node n cpu=1\npod done on=n cpu=1\npod failed cpu=1\npod p cpu=1\n");
  change_pod(scenario.objects, "done", [](Pod& pod) { pod.phase = PodPhase::kSucceeded; });
  change_pod(scenario.objects, "failed", [](Pod& pod) { pod.phase = PodPhase::kFailed; });
  const ScheduleResult result = schedule(scenario.objects, options_of(scenario));
  EXPECT_EQ(placed_names(result), (std::vector<std::string>{"p"}));
  EXPECT_EQ(result.stats.running_pods, 0);
  EXPECT_EQ(result.stats.pods, 1);
  EXPECT_TRUE(result.skipped.empty());
}

TEST(IntakeTest, ARunningTerminatingPodStillCounts) {
  const ScheduleResult result = run("node n cpu=1\npod old on=n cpu=1 terminating\npod p cpu=1\n");
  EXPECT_EQ(result.stats.running_pods, 1);
  EXPECT_EQ(result.unplaced.size(), 1u);
}

TEST(IntakeTest, AGatedPodIsUnplacedWithItsGates) {
  const ScheduleResult result = run("node n cpu=1\npod p gate=a.example/x gate=b\n");
  ASSERT_EQ(result.unplaced.size(), 1u);
  EXPECT_EQ(result.unplaced.front().reason, "SchedulingGated");
  EXPECT_EQ(result.messages[static_cast<std::size_t>(result.unplaced.front().message)],
            "waiting for scheduling gates: [a.example/x b]");
  EXPECT_EQ(result.stats.pods, 0) << "it was not tried";
}

TEST(IntakeTest, GatesAreIgnoredWithoutTheirPlugin) {
  const ScheduleResult result = run("config disable=SchedulingGates\nnode n cpu=1\npod p gate=a\n");
  EXPECT_EQ(placed_names(result), (std::vector<std::string>{"p"}));
}

// Results

TEST(ScheduleTest, AnUnschedulablePodHasTheFitError) {
  const ScheduleResult result = run("node n*2 cpu=1\npod p*3 cpu=2\n");
  ASSERT_EQ(result.unplaced.size(), 3u);
  EXPECT_EQ(result.unplaced.front().reason, "Unschedulable");
  EXPECT_EQ(result.messages,
            (std::vector<std::string>{
                "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are "
                "available: 2 Preemption is not helpful for scheduling."}));
}

TEST(ScheduleTest, APodThatNeedsAnUnsupportedPluginIsASchedulerError) {
  const ScheduleResult result = run("node n cpu=1\npod p resource-claim=gpu\npod q cpu=1\n");
  ASSERT_EQ(result.unplaced.size(), 1u);
  EXPECT_EQ(result.unplaced.front().reason, "SchedulerError");
  EXPECT_NE(result.messages.front().find("\"DynamicResources\""), std::string::npos);
  EXPECT_EQ(placed_names(result), (std::vector<std::string>{"q"}));
}

TEST(ScheduleTest, WithoutNodesPodsAreUnplacedWithOneText) {
  const ScheduleResult result = run("pod p*2\n");
  EXPECT_EQ(result.unplaced.size(), 2u);
  EXPECT_EQ(result.messages, (std::vector<std::string>{"no nodes available to schedule pods"}));
}

TEST(ScheduleTest, EmptyInputGivesEmptyResult) {
  const ScheduleResult result = run("");
  EXPECT_TRUE(result.placements.empty());
  EXPECT_TRUE(result.unplaced.empty());
  EXPECT_EQ(result.stats.nodes, 0);
}

TEST(ScheduleTest, PreemptionThatIsOffIsReportedOnceAndOnlyWhereItCouldHelp) {
  const auto notes = [](const std::string& text) {
    const test::Scenario scenario = test::parse_scenario(text);
    ScheduleOptions options = options_of(scenario);
    options.preemption.mode = PreemptionMode::kOff;
    return schedule(scenario.objects, options).notes;
  };
  EXPECT_EQ(notes("node n cpu=1\npod p*3 cpu=2\n").size(), 1u);
  EXPECT_NE(notes("node n cpu=1\npod p cpu=2\n").front().find("preemption"), std::string::npos);
  EXPECT_TRUE(notes("node n cpu=1\npod p cpu=1\n").empty());
  EXPECT_TRUE(notes("node n cpu=1\npod p gate=g\n").empty());
  EXPECT_TRUE(notes("config disable=DefaultPreemption\nnode n cpu=1\npod p cpu=2\n").empty());
  EXPECT_TRUE(run("node n cpu=1\npod p cpu=2\n").notes.empty());
}

TEST(ScheduleTest, BatchesOfAnySizeGiveTheSameResult) {
  test::Scenario scenario = test::parse_scenario(
      "node n*7 cpu=4 memory=8Gi\npod p*30 cpu=300m\npod q*9 cpu=1 memory=1Gi port=80\npod r cpu=99\n");
  const auto lines = [&](std::int32_t batch, bool watched) {
    ScheduleOptions options = options_of(scenario);
    options.engine.batch_pods_max = batch;
    std::size_t last = 0;
    if (watched)
      options.progress = [&](std::size_t done, std::size_t total) {
        last = done;
        EXPECT_EQ(total, 40u);
      };
    const ScheduleResult result = schedule(scenario.objects, options);
    EXPECT_EQ(last, watched ? 40u : 0u);
    std::vector<std::string> out;
    for (const Placement& p : result.placements)
      out.push_back(p.pod->name + " " + result.node_names[static_cast<std::size_t>(p.node.value)] + " " +
                    std::to_string(p.score));
    for (const Unplaced& u : result.unplaced)
      out.push_back(u.pod->name + " " + result.messages[static_cast<std::size_t>(u.message)]);
    return out;
  };
  const auto expected = lines(1 << 20, false);
  for (const std::int32_t batch : {1, 3, 40}) EXPECT_EQ(lines(batch, batch == 3), expected);
}

TEST(ScheduleTest, StatsCountTheInput) {
  const ScheduleResult result = run("node n*3 cpu=4\npod old*2 on=n0 cpu=1\npod p*4 cpu=1\npod q cpu=2\n");
  EXPECT_EQ(result.stats.nodes, 3);
  EXPECT_EQ(result.stats.running_pods, 2);
  EXPECT_EQ(result.stats.pods, 5);
  EXPECT_EQ(result.stats.classes, 2);
  for (const char* what : {"model", "cache", "columns", "rows", "peakRss"})
    EXPECT_GT(result.stats.bytes.at(what), 0u) << what;
}

// Usage

TEST(UsageTest, ResourcesAreSummedBeforeAndAfter) {
  const ScheduleResult result =
      run("node a cpu=4 memory=8Gi pods=10 res:example.com/x=2\nnode b cpu=4 memory=8Gi pods=10\npod old on=a cpu=1 "
          "memory=1Gi\n"
          "pod p*2 cpu=1500m memory=2Gi\npod q res:example.com/x=1\n");
  const auto of = [&](std::string_view name) {
    for (const ResourceUse& use : result.resources)
      if (use.name == name) return use;
    ADD_FAILURE() << "no " << name;
    return ResourceUse{};
  };
  EXPECT_EQ(of("cpu").allocatable, 8000);
  EXPECT_EQ(of("cpu").used_before, 1000);
  EXPECT_EQ(of("cpu").used_after, 4000);
  EXPECT_EQ(of("memory").used_after, 5ll << 30);
  EXPECT_EQ(of("example.com/x").used_before, 0);
  EXPECT_EQ(of("example.com/x").used_after, 1);
  EXPECT_EQ(of("pods").allocatable, 20);
  EXPECT_EQ(of("pods").used_before, 1);
  EXPECT_EQ(of("pods").used_after, 4);
}

TEST(UsageTest, TheFullestResourceDefinesTheUseOfANode) {
  const ScheduleResult result = run("node a cpu=4 memory=8Gi\npod old on=a cpu=1 memory=4Gi\npod p cpu=3\n");
  EXPECT_EQ(result.node_use_percent_before, (std::vector<std::int32_t>{50}));
  EXPECT_EQ(result.node_use_percent_after, (std::vector<std::int32_t>{100}));
}

TEST(UsageTest, ANodeWithoutCapacityIsEmptyUntilAPodRuns) {
  const ScheduleResult result = run("node a\nnode b\npod old on=b cpu=1\n");
  EXPECT_EQ(result.node_use_percent_before, (std::vector<std::int32_t>{0, 100}));
}

TEST(UsageTest, CountsAsStrandedWhatTheScarcerResourceLeavesUnusable) {
  const auto stranded = [](const ScheduleResult& result, std::string_view name) {
    for (const ResourceUse& use : result.resources)
      if (use.name == name) return use.stranded_after;
    return std::optional<std::int64_t>(-1);
  };
  // Node a has a quarter of its cpu left and all of its memory; node b is empty, so nothing there is stranded.
  const ScheduleResult result = run("node a cpu=4 memory=8Gi pods=9\nnode b cpu=4 memory=8Gi\npod p on=a cpu=3\n");
  EXPECT_EQ(stranded(result, "cpu"), 0);
  EXPECT_EQ(stranded(result, "memory"), 6ll << 30);
  EXPECT_EQ(stranded(result, "pods"), std::nullopt);
  // An overcommitted node has nothing left; one without memory cannot use its cpu.
  EXPECT_EQ(stranded(run("node a cpu=4 memory=8Gi\npod p on=a cpu=9\n"), "memory"), 8ll << 30);
  EXPECT_EQ(stranded(run("node a cpu=4\n"), "cpu"), 4000);
}

// Backends

std::string refusal(const std::string& text, const std::string& backend) {
  test::Scenario scenario = test::parse_scenario(text);
  scenario.engine.backend = backend;
  try {
    schedule(scenario.objects, options_of(scenario));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(BackendFactoryTest, EachBackendIsOpenedByName) {
  for (const char* name : {"reference", "cpu"}) {
    test::Scenario scenario = test::parse_scenario("node n cpu=1\npod p\n");
    scenario.engine.backend = name;
    const ScheduleResult result = schedule(scenario.objects, options_of(scenario));
    EXPECT_EQ(result.served_by, name);
    EXPECT_FALSE(result.why.empty());
  }
}

TEST(BackendFactoryTest, AutoNeverSelectsTheReferenceAndGivesItsReason) {
  const ScheduleResult result = run("node n cpu=1\n");
  EXPECT_NE(result.served_by, "reference");
  EXPECT_FALSE(result.why.empty());
}

TEST(BackendFactoryTest, AnUnknownBackendIsRefusedWithTheKnownNames) {
  const std::string message = refusal("node n cpu=1\n", "gpu");
  EXPECT_NE(message.find("\"gpu\""), std::string::npos) << message;
  for (const char* name : {"auto", "cpu", "reference", "cuda"}) EXPECT_NE(message.find(name), std::string::npos);
}

TEST(ScheduleTest, ExtendersAreRefusedWithTheirPath) {
  test::Scenario scenario = test::parse_scenario("node n cpu=1\npod p\n");
  scenario.config.extenders.emplace_back().path = "line 4, extenders[0]";
  for (const bool explains : {false, true}) try {
      if (explains) {
        Explainer(scenario.objects, options_of(scenario));
      } else {
        schedule(scenario.objects, options_of(scenario));
      }
      FAIL() << "nothing was thrown";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("extenders[0]"), std::string::npos);
    }
}

// Explaining

TEST(ExplainerTest, PodsAreExplainedAgainstTheClusterAsLoaded) {
  const test::Scenario scenario =
      test::parse_scenario("node n cpu=1\npod p*3 cpu=1\npod gated gate=g cpu=2\npod gone terminating\n");
  Explainer explainer(scenario.objects, options_of(scenario));
  ASSERT_EQ(explainer.pending().size(), 4u);
  ASSERT_EQ(explainer.skipped().size(), 1u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(explainer.explain(explainer.pending()[i]).nodes.front().feasible);
  const Evaluation gated = explainer.explain(explainer.pending()[3]);
  EXPECT_EQ(gated.message, "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_EQ(explainer.node_name(gated.nodes.front().node), "n");
}

TEST(ExplainerTest, APodWithoutAProfileIsRefusedByName) {
  test::Scenario scenario = test::parse_scenario("node n cpu=1\npod p\n");
  change_pod(scenario.objects, "p", [](Pod& pod) {
    PodSpec spec = *pod.spec;
    spec.scheduler_name = "volcano";
    pod.spec = std::make_shared<const PodSpec>(std::move(spec));
  });
  Explainer explainer(scenario.objects, options_of(scenario));
  EXPECT_THROW(explainer.explain(scenario.objects.pods.front()), InputError);
}

}  // namespace
}  // namespace berth
