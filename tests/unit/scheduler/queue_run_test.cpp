// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/queue_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "host/objects/errors.h"
#include "host/scheduler/scheduler.h"
#include "tests/unit/preemption/preemption_builders.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

/// Runs a queue and names what came of it.
class QueueRunTest : public testing::Test {
 protected:
  void add_node(const std::string& name, std::int64_t milli_cpu) {
    objects_.nodes.push_back(make_node(name, milli_cpu));
  }
  Pod& add_running(const std::string& name, std::int32_t priority, const std::string& node,
                   std::int64_t milli_cpu = 1000, std::int64_t grace_s = 30) {
    auto pod = make_pod(name, priority, 1, node, milli_cpu);
    PodSpec spec = *pod->spec;
    spec.termination_grace_s = grace_s;
    pod->spec = std::make_shared<const PodSpec>(std::move(spec));
    pod->phase = PodPhase::kRunning;
    objects_.pods.push_back(pod);
    return *pod;
  }
  Pod& add_pending(const std::string& name, std::int32_t priority, std::int64_t milli_cpu = 1000) {
    auto pod = make_pod(name, priority, 0, "", milli_cpu);
    objects_.pods.push_back(pod);
    return *pod;
  }
  void run() {
    options_.config = default_scheduler_config(FeatureGates());
    result_ = schedule(objects_, options_);
  }

  /// "pod on node"
  Names placed() const {
    Names names;
    for (const Placement& placement : result_.placements)
      names.push_back(placement.pod->name + " on " + node_name(placement.node));
    return names;
  }
  /// "pod reason", and "nominated to node" where it is
  Names unplaced() const {
    Names names;
    for (const Unplaced& pod : result_.unplaced)
      names.push_back(pod.pod->name + " " + std::string(pod.reason) +
                      (pod.nominated == kNoNode ? "" : " nominated to " + node_name(pod.nominated)));
    return names;
  }
  /// "victim for preemptor"
  Names evicted() const {
    Names names;
    for (const Eviction& eviction : result_.evictions)
      names.push_back(eviction.victim->name + " for " + eviction.preemptor->name);
    return names;
  }
  std::string node_name(NodeIndex node) const { return result_.node_names[static_cast<std::size_t>(node.value)]; }

  ClusterObjects objects_;
  ScheduleOptions options_;
  ScheduleResult result_;
};

TEST_F(QueueRunTest, APodWithoutANodeEvictsTheLeastImportantPodsAndIsPlaced) {
  add_node("a", 2000);
  add_running("low", 1, "a");
  add_running("lowest", 0, "a");
  add_pending("urgent", 5);
  run();
  EXPECT_EQ(placed(), Names{"urgent on a"});
  EXPECT_EQ(evicted(), Names{"lowest for urgent"});
  EXPECT_TRUE(unplaced().empty());
}

TEST_F(QueueRunTest, PodsOfEqualPriorityStayWhereTheyAre) {
  add_node("a", 1000);
  add_running("runs", 5, "a");
  add_pending("waits", 5);
  run();
  EXPECT_EQ(unplaced(), Names{"waits Unschedulable"});
  EXPECT_TRUE(evicted().empty());
}

TEST_F(QueueRunTest, ALaterPreemptorSeesTheNominationOfAnEarlierOne) {
  add_node("a", 1000);
  add_node("b", 1000);
  add_running("on-a", 0, "a");
  add_running("on-b", 1, "b");
  add_pending("first", 9);
  add_pending("second", 8);
  add_pending("third", 7);
  run();
  EXPECT_EQ(placed(), (Names{"first on a", "second on b"}));
  EXPECT_EQ(evicted(), (Names{"on-a for first", "on-b for second"}));
  EXPECT_EQ(unplaced(), Names{"third Unschedulable"});
}

TEST_F(QueueRunTest, APlacedPodCountsInTheOrderThatDecidesBetweenEqualVictims) {
  add_node("a", 5000);
  add_running("least", -1, "a");
  add_running("v1", 0, "a");
  add_running("v2", 0, "a");
  add_running("v3", 0, "a");
  add_pending("fits", 9);
  add_pending("first", 8);   // the update of "least" moves "fits", the last pod, into the gap
  add_pending("second", 7);  // so that the victims are v1, v2, v3 in this order
  run();
  EXPECT_EQ(evicted(), (Names{"least for first", "v3 for second"}));
}

