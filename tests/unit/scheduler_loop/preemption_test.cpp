// SPDX-License-Identifier: Apache-2.0
// Preemption in a cluster that lives: docs/behaviour/scheduler-core.md 4.8 and 4.10.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/support/faulty_client.h"
#include "tests/unit/scheduler_loop/loop_fixture.h"

namespace berth::test {
namespace {

using Lines = LoopFixture::Lines;

/// With gate SchedulerAsyncPreemption on and off.
class LoopPreemptionTest : public testing::TestWithParam<bool>, public LoopFixture {
 protected:
  LoopPreemptionTest() { set_gates(std::string("SchedulerAsyncPreemption=") + (GetParam() ? "true" : "false")); }
  /// A node that the pod `old` fills.
  void begin_with_old_pod() {
    add_nodes("a cpu=2");
    add_pods("old cpu=2");
    open();
    settle();
  }
};

TEST_P(LoopPreemptionTest, TheVictimLeavesInItsGracePeriodAndThePreemptorTakesItsNode) {
  begin_with_old_pod();
  add_pods("new cpu=2 priority=10");
  settle();
  EXPECT_EQ(preempted, Lines{"old for new on a"});
  EXPECT_EQ(nominated_node_of("new"), "a");
  EXPECT_TRUE(pod("old")->object->terminating);
  EXPECT_EQ(pod("old")->find_condition("DisruptionTarget")->observed_generation, 1);
  EXPECT_EQ(pod("old")->find_condition("DisruptionTarget")->message,
            "default-scheduler: preempting to accommodate a higher priority pod");
  advance_s(20);
  EXPECT_EQ(node_of("new"), "");
  EXPECT_EQ(preempted.size(), 1U) << "nobody else while the victim leaves";
  advance_s(11);
  EXPECT_EQ(node_of("old"), "gone");
  EXPECT_EQ(node_of("new"), "a");
  EXPECT_EQ(nominated_node_of("new"), "") << "the API server clears it with the binding";
}

TEST_P(LoopPreemptionTest, NodesThatGoAndComeBackInAnotherOrderStillHaveVictims) {
  for (const Lines& order : {Lines{"a", "b"}, Lines{"b", "a"}}) {
    add_nodes("a cpu=2");
    add_nodes("b cpu=2");
    add_pods("old*2 cpu=2");
    if (scheduler == nullptr) open();
    settle();
    add_pods("new cpu=2 priority=10");
    advance_s(40);
    EXPECT_NE(node_of("new"), "");
    for (const char* name : {"old0", "old1", "new"})
      if (pod(name) != nullptr) remove_pod(name, 0);
    remove_node("a");
    remove_node("b");
    settle();
    for (const std::string& name : order) add_nodes(name + " cpu=2");
    add_pods("old*2 cpu=2");
    settle();
    preempted.clear();
    add_pods("new cpu=2 priority=10");
    settle();
    ASSERT_EQ(preempted.size(), 1U) << order.front();
    const std::string victim = preempted.front().substr(0, preempted.front().find(' '));
    EXPECT_EQ(preempted.front(), victim + " for new on " + node_of(victim)) << order.front();
    advance_s(40);
    EXPECT_NE(node_of("new"), "") << order.front();
    for (const char* name : {"old0", "old1", "new"})
      if (pod(name) != nullptr) remove_pod(name, 0);
    remove_node("a");
    remove_node("b");
    settle();
  }
}

TEST_P(LoopPreemptionTest, APodOfLowerPriorityDoesNotTakeTheNominatedRoom) {
  begin_with_old_pod();
  add_pods("new cpu=2 priority=10");
  settle();
  remove_pod("old", 0);
  add_pods("thief cpu=2 priority=1");
  settle();
  EXPECT_EQ(node_of("new"), "a");
  EXPECT_EQ(node_of("thief"), "");
}

TEST_P(LoopPreemptionTest, SeveralPreemptorsTakeDifferentVictims) {
  add_nodes("a cpu=1");
  add_nodes("b cpu=1");
  add_pods("old*2 cpu=1");
  open();
  settle();
  add_pods("new*2 cpu=1 priority=10");
  settle();
  ASSERT_EQ(preempted.size(), 2U);
  advance_s(40);
  EXPECT_NE(node_of("new0"), "");
  EXPECT_NE(node_of("new1"), "");
  EXPECT_NE(node_of("new0"), node_of("new1"));
}

TEST_P(LoopPreemptionTest, NoMorePodsAreEvictedInAMinuteThanAllowed) {
  options.evictions_per_minute_max = 2;
  for (const char* name : {"a", "b", "c", "d", "e"}) add_nodes(std::string(name) + " cpu=1");
  add_pods("old*5 cpu=1");
  open();
  settle();
  add_pods("new*5 cpu=1 priority=10");
  settle();
  EXPECT_EQ(preempted.size(), 2U);
  advance_s(59);
  EXPECT_EQ(preempted.size(), 2U);
  advance_s(2);
  EXPECT_EQ(preempted.size(), 4U);
  advance_s(58);
  EXPECT_EQ(preempted.size(), 4U);
  advance_s(60);
  EXPECT_EQ(preempted.size(), 5U);
  EXPECT_EQ(std::set<std::string>(preempted.begin(), preempted.end()).size(), 5U) << "nobody is evicted twice";
  for (int i = 0; i < 5; ++i) EXPECT_NE(node_of("new" + std::to_string(i)), "") << i;
}

TEST_P(LoopPreemptionTest, AVictimThatLeavesByItselfTakesNoTurn) {
  options.evictions_per_minute_max = 1;
  add_nodes("a cpu=3");
  add_pods("old*3 cpu=1");
  open();
  settle();
  add_pods("new cpu=3 priority=10");
  settle();
  ASSERT_EQ(preempted.size(), 1U);
  const std::string first = preempted.front().substr(0, 4);
  remove_pod(first == "old0" ? "old1" : "old0", 0);
  advance_s(61);
  EXPECT_EQ(preempted.size(), 2U) << "the third one goes a minute after the first";
  advance_s(40);
  EXPECT_EQ(node_of("new"), "a");
}

TEST_P(LoopPreemptionTest, AMoreImportantPreemptorClearsTheNominationOfALesserOne) {
  begin_with_old_pod();
  add_pods("middle cpu=2 priority=5");
  settle();
  EXPECT_EQ(nominated_node_of("middle"), "a");
  add_pods("high cpu=2 priority=10");
  settle();
  EXPECT_EQ(nominated_node_of("high"), "a");
  EXPECT_EQ(preempted.size(), 1U) << "the victim is being deleted already";
  advance_s(40);
  EXPECT_EQ(node_of("high"), "a");
  EXPECT_EQ(node_of("middle"), "");
}

TEST_P(LoopPreemptionTest, APreemptorThatPreemptsAgainOnItsNodeKeepsItsNomination) {
  Lines patches;
  FaultyClient client(store, [&](const ApiCall& call) {
    if (const auto* const patch = std::get_if<PodStatusPatch>(&call.request); patch && patch->nominated_node_name)
      patches.push_back(call.pod->name + " '" + *patch->nominated_node_name + "'");
    return CallFault();
  });
  add_nodes("a cpu=4");
  add_pods("old*2 cpu=2");
  open(client);
  settle();
  add_pods("new cpu=2 priority=5");
  settle();
  ASSERT_EQ(preempted.size(), 1U);
  add_pods("high cpu=2 priority=10");
  remove_pod(preempted.front().substr(0, 4), 0);
  settle();
  ASSERT_EQ(node_of("high"), "a");
  EXPECT_EQ(preempted.size(), 2U);
  EXPECT_EQ(patches, Lines{"new 'a'"}) << "a stub of the nominator has no nomination to clear";
  EXPECT_EQ(std::count(attempts.begin(), attempts.end(), "new unschedulable"), 2);
}

TEST_P(LoopPreemptionTest, APodThatIsDeletedWhileItPreemptsIsGone) {
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    if (std::holds_alternative<DeleteOptions>(call.request)) fault.answer_us = 2'000'000;
    return fault;
  });
  add_nodes("a cpu=2");
  add_pods("old cpu=2");
  open(client);
  settle();
  add_pods("new cpu=2 priority=10");
  settle();
  remove_pod("new", 0);
  add_pods("next cpu=2");
  advance_s(60);
  EXPECT_EQ(queue().sizes(), SchedulingQueue::Sizes());
  EXPECT_EQ(queue().nominator().size(), 0U);
  EXPECT_EQ(node_of("next"), "a");
}

