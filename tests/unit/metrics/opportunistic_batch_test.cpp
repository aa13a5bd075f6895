// SPDX-License-Identifier: Apache-2.0
// Opportunistic batching in scripted runs of the scheduling loop: which pods get a hint, what it does, and what the
// metrics say. docs/behaviour/scheduler-core.md 6.

#include <gtest/gtest.h>

#include "host/metrics/exposition.h"
#include "host/metrics/scheduler_metrics.h"
#include "tests/unit/metrics/exposition_text.h"
#include "tests/unit/scheduler_loop/loop_fixture.h"

namespace berth::test {
namespace {

class OpportunisticBatchTest : public testing::Test, public LoopFixture {
 protected:
  OpportunisticBatchTest() {
    options.meter = &metrics;
    options.engine.batching = Batching::kKube;
    for (Profile& profile : options.config.profiles) profile.args.pod_topology_spread.system_defaulting = false;
  }

  /// N1 > N2 > N3 > N4 for a pod that asks for little, each with room for `pods` of them.
  void add_ranked_nodes(int pods) {
    for (int i = 1; i <= 4; ++i)
      add_nodes("N" + std::to_string(i) + " cpu=" + std::to_string(12 - 2 * i) +
                " memory=32Gi pods=" + std::to_string(pods));
  }
  double value(const std::string& sample) const {
    const auto all = parse_exposition(metrics_text(LoopCollectable(metrics, scheduler->loop()).Collect())).values;
    const auto at = all.find("scheduler_" + sample);
    return at == all.end() ? 0 : at->second;
  }
  double attempts_with(const std::string& result, const std::string& profile = "default-scheduler") const {
    return value("batch_attempts_total{profile=\"" + profile + "\",result=\"" + result + "\"}");
  }
  double flushed(const std::string& reason, const std::string& profile = "default-scheduler") const {
    return value("batch_cache_flushed_total{profile=\"" + profile + "\",reason=\"" + reason + "\"}");
  }
  double timed(const std::string& hinted) const {
    return value("get_node_hint_duration_seconds_count{hinted=\"" + hinted + "\",profile=\"default-scheduler\"}");
  }