TEST_F(QueueRunTest, APodOfLowerPriorityDoesNotTakeTheRoomThatANominationReserves) {
  add_node("a", 2000);
  add_running("on-a", 0, "a", 2000);
  add_pending("urgent", 9, 1500);
  add_pending("small", 1, 600);
  run();
  EXPECT_EQ(placed(), Names{"urgent on a"});
  EXPECT_EQ(unplaced(), Names{"small Unschedulable"});
}

TEST_F(QueueRunTest, ANominationOfALaterPodThatAPreemptorEndsIsNoLongerInItsStatus) {
  options_.preemption.mode = PreemptionMode::kNominate;
  add_node("a", 2000);
  add_running("low", 1, "a", 2000);
  add_pending("urgent", 9, 2000);
  Pod& never = add_pending("never", 5, 2000);
  never.preemption_policy = PreemptionPolicy::kNever;
  PodRare rare;
  rare.nominated_node_name = "a";
  never.rare_fields = std::make_unique<const PodRare>(rare);
  run();
  EXPECT_EQ(unplaced(), (Names{"urgent Unschedulable nominated to a", "never Unschedulable"}))
      << "a pod that may not preempt keeps the nomination that its status names";
}

TEST_F(QueueRunTest, NominateNamesVictimsAndLeavesThemThere) {
  options_.preemption.mode = PreemptionMode::kNominate;
  add_node("a", 1000);
  add_running("on-a", 0, "a");
  add_pending("urgent", 9);
  run();
  EXPECT_TRUE(placed().empty());
  EXPECT_EQ(unplaced(), Names{"urgent Unschedulable nominated to a"});
  EXPECT_EQ(evicted(), Names{"on-a for urgent"});
  const auto cpu = std::find_if(result_.resources.begin(), result_.resources.end(),
                                [](const ResourceUse& use) { return use.name == "cpu"; });
  EXPECT_EQ(cpu->used_after, 1000);
}

TEST_F(QueueRunTest, OffEvictsNoPodAndReportsIt) {
  options_.preemption.mode = PreemptionMode::kOff;
  add_node("a", 1000);
  add_running("on-a", 0, "a");
  add_pending("urgent", 9);
  run();
  EXPECT_EQ(unplaced(), Names{"urgent Unschedulable"});
  EXPECT_TRUE(evicted().empty());
  ASSERT_FALSE(result_.notes.empty());
  EXPECT_EQ(result_.notes.front(), "preemption is off: no running pod was evicted for a pod without a node");
}

TEST_F(QueueRunTest, TheRoomOfEvictedPodsCountsAsFree) {
  add_node("a", 3000);
  add_running("big", 0, "a", 3000);
  add_pending("urgent", 9, 1000);
  run();
  const auto cpu = std::find_if(result_.resources.begin(), result_.resources.end(),
                                [](const ResourceUse& use) { return use.name == "cpu"; });
  EXPECT_EQ(cpu->used_before, 3000);
  EXPECT_EQ(cpu->used_after, 1000);
  EXPECT_EQ(result_.node_use_percent_after, std::vector<std::int32_t>{33});
}

TEST_F(QueueRunTest, PreemptorsAreTriedAgainInTheOrderInWhichTheirVictimsAreGone) {
  // Whichever of the two is first takes both rooms: the second finds none, and nobody to evict.
  add_node("a", 1000);
  add_node("b", 1000);
  add_running("slow", 0, "a", 1000, 600);
  add_running("quick", 1, "b", 1000, 5);
  add_pending("first", 9);
  add_pending("second", 8);
  run();
  ASSERT_EQ(evicted(), (Names{"slow for first", "quick for second"}));
  EXPECT_EQ(result_.evictions[0].gone_at_us, 600'000'000);
  EXPECT_EQ(result_.evictions[1].gone_at_us, 5'000'000);
  EXPECT_EQ(placed(), (Names{"first on a", "second on b"}));
}

TEST_F(QueueRunTest, ALimitOfEvictionsPerMinuteDelaysThem) {
  options_.preemption.evictions_per_minute_max = 2;
  for (const std::string name : {"a", "b", "c", "d", "e"}) {
    add_node(name, 1000);
    add_running("on-" + name, 0, name, 1000, 10);
    add_pending("wants-" + name, 9);
  }
  run();
  std::vector<std::int64_t> deleted_at_s;
  for (const Eviction& eviction : result_.evictions) deleted_at_s.push_back(eviction.deleted_at_us / 1'000'000);
  EXPECT_EQ(deleted_at_s, (std::vector<std::int64_t>{0, 0, 60, 60, 120}));
  EXPECT_EQ(result_.placements.size(), 5u);
}

