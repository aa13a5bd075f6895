// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/scheduling_loop.h"

#include <gtest/gtest.h>

#include "host/framework/host_plugin.h"
#include "tests/support/faulty_client.h"
#include "tests/unit/scheduler_loop/loop_fixture.h"

namespace berth::test {
namespace {

using Lines = LoopFixture::Lines;

class SchedulingLoopTest : public testing::Test, public LoopFixture {};

TEST_F(SchedulingLoopTest, PodsAreBoundByPriorityAndTheirEventsSayWhere) {
  add_nodes("a cpu=2");
  add_pods("low cpu=1");
  add_pods("high cpu=1 priority=5");
  open();
  settle();
  EXPECT_EQ(bound, (Lines{"high on a", "low on a"}));
  EXPECT_EQ(events.front(), "Scheduled high: Successfully assigned default/high to a");
  EXPECT_EQ(node_of("low"), "a");
  EXPECT_EQ(scheduler->loop().unbound_count(), 0U);
  EXPECT_EQ(scheduler->next_wake_us(), ApiClient::kNeverUs);
}

TEST_F(SchedulingLoopTest, PodsOfOtherSchedulersAreLeftAlone) {
  add_nodes("a cpu=2");
  const std::shared_ptr<Pod> pod = copy_of(*make_pods({"pod", "p", "cpu=1"}).front());
  PodSpec spec = *pod->spec;
  spec.scheduler_name = "other";
  pod->spec = std::make_shared<const PodSpec>(spec);
  store.create<Pod>(pod);
  open();
  settle();
  EXPECT_TRUE(attempts.empty());
}

TEST_F(SchedulingLoopTest, APodWithoutANodeSaysWhyAndComesWithTheNodeThatItNeeds) {
  add_nodes("a cpu=1");
  add_pods("p cpu=2");
  open();
  settle();
  EXPECT_EQ(attempts, Lines{"p unschedulable"});
  EXPECT_EQ(condition_of("p"),
            "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 "
            "nodes are available: 1 "
            "Preemption is not helpful for scheduling.");
  EXPECT_EQ(scheduler->next_wake_us(), 130'000'000) << "for the leftovers, since no pod backs off";
  settle();
  EXPECT_EQ(attempts.size(), 1U) << "its own condition is no reason to try it again";
  add_nodes("b cpu=1");
  settle();
  EXPECT_EQ(attempts.size(), 1U) << "a node that is too small either";
  add_nodes("c cpu=2");
  settle();
  EXPECT_EQ(bound, Lines{"p on c"}) << "with an empty queue nobody waits for backoff";
}

TEST_F(SchedulingLoopTest, APodThatFailsHasNoNomination) {
  add_nodes("a cpu=1");
  add_pods("p*3 cpu=2");
  open();
  settle();
  EXPECT_EQ(queue().sizes().unschedulable, 3U);
  EXPECT_EQ(queue().nominator().size(), 0U);
}

TEST_F(SchedulingLoopTest, WithoutEarlyPopsTheBackoffIsWaitedFor) {
  set_gates("SchedulerPopFromBackoffQ=false");
  add_nodes("a cpu=1");
  add_pods("p cpu=2");
  open();
  settle();
  add_nodes("b cpu=2");
  settle();
  EXPECT_TRUE(bound.empty());
  advance_s(2);
  EXPECT_EQ(bound, Lines{"p on b"});
}

TEST_F(SchedulingLoopTest, WithoutNodesTheErrorBackoffCounts) {
  add_pods("p cpu=1");
  open();
  settle();
  EXPECT_EQ(condition_of("p"), "Unschedulable: no nodes available to schedule pods");
  EXPECT_EQ(queue().sizes().backoff, 1U);
  add_nodes("a cpu=1");
  settle();
  EXPECT_TRUE(bound.empty()) << "only its backoff counts for such a pod";
  advance_s(2);
  EXPECT_EQ(bound, Lines{"p on a"});
}

TEST_F(SchedulingLoopTest, APodThatLeavesMakesRoomForAnotherOne) {
  add_nodes("a cpu=1");
  add_pods("first cpu=1");
  open();
  settle();
  add_pods("second cpu=1");
  settle();
  EXPECT_EQ(attempts, (Lines{"first scheduled", "second unschedulable"}));
  remove_pod("first");
  advance_s(29);
  EXPECT_EQ(node_of("second"), "") << "the first one has 30 s to end";
  advance_s(2);
  EXPECT_EQ(node_of("second"), "a");
}

TEST_F(SchedulingLoopTest, AGatedPodWaitsForItsGates) {
  add_nodes("a cpu=1");
  add_pods("p cpu=1 gate=g");
  open();
  settle();
  EXPECT_TRUE(attempts.empty());
  EXPECT_EQ(queue().sizes().gated, 1U);
  update_pod("p", [](Pod& pod) { pod.rare_fields = nullptr; });
  settle();
  EXPECT_EQ(bound, Lines{"p on a"});
}

TEST_F(SchedulingLoopTest, AConditionThatThePodHasIsNotWrittenAgain) {
  add_nodes("a cpu=1");
  add_pods("p cpu=2");
  open();
  settle();
  std::size_t patches = 0;
  FaultyClient client(store, [&](const ApiCall&) { return ++patches, CallFault(); });
  open(client);  // another process
  settle();
  EXPECT_EQ(attempts, (Lines{"p unschedulable", "p unschedulable"}));
  EXPECT_EQ(patches, 0U);
  add_nodes("b cpu=1");
  add_nodes("c cpu=1 taint=k:NoSchedule");
  add_pods("q cpu=2");
  advance_s(700);
  EXPECT_EQ(condition_of("p"), condition_of("q")) << "another text is written";
  EXPECT_EQ(patches, 2U);
}

TEST_F(SchedulingLoopTest, AConditionThatAnotherWroteMeanwhileIsNotWrittenAgain) {
  add_nodes("a cpu=1");
  open();
  settle();
  add_pods("p cpu=2 resource-claim=gpu");
  PodStatusPatch patch;
  patch.conditions = {{.type = "PodScheduled",
                       .status = ConditionStatus::kFalse,
                       .reason = "SchedulerError",
                       .message = "plugin \"DynamicResources\" is not supported yet: the pod uses the resource claim "
                                  "\"gpu\""}};
  store.update_status(key("p"), patch);
  const std::uint64_t version = pod("p")->meta.resource_version;
  settle();
  EXPECT_EQ(attempts, Lines{"p error"});
  EXPECT_EQ(pod("p")->meta.resource_version, version);
}

/// A plugin from outside under the name of one that is not built; it accepts every node.
class DevicePlugin : public HostPlugin {
 public:
  std::string_view name() const override { return "DynamicResources"; }
  std::optional<std::string> sign(const Pod&) const override { return ""; }
  HostReach reach(const HostQuery&, const Node&) const override { return {HostReach::Kind::kNothing}; }
  void evaluate(const HostQuery&, std::span<const NodeInfo* const>, HostAnswers&) const override {}
  Status filter_changed(const HostQuery&, const NodeInfo&, std::span<const Pod* const>,
                        std::span<const Pod* const>) const override {
    return {};
  }
};

/// Refuses every node until its data says otherwise.
class DoorPlugin : public DevicePlugin {
 public:
  std::uint64_t version() const noexcept override { return taken_; }
  bool take_new_data() const noexcept override { return std::exchange(taken_, published) != published; }
  void evaluate(const HostQuery&, std::span<const NodeInfo* const> nodes, HostAnswers& answers) const override {
    if (taken_ > 0) return;
    for (std::size_t i = 0; i < nodes.size(); ++i) answers.refuse(i, code, {"the door is shut"});
  }
  Status filter_changed(const HostQuery&, const NodeInfo&, std::span<const Pod* const>,
                        std::span<const Pod* const>) const override {
    return taken_ > 0 ? Status() : Status{code, "", {"the door is shut"}};
  }
  std::string_view name() const override { return plugin; }
  std::string_view plugin = "DynamicResources";
  StatusCode code = StatusCode::kUnschedulable;
  std::uint64_t published = 0;