TEST_P(LoopPreemptionTest, APodThatMayNotPreemptWaits) {
  begin_with_old_pod();
  const std::shared_ptr<Pod> pod = copy_of(*make_pods({"pod", "meek", "cpu=2", "priority=10"}).front());
  pod->preemption_policy = PreemptionPolicy::kNever;
  store.create<Pod>(pod);
  settle();
  EXPECT_TRUE(preempted.empty());
  EXPECT_EQ(condition_of("meek"),
            "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not "
            "eligible due to "
            "preemptionPolicy=Never.");
}

TEST_P(LoopPreemptionTest, ANominationEndsWithItsPod) {
  begin_with_old_pod();
  add_pods("new cpu=2 priority=10");
  settle();
  remove_pod("new");
  remove_pod("old", 0);
  add_pods("next cpu=2");
  settle();
  EXPECT_EQ(node_of("next"), "a");
}

TEST_P(LoopPreemptionTest, StrictBudgetsCountTheEvictionsOfTheLoop) {
  options.preemption.keeps_budgets = true;
  CreateOptions with_status;
  with_status.keeps_status = true;
  PodDisruptionBudget budget{"one", "default", LabelSelector{}, 1, {}};
  budget.selector->match_labels = make_pods({"pod", "x", "label:app=old"}).front()->labels;
  store.create<PodDisruptionBudget>(std::make_shared<const PodDisruptionBudget>(budget), with_status);
  add_nodes("a*2 cpu=1");
  add_pods("old*2 cpu=1 label:app=old");
  open();
  settle();
  add_pods("new*2 cpu=1 priority=10");
  settle();
  EXPECT_EQ(preempted.size(), 1U) << "the budget allows one";
}