TEST_F(QueueRunTest, ABudgetIsViolatedWhereNothingElseHelpsUnlessBudgetsAreKept) {
  add_node("a", 1000);
  add_running("guarded", 0, "a");
  add_pending("urgent", 9);
  objects_.pod_disruption_budgets = {budget(0)};
  run();
  EXPECT_EQ(evicted(), Names{"guarded for urgent"});
  ASSERT_EQ(result_.violated_budgets.size(), 1u);
  EXPECT_EQ(result_.violated_budgets.front().budget, "default/b");
  EXPECT_EQ(result_.violated_budgets.front().evicted, 1);

  options_.preemption.limits.keeps_budgets = true;
  run();
  EXPECT_TRUE(evicted().empty());
  EXPECT_TRUE(result_.violated_budgets.empty());
  EXPECT_EQ(unplaced(), Names{"urgent Unschedulable"});
}

TEST_F(QueueRunTest, KeptBudgetsCountTheEvictionsOfTheRun) {
  options_.preemption.limits.keeps_budgets = true;
  objects_.pod_disruption_budgets = {budget(1)};
  for (const std::string name : {"a", "b"}) {
    add_node(name, 1000);
    add_running("on-" + name, 0, name);
    add_pending("wants-" + name, 9);
  }
  run();
  EXPECT_EQ(result_.evictions.size(), 1u);
  EXPECT_EQ(result_.placements.size(), 1u);
}

TEST_F(QueueRunTest, VictimsThatFitElsewhereGoFirstOnRequest) {
  add_node("a", 1000);
  add_node("b", 1000);
  add_node("c", 200);
  add_running("large", 0, "a");
  add_running("small", 1, "b").spec = spec_with_milli_cpu(200);
  add_pending("urgent", 9);
  run();
  EXPECT_EQ(evicted(), Names{"large for urgent"}) << "the lower priority";

  options_.preemption.limits.replaceable_first = true;
  run();
  EXPECT_EQ(evicted(), Names{"small for urgent"}) << "it fits on c";
  for (const CandidateNodes nodes : {CandidateNodes::kAll, CandidateNodes::kKube}) {
    options_.preemption.limits.nodes = nodes;
    run();
    EXPECT_EQ(evicted(), Names{"small for urgent"});
  }
}

TEST_F(QueueRunTest, AVictimThatWasResizedIsMadeAgainAsItsSpecSays) {
  add_node("a", 1000);
  add_node("b", 1000);
  add_node("c", 200);
  add_running("large", 0, "a");
  Pod& resized = add_running("resized", 2, "b");
  resized.spec = spec_with_milli_cpu(100);
  PodRare rare;
  rare.status_resources.push_back(
      {resized.spec->containers.front().name, {}, {{std::string(kCpu), *Quantity::parse("500m")}}, true});
  resized.rare_fields = std::make_unique<const PodRare>(std::move(rare));
  add_running("small", 1, "b").spec = spec_with_milli_cpu(100);
  add_pending("urgent", 9);
  options_.preemption.limits.replaceable_first = true;
  for (const char* const backend : {"reference", "cpu"}) {
    options_.engine.backend = backend;
    run();
    EXPECT_EQ(evicted(), (Names{"resized for urgent", "small for urgent"})) << "both fit on c: " << backend;
  }
}

TEST_F(QueueRunTest, APendingPodTakesWhatItsStatusSaysOnceItIsPlaced) {
  add_node("a", 1000);
  Pod& resized = add_pending("resized", 9);
  resized.spec = spec_with_milli_cpu(100);
  PodRare rare;
  rare.status_resources.push_back(
      {resized.spec->containers.front().name, {}, {{std::string(kCpu), *Quantity::parse("700m")}}, true});
  resized.rare_fields = std::make_unique<const PodRare>(std::move(rare));
  // As the first without its status, before and behind it.
  add_pending("first", 10).spec = resized.spec;
  add_pending("equal", 8).spec = resized.spec;
  add_pending("large", 7).spec = spec_with_milli_cpu(200);
  add_pending("small", 6).spec = spec_with_milli_cpu(100);
  for (const char* const backend : {"reference", "cpu"}) {
    options_.engine.backend = backend;
    run();
    EXPECT_EQ(placed(), (Names{"first on a", "resized on a", "equal on a", "small on a"})) << backend;
  }
}

TEST_F(QueueRunTest, WhereNoVictimFitsElsewhereTheCandidateIsThatOfUpstream) {
  add_node("a", 1000);
  add_node("b", 1000);
  add_running("low", 0, "a");
  add_running("middle", 1, "b");
  add_pending("urgent", 9);
  options_.preemption.limits.replaceable_first = true;
  run();
  EXPECT_EQ(evicted(), Names{"low for urgent"});
}