  SchedulerMetrics metrics{clock};
};

TEST_F(OpportunisticBatchTest, TheExampleOfTheSpecification) {
  add_ranked_nodes(1);
  add_pods("c10 cpu=1");
  add_pods("c11 cpu=1");
  add_pods("c12 cpu=2");
  add_pods("c13 cpu=1");
  open();
  settle();
  EXPECT_EQ(bound, (Lines{"c10 on N1", "c11 on N2", "c12 on N3", "c13 on N4"}));
  EXPECT_EQ(attempts_with("no_hint"), 3);
  EXPECT_EQ(attempts_with("hint_used"), 1);
  EXPECT_EQ(attempts_with("hint_not_used"), 0);
  EXPECT_EQ(flushed("pod_incompatible"), 2);
  EXPECT_EQ(timed("hint"), 1);
  EXPECT_EQ(timed("no_hint"), 3);
  EXPECT_EQ(value("store_schedule_results_duration_seconds_count{profile=\"default-scheduler\"}"), 4);
}

TEST_F(OpportunisticBatchTest, AHintIsNotScored) {
  add_ranked_nodes(1);
  add_pods("p*2 cpu=1");
  open();
  settle();
  EXPECT_EQ(bound, (Lines{"p0 on N1", "p1 on N2"}));
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_GT(scores[0], 0);
  EXPECT_EQ(scores[1], 0);
}

TEST_F(OpportunisticBatchTest, NodesThatHoldTwoEndTheBatch) {
  add_ranked_nodes(2);
  add_pods("p*3 cpu=1");
  open();
  settle();
  EXPECT_EQ(attempts_with("no_hint"), 3);
  EXPECT_EQ(flushed("node_not_full"), 2);
}

TEST_F(OpportunisticBatchTest, OtherPodsInBetweenEndTheBatch) {
  add_ranked_nodes(1);
  add_pods("a cpu=1");
  add_pods("b cpu=99");
  add_pods("c cpu=1");
  open();
  settle();
  EXPECT_EQ(flushed("pod_incompatible"), 1) << "of the pod that fits nowhere, which stores nothing";
  EXPECT_EQ(flushed("pod_skipped"), 1);
  EXPECT_EQ(attempts_with("no_hint"), 3);
}

TEST_F(OpportunisticBatchTest, AHintIsHalfASecondOldAtMost) {
  add_ranked_nodes(1);
  open();
  add_pods("a cpu=1");
  settle();
  clock.advance_to(clock.now_us() + 500'000);
  add_pods("b cpu=1");
  settle();
  EXPECT_EQ(attempts_with("hint_used"), 1);
  clock.advance_to(clock.now_us() + 1);
  add_pods("c cpu=1");
  settle();
  EXPECT_EQ(flushed("expired"), 1) << "its age is that of the search, and not of the last hint";
  EXPECT_EQ(attempts_with("hint_used"), 1);
}

TEST_F(OpportunisticBatchTest, TheLastNodeMayBeGone) {
  add_ranked_nodes(1);
  open();
  add_pods("a cpu=1");
  settle();
  remove_node("N1");
  add_pods("b cpu=1");
  settle();
  EXPECT_EQ(flushed("node_missing"), 1);
}

TEST_F(OpportunisticBatchTest, AHintThatDoesNotFitAnyMoreIsNotUsed) {
  add_ranked_nodes(1);
  open();
  add_pods("a cpu=1");
  settle();
  add_pods("other on=N2 cpu=1");
  add_pods("b cpu=1");
  settle();
  EXPECT_EQ(bound, (Lines{"a on N1", "b on N3"}));
  EXPECT_EQ(attempts_with("hint_not_used"), 1);
  EXPECT_EQ(attempts_with("no_hint"), 1);
}

TEST_F(OpportunisticBatchTest, AHintedNodeThatIsGoneIsNotUsed) {
  add_ranked_nodes(1);
  open();
  add_pods("a cpu=1");
  settle();
  remove_node("N2");
  add_pods("b cpu=1");
  settle();
  EXPECT_EQ(bound, (Lines{"a on N1", "b on N3"}));
  EXPECT_EQ(attempts_with("hint_not_used"), 1);
}

TEST_F(OpportunisticBatchTest, AHintThatFitsNoPodIsNoAttempt) {
  add_nodes("N1 cpu=8 pods=1");
  add_nodes("N2 cpu=4 pods=1");
  open();
  add_pods("a cpu=1");
  settle();
  add_pods("other on=N2 cpu=1");
  add_pods("b cpu=1");
  settle();
  EXPECT_EQ(node_of("b"), "");
  EXPECT_EQ(attempts_with("hint_used") + attempts_with("hint_not_used"), 0);
  EXPECT_EQ(timed("hint"), 1);
}

TEST_F(OpportunisticBatchTest, ANominationWinsOverAHint) {
  add_ranked_nodes(1);
  open();
  add_pods("a cpu=1");
  settle();
  CreateOptions with_status;
  with_status.keeps_status = true;
  store.create<Pod>(make_pods({"pod", "b", "cpu=1", "nominated=N4"}).front(), with_status);
  settle();
  EXPECT_EQ(bound, (Lines{"a on N1", "b on N4"}));
  EXPECT_EQ(attempts_with("hint_not_used"), 1);
  EXPECT_EQ(flushed("empty_list"), 1);
}

TEST_F(OpportunisticBatchTest, OneFeasibleNodeLeavesNothingToKeep) {
  add_nodes("N1 cpu=8 pods=1");
  add_pods("a cpu=1");
  open();
  settle();
  EXPECT_EQ(flushed("empty_list"), 1);
}

TEST_F(OpportunisticBatchTest, PodsWithoutASignatureKeepNothing) {
  add_ranked_nodes(1);
  add_pods("a cpu=1 pod-affinity=zone match=app=none");
  add_pods("b cpu=1");
  open();
  settle();
  EXPECT_EQ(flushed("pod_not_batchable"), 0) << "a fits nowhere";
  add_pods("c cpu=1 soft-spread=zone match=app=none");
  settle();
  EXPECT_EQ(flushed("pod_not_batchable"), 1);
}

TEST_F(OpportunisticBatchTest, APodThatPreFilterRefusesDoesNotAsk) {
  add_ranked_nodes(1);
  add_pods("a cpu=1 need=@metadata.name:In:N1&@metadata.name:In:N2");
  open();
  settle();
  EXPECT_EQ(node_of("a"), "");
  EXPECT_EQ(timed("no_hint") + timed("hint"), 0);
}

TEST_F(OpportunisticBatchTest, WithoutNodesNoHintIsLookedUp) {
  add_pods("a cpu=1");
  open();
  settle();
  EXPECT_EQ(timed("no_hint") + timed("hint"), 0);
}

TEST_F(OpportunisticBatchTest, ProfilesKeepForThemselvesButCountCyclesTogether) {
  options.config.profiles.push_back(options.config.profiles.front());
  options.config.profiles.back().scheduler_name = "second";
  add_ranked_nodes(1);
  add_pods("a cpu=1");
  const std::shared_ptr<Pod> other = copy_of(*make_pods({"pod", "b", "cpu=1"}).front());
  PodSpec spec = *other->spec;
  spec.scheduler_name = "second";
  other->spec = std::make_shared<const PodSpec>(spec);
  store.create<Pod>(other);
  add_pods("c cpu=1");
  open();
  settle();
  EXPECT_EQ(attempts_with("no_hint"), 2);
  EXPECT_EQ(attempts_with("no_hint", "second"), 1);
  EXPECT_EQ(flushed("pod_skipped"), 1);
}

TEST_F(OpportunisticBatchTest, TheGateTurnsItOff) {
  set_gates("OpportunisticBatching=false");
  add_ranked_nodes(1);
  add_pods("p*3 cpu=1");
  open();
  settle();
  EXPECT_EQ(bound.size(), 3u);
  EXPECT_EQ(attempts_with("no_hint"), 0);
}

TEST_F(OpportunisticBatchTest, TheSystemsSpreadingLeavesNoPodASignature) {
  for (Profile& profile : options.config.profiles) profile.args.pod_topology_spread = {};
  add_ranked_nodes(1);
  add_pods("p*3 cpu=1");
  open();
  settle();
  EXPECT_EQ(attempts_with("no_hint"), 3);
  EXPECT_EQ(flushed("pod_not_batchable"), 3);
}

}  // namespace
}  // namespace berth::test