/// What is asked of the API server for a preemptor that takes the node of a lower nomination: "clear", "mark",
/// "delete".
class LowerNominationTest : public LoopPreemptionTest {
 protected:
  Lines calls_of_preemption(const std::function<CallFault(const std::string& call)>& plan) {
    FaultyClient client(store, [&](const ApiCall& call) {
      const std::string name = name_of(call);
      if (!name.empty()) calls.push_back(name);
      return plan(name);
    });
    add_nodes("a cpu=4");
    add_pods("old*2 cpu=2");
    open(client);
    settle();
    add_pods("low cpu=2 priority=5");
    settle();
    calls.clear();
    high_came = true;
    add_pods("high cpu=4 priority=10");
    settle();
    scheduler.reset();
    return calls;
  }
  static std::string name_of(const ApiCall& call) {
    if (std::holds_alternative<DeleteOptions>(call.request)) return "delete";
    const auto* const patch = std::get_if<PodStatusPatch>(&call.request);
    if (patch == nullptr) return "";
    if (patch->nominated_node_name == std::string()) return "clear";
    const bool marks = !patch->conditions.empty() && patch->conditions.front().type == "DisruptionTarget";
    return marks ? "mark" : "";
  }
  Lines calls;
  bool high_came = false;
};

TEST_P(LowerNominationTest, IsClearedBeforeTheEvictionsOrAfterThem) {
  const Lines asked = calls_of_preemption([](const std::string&) { return CallFault(); });
  const auto cleared = std::find(asked.begin(), asked.end(), "clear");
  const auto deleted = std::find(asked.begin(), asked.end(), "delete");
  ASSERT_NE(cleared, asked.end());
  ASSERT_NE(deleted, asked.end());
  EXPECT_EQ(cleared < deleted, GetParam());
}