 private:
  mutable std::uint64_t taken_ = 0;
};

TEST_F(SchedulingLoopTest, NewDataOfAPluginIsReadByTheNextAttempt) {
  const auto door = std::make_shared<DoorPlugin>();
  options.engine.host_plugins = {door};
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open();
  settle();
  EXPECT_EQ(attempts, Lines{"p unschedulable"});
  door->published = 1;
  advance_s(400);
  EXPECT_EQ(attempts, (Lines{"p unschedulable", "p scheduled"}));
}

class FilterCodeTest : public testing::TestWithParam<StatusCode>, public LoopFixture {};

TEST_P(FilterCodeTest, PendingBringsAPodBackWithoutBackoff) {
  set_gates("SchedulerPopFromBackoffQ=false");
  const auto door = std::make_shared<DoorPlugin>();
  door->code = GetParam();
  door->plugin = "Door";  // of which every event may help
  options.engine.host_plugins = {door};
  for (Profile& profile : options.config.profiles)
    profile.plugins[static_cast<std::size_t>(ExtensionPoint::kFilter)].push_back({"Door", 0});
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open();
  settle();
  EXPECT_EQ(attempts.back(), "p unschedulable");
  door->published = 1;
  add_nodes("b cpu=1");
  settle();
  EXPECT_EQ(attempts.back(), GetParam() == StatusCode::kPending ? "p scheduled" : "p unschedulable");
  advance_s(2);
  EXPECT_EQ(attempts.back(), "p scheduled");
}
INSTANTIATE_TEST_SUITE_P(Codes, FilterCodeTest, testing::Values(StatusCode::kUnschedulable, StatusCode::kPending),
                         [](const auto& code) { return std::string(to_string(code.param)); });

constexpr std::string_view kMissing =
    "plugin \"DynamicResources\" is not supported yet: the pod uses the resource claim \"gpu\"";

TEST_F(SchedulingLoopTest, APodThatNeedsAMissingPluginIsToldSoOnceAndHeld) {
  add_nodes("a cpu=1");
  add_pods("p cpu=1 resource-claim=gpu");
  open();
  settle();
  add_nodes("b cpu=1");
  advance_s(1000);
  EXPECT_EQ(attempts, Lines{"p error"});
  EXPECT_EQ(events, Lines{"FailedScheduling p: " + std::string(kMissing)});
  EXPECT_EQ(condition_of("p"), "SchedulerError: " + std::string(kMissing));
  EXPECT_EQ(queue().sizes(), (SchedulingQueue::Sizes{.held = 1}));
  EXPECT_EQ(scheduler->next_wake_us(), ApiClient::kNeverUs);
  update_pod("p", [](Pod& pod) {
    PodSpec spec = *pod.spec;
    spec.tolerations.emplace_back().key = "k";
    pod.spec = std::make_shared<const PodSpec>(spec);
  });
  advance_s(1000);
  EXPECT_EQ(attempts, (Lines{"p error", "p error"})) << "it changed, and needs the plugin all the same";
  EXPECT_EQ(queue().sizes().held, 1U);
}

TEST_F(SchedulingLoopTest, AHeldPodIsForgottenWithItsObject) {
  add_nodes("a cpu=1");
  add_pods("p cpu=1 resource-claim=gpu");
  open();
  settle();
  EXPECT_EQ(queue().sizes().held, 1U);
  remove_pod("p", 0);
  settle();
  EXPECT_EQ(queue().sizes(), SchedulingQueue::Sizes());
  add_pods("p cpu=1");
  settle();
  EXPECT_EQ(bound, Lines{"p on a"}) << "another pod of the name";
}

TEST_F(SchedulingLoopTest, AHeldPodWhoseConditionIsLostIsTriedAgainToTellIt) {
  add_nodes("a cpu=1");
  add_pods("p cpu=1 resource-claim=gpu");
  bool refuses = true;
  FaultyClient client(store, [&](const ApiCall&) {
    CallFault fault;
    if (refuses) fault.refusal = {StoreReason::kForbidden, "not allowed"};
    return fault;
  });
  open(client);
  advance_s(10);
  EXPECT_EQ(condition_of("p"), "");
  const std::size_t tried = attempts.size();
  EXPECT_GT(tried, 1U);
  refuses = false;
  advance_s(1000);
  EXPECT_EQ(condition_of("p"), "SchedulerError: " + std::string(kMissing));
  EXPECT_EQ(attempts.size(), tried + 1);
  EXPECT_EQ(queue().sizes().held, 1U);
}

TEST_F(SchedulingLoopTest, APodIsNotHeldWhereAPluginFromOutsideDoesWhatItNeeds) {
  options.engine.host_plugins = {std::make_shared<const DevicePlugin>()};
  add_nodes("a cpu=1");
  add_pods("p cpu=1 resource-claim=gpu");
  open();
  settle();
  EXPECT_EQ(bound, Lines{"p on a"});
}

TEST_F(SchedulingLoopTest, APodThatIsBeingDeletedIsSkippedWithAWarning) {
  add_nodes("a cpu=1");
  CreateOptions with_finalizer;
  with_finalizer.finalizers = {"example.com/keep"};
  store.create<Pod>(make_pods({"pod", "p", "cpu=1"}).front(), with_finalizer);
  remove_pod("p");
  open();
  settle();
  EXPECT_TRUE(attempts.empty());
  EXPECT_EQ(events, Lines{"FailedScheduling p: skip schedule deleting pod: default/p"});
}

TEST_F(SchedulingLoopTest, PodsBoundBySomebodyElseTakeRoom) {
  add_nodes("a cpu=1");
  add_pods("theirs cpu=1");
  add_pods("ours cpu=1");
  open();
  store.bind({.namespace_ = "default", .name = "theirs", .node_name = "a"});
  settle();
  EXPECT_EQ(attempts, Lines{"ours unschedulable"});
}

TEST_F(SchedulingLoopTest, NodesThatGoTakeTheirRoomAlong) {
  add_nodes("a cpu=4");
  add_nodes("b cpu=1");
  open();
  remove_node("a");
  add_pods("p cpu=2");
  settle();
  EXPECT_EQ(attempts, Lines{"p unschedulable"});
  add_nodes("a cpu=4");
  settle();
  EXPECT_EQ(bound, Lines{"p on a"});
}

TEST_F(SchedulingLoopTest, AFailureInTheMiddleOfABatchLeavesTheOthersTheirNodes) {
  add_nodes("a cpu=2");
  add_nodes("b cpu=2");
  add_pods("p*3 cpu=1");
  add_pods("large cpu=3");
  add_pods("q cpu=1");
  open();
  settle();
  EXPECT_EQ(bound.size(), 4U);
  EXPECT_EQ(node_of("large"), "");
  EXPECT_NE(node_of("q"), "");
}

TEST_F(SchedulingLoopTest, DefaultSpreadingFollowsServices) {
  add_nodes("a*4 cpu=8 host zone=z");
  ClusterObjects objects;
  test::add_service({"service", "s", "select:app=web"}, objects);
  open();
  store.create<Service>(std::make_shared<const Service>(objects.services.front()));
  add_pods("p*4 cpu=1 label:app=web");
  settle();
  std::vector<std::string> nodes;
  nodes.reserve(4);
  for (int i = 0; i < 4; ++i) nodes.push_back(node_of("p" + std::to_string(i)));
  std::sort(nodes.begin(), nodes.end());
  EXPECT_EQ(nodes, (Lines{"a0", "a1", "a2", "a3"}));
}

TEST_F(SchedulingLoopTest, NoMorePodsAreDecidedThanMayBeUnbound) {
  struct SilentClient : ApiClient {
    void start(std::uint64_t, const ApiCall&) override {}
    std::vector<ApiAnswer> take_answers() override { return {}; }
  } client;
  options.unbound_pods_max = 3;
  add_nodes("a cpu=64");
  add_pods("p*10 cpu=1");
  open(client);
  scheduler->run();
  EXPECT_EQ(scheduler->loop().unbound_count(), 3U);
  EXPECT_TRUE(scheduler->loop().is_paused());
  EXPECT_EQ(pauses, std::vector<std::size_t>{3});
}

TEST_F(SchedulingLoopTest, APauseIsToldOnceUntilHalfOfThePodsAreBound) {
  std::size_t answers_due = 0;
  struct SlowClient : ApiClient {
    SlowClient(ObjectStore& watched, const std::size_t& made_due) : inner(watched), due(made_due) {}
    void start(std::uint64_t id, const ApiCall& call) override { waiting.emplace_back(id, call); }
    std::vector<ApiAnswer> take_answers() override {
      for (; made < due && made < waiting.size(); ++made) inner.start(waiting[made].first, waiting[made].second);
      return inner.take_answers();
    }
    StoreClient inner;
    const std::size_t& due;
    std::vector<std::pair<std::uint64_t, ApiCall>> waiting;
    std::size_t made = 0;
  } client(store, answers_due);
  options.unbound_pods_max = 4;
  add_nodes("a cpu=64");
  add_pods("p*8 cpu=1");
  open(client);
  for (answers_due = 0; answers_due < 4; ++answers_due) scheduler->run();
  EXPECT_EQ(pauses.size(), 1U) << "one more pod is tried for each that is bound, which is the same pause";
  answers_due = 6;
  scheduler->run();
  EXPECT_FALSE(scheduler->loop().is_paused());
  add_pods("q*4 cpu=1");
  scheduler->run();
  EXPECT_EQ(pauses.size(), 2U);
}

TEST_F(SchedulingLoopTest, AConditionNamesTheGenerationThatWasTried) {
  const auto observed = [this] { return pod("p")->find_condition("PodScheduled")->observed_generation; };
  add_nodes("a cpu=1");
  add_pods("p cpu=2 gate=g");
  open();
  settle();
  update_pod("p", [](Pod& pod) { pod.rare_fields = nullptr; });
  settle();
  EXPECT_EQ(pod("p")->meta.generation, 2);
  EXPECT_EQ(observed(), 2);
  add_pods("q cpu=2");
  settle();
  EXPECT_EQ(pod("q")->find_condition("PodScheduled")->observed_generation, 1);
}

}  // namespace
}  // namespace berth::test