TEST_F(QueueRunTest, VictimsOfOtherSchedulersCountAsPodsThatFitNowhere) {
  add_node("a", 1000);
  add_node("b", 1000);
  add_running("low", 0, "a");
  auto spec = std::make_shared<PodSpec>(*spec_with_milli_cpu(200));
  spec->scheduler_name = "other";
  add_running("foreign", 1, "b").spec = spec;
  add_node("c", 200);
  add_pending("urgent", 9);
  options_.preemption.limits.replaceable_first = true;
  run();
  EXPECT_EQ(evicted(), Names{"low for urgent"});
}

TEST_F(QueueRunTest, APodThatMayNotPreemptEvictsNoPod) {
  add_node("a", 1000);
  add_running("on-a", 0, "a");
  add_pending("polite", 9).preemption_policy = PreemptionPolicy::kNever;
  run();
  EXPECT_EQ(unplaced(), Names{"polite Unschedulable"});
  EXPECT_TRUE(evicted().empty());
}

TEST_F(QueueRunTest, ManyPodsThatEvictionCannotHelpAreUnplaced) {
  add_node("a", 1000);
  add_running("on-a", 0, "a");
  const auto spec = spec_with_milli_cpu(5000);
  for (int i = 0; i < 20'000; ++i) add_pending("too-big-" + std::to_string(i), 9).spec = spec;
  add_pending("fits", 9);
  run();
  EXPECT_EQ(result_.unplaced.size(), 20'000u);
  EXPECT_EQ(placed(), Names{"fits on a"});
}

TEST_F(QueueRunTest, WhatEvictionWouldLeaveIsToldAnewAfterAPodWasPlaced) {
  const auto spec = [](std::int64_t milli_cpu, std::int64_t memory_gib) {
    PodSpec made = *spec_with_milli_cpu(milli_cpu);
    const __int128 memory_bytes = static_cast<__int128>(memory_gib) << 30;
    made.containers.back().requests.emplace_back("memory", Quantity{memory_bytes * 1'000'000'000});
    return std::make_shared<const PodSpec>(std::move(made));
  };
  add_node("a", 2000);  // and 8 GiB
  add_running("high", 9, "a", 1000);
  add_running("low", 0, "a").spec = spec(500, 4);
  const auto too_big = spec(2000, 6);
  add_pending("first", 5).spec = too_big;
  add_pending("takes-memory", 5).spec = spec(1, 4);
  add_pending("second", 5).spec = too_big;
  run();
  ASSERT_EQ(unplaced(), (Names{"first Unschedulable", "second Unschedulable"}));
  const std::string both = "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. ";
  const std::string looked = both + "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Insufficient ";
  EXPECT_EQ(result_.messages[static_cast<std::size_t>(result_.unplaced[0].message)], looked + "cpu.");
  EXPECT_EQ(result_.messages[static_cast<std::size_t>(result_.unplaced[1].message)],
            looked + "cpu, 1 Insufficient memory.");
}

TEST_F(QueueRunTest, APodThatTheRunPlacedMayBeEvictedForAPreemptorThatIsTriedAgain) {
  for (const std::string name : {"a", "b"}) {
    Node node = *make_node(name, 2000);
    node.labels = LabelMap{{"zone", "z"}};
    objects_.nodes.push_back(std::make_shared<const Node>(std::move(node)));
  }
  add_running("on-a", 0, "a", 2000, 30);
  add_running("on-b", 0, "b", 2000, 5);
  add_pending("quick", 8, 2000).labels = LabelMap{{"app", "quick"}};
  // "alone" keeps away from "quick" in the whole zone, but is nominated to a before "quick" is placed on b.
  PodSpec spec = *spec_with_milli_cpu(2000);
  PodAffinityTerm& term = spec.pod_anti_affinity.emplace().required.emplace_back();
  term.label_selector.emplace().match_labels = LabelMap{{"app", "quick"}};
  term.topology_key = "zone";
  add_pending("alone", 9).spec = std::make_shared<const PodSpec>(std::move(spec));
  run();
  EXPECT_EQ(evicted(), (Names{"on-a for alone", "on-b for quick", "quick for alone"}));
  EXPECT_EQ(placed(), Names{"alone on b"});
  EXPECT_EQ(unplaced(), Names{"quick Preempted"});
  EXPECT_EQ(result_.messages.at(static_cast<std::size_t>(result_.unplaced.front().message)),
            "preempted by default/alone on node b");
}

}  // namespace
}  // namespace berth