TEST_P(LowerNominationTest, StaysWhereAnEvictionFails) {
  const Lines asked = calls_of_preemption([this](const std::string& call) {
    CallFault fault;
    if (high_came && call == "mark") fault.refusal = {StoreReason::kInternalError, "no"};
    return fault;
  });
  EXPECT_EQ(std::count(asked.begin(), asked.end(), "clear") > 0, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Gates, LowerNominationTest, testing::Bool(),
                         [](const auto& gate) { return gate.param ? "asynchronous" : "synchronous"; });
INSTANTIATE_TEST_SUITE_P(Gates, LoopPreemptionTest, testing::Bool(),
                         [](const auto& gate) { return gate.param ? "asynchronous" : "synchronous"; });

/// A PostFilter plugin from outside, before DefaultPreemption or after it.
class LoopPostFilterTest : public testing::Test, public LoopFixture {
 protected:
  enum class Place : std::uint8_t { kBefore, kAfter };
  void begin_with_plugin(Place place, const PostFilterAnswer& answer) {
    struct Answering : PostFilterPlugin {
      Answering(LoopPostFilterTest& in_test, PostFilterAnswer says) : test(in_test), answer(std::move(says)) {}
      std::string_view name() const override { return "Outside"; }
      PostFilterAnswer post_filter(const RefusedPod& refused) override {
        test.asked.push_back(refused.pod.name + " " + refused.nodes.front()->name + " " +
                             refused.statuses.front().plugin);
        return answer;
      }
      LoopPostFilterTest& test;
      PostFilterAnswer answer;
    };
    options.plugins.add("Outside", [this, answer](const Profile&, const FrameworkHandle&) {
      return std::make_unique<Answering>(*this, answer);
    });
    for (Profile& profile : options.config.profiles) {
      auto& plugins = profile.plugins[static_cast<std::size_t>(ExtensionPoint::kPostFilter)];
      plugins.insert(place == Place::kBefore ? plugins.begin() : plugins.end(), EnabledPlugin{"Outside", 0});
    }
    add_nodes("a cpu=2");
    add_pods("old cpu=2");
    open();
    settle();
  }
  std::string message_of(const std::string& name) { return pod(name)->find_condition("PodScheduled")->message; }

  Lines asked;
};

TEST_F(LoopPostFilterTest, SuccessBeforeDefaultPreemptionNominatesAndEvictsNobody) {
  begin_with_plugin(Place::kBefore, {{}, "a"});
  add_pods("new cpu=2 priority=10");
  settle();
  EXPECT_EQ(asked, Lines{"new a NodeResourcesFit"});
  EXPECT_TRUE(preempted.empty());
  EXPECT_EQ(nominated_node_of("new"), "a");
}

TEST_F(LoopPostFilterTest, ARefusalBeforeDefaultPreemptionIsFollowedByIt) {
  begin_with_plugin(Place::kBefore, {{StatusCode::kUnschedulable, "", {"not here"}}, std::nullopt});
  add_pods("new cpu=2 priority=10");
  add_pods("low cpu=2");
  settle();
  EXPECT_EQ(preempted, Lines{"old for new on a"});
  EXPECT_EQ(nominated_node_of("new"), "a");
  EXPECT_NE(message_of("low").find("Insufficient cpu. not here, "), std::string::npos) << message_of("low");
  EXPECT_NE(message_of("low").find("preemption: "), std::string::npos) << message_of("low");
}

TEST_F(LoopPostFilterTest, UnresolvableBeforeDefaultPreemptionEndsPostFilter) {
  begin_with_plugin(Place::kBefore, {{StatusCode::kUnschedulableAndUnresolvable, "", {"never"}}, std::nullopt});
  add_pods("new cpu=2 priority=10");
  settle();
  EXPECT_TRUE(preempted.empty());
  EXPECT_EQ(nominated_node_of("new"), "");
  EXPECT_TRUE(message_of("new").ends_with("Insufficient cpu. never")) << message_of("new");
}

TEST_F(LoopPostFilterTest, AnErrorBeforeDefaultPreemptionEndsPostFilter) {
  begin_with_plugin(Place::kBefore, {{StatusCode::kError, "", {"broken"}}, std::nullopt});
  add_pods("new cpu=2 priority=10");
  settle();
  EXPECT_TRUE(preempted.empty());
  EXPECT_TRUE(message_of("new").ends_with("Insufficient cpu. broken")) << message_of("new");
}

TEST_F(LoopPostFilterTest, AfterDefaultPreemptionItIsAskedOnlyWhereNobodyIsEvicted) {
  begin_with_plugin(Place::kAfter, {{}, "a"});
  add_pods("new cpu=2 priority=10");
  settle();
  EXPECT_EQ(preempted, Lines{"old for new on a"});
  EXPECT_TRUE(asked.empty());
  add_pods("low cpu=2");
  settle();
  EXPECT_EQ(asked, Lines{"low a NodeResourcesFit"});
  EXPECT_EQ(nominated_node_of("low"), "a");
}

}  // namespace
}  // namespace berth::test
