// SPDX-License-Identifier: Apache-2.0
// Plugins on the host behind the interface of a backend: tests/support/host_plugins.h says what they do.

#include <stdexcept>

#include "tests/contract/backend_contract.h"
#include "tests/support/host_plugins.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

class HostPluginContract : public BackendContract {
 protected:
  void SetUp() override {
    host_plugins_ = make_host_plugins(state_);
    BackendContract::SetUp();
  }
  BatchResult place_all() { return commit_with_refills(compiled(scenario_.pending()), {}, *backend_); }
  /// The texts of the pods without a node, in order.
  std::vector<std::string> messages() {
    std::vector<std::string> texts;
    const BatchResult result = place_all();
    for (const Outcome& outcome : result.outcomes)
      if (outcome.message >= 0) texts.push_back(result.messages[static_cast<std::size_t>(outcome.message)].text);
    return texts;
  }
  std::shared_ptr<HostPluginState> state_ = std::make_shared<HostPluginState>();
};

TEST_P(HostPluginContract, RefusesNodesWithCodeAndReason) {
  given("node n cpu=8 memory=8Gi\npod p claim=a claim=b claim=c claim=e claim=f claim=g");
  expect_refusal("p", "n", "NodeVolumeLimits", StatusCode::kUnschedulable, {"node(s) exceed max volume count"});
  EXPECT_EQ(fit_error("p"), "0/1 nodes are available: 1 node(s) exceed max volume count.");
}

TEST_P(HostPluginContract, ComesAfterThePluginsBeforeItInTheProfile) {
  given("node n cpu=1 memory=8Gi taint=k=v:NoSchedule\npod p cpu=2 claim=a claim=b claim=c claim=e claim=f claim=g");
  expect_refusal("p", "n", "TaintToleration", StatusCode::kUnschedulableAndUnresolvable,
                 {"node(s) had untolerated taint(s)"});
  given("node n cpu=1 memory=8Gi\npod p cpu=2 claim=a claim=b claim=c claim=e claim=f claim=g");
  EXPECT_EQ(ask("p", "n").status.plugin, "NodeResourcesFit");
}

TEST_P(HostPluginContract, SeesThePlacementsOfTheBatch) {
  given("node a cpu=8 memory=8Gi\nnode b cpu=8 memory=8Gi\npod p claim=x1\npod q claim=x1\npod r claim=x2");
  const BatchResult result = place_all();
  ASSERT_EQ(result.outcomes.size(), 3U);
  EXPECT_EQ(result.outcomes[0].kind, OutcomeKind::kPlaced);
  EXPECT_EQ(result.outcomes[2].kind, OutcomeKind::kPlaced);
  EXPECT_EQ(
      result.messages,
      (std::vector<Message>{{"0/2 nodes are available: 2 another pod uses the claim.", {"VolumeRestrictions"}, 2}}));
}

TEST_P(HostPluginContract, UndoneAndRolledBackPlacementsDoNotCount) {
  given("node a cpu=8 memory=8Gi\npod p claim=x1\npod q claim=x1\npod r claim=x1");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  const auto kind_of = [&](std::size_t i) {
    return commit_with_refills(std::span(pods).subspan(i, 1), {}, *backend_).outcomes.front().kind;
  };
  const CommitMark before = backend_->mark();
  EXPECT_EQ(kind_of(0), OutcomeKind::kPlaced);
  EXPECT_EQ(kind_of(1), OutcomeKind::kUnschedulable);
  backend_->rollback(before);
  EXPECT_EQ(kind_of(1), OutcomeKind::kPlaced);
  EXPECT_EQ(kind_of(2), OutcomeKind::kUnschedulable);
  EXPECT_TRUE(backend_->undo(*pods[1].pod));
  EXPECT_EQ(kind_of(2), OutcomeKind::kPlaced);
}

TEST_P(HostPluginContract, PreFilterEndsTheCycle) {
  given(
      "node a cpu=8 memory=8Gi\nnode b cpu=8 memory=8Gi\npod p claim=zbroken\npod q claim=znever\npod r claim=zghost");
  EXPECT_EQ(messages(),
            (std::vector<std::string>{"running PreFilter plugin \"VolumeZone\": the claim is broken",
                                      "0/2 nodes are available: never, ever.",
                                      "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [VolumeZone]."}));
}

TEST_P(HostPluginContract, AnErrorOfPreFilterIsToldWhateverNodesAreAsked) {
  given("node a cpu=8 memory=8Gi\npod p claim=zbroken\npod q claim=znever");
  const std::vector<PodToPlace> pods = prepared({pod("p"), pod("q")});
  const NodeIndex a = node("a");
  for (const std::span<const NodeIndex> nodes : {std::span<const NodeIndex>(), std::span(&a, 1)}) {
    EXPECT_EQ(backend_->verdicts_on(pods[0], nodes).error,
              "running PreFilter plugin \"VolumeZone\": the claim is broken");
    EXPECT_EQ(backend_->verdicts_on(pods[1], nodes).error, "");
    EXPECT_EQ(backend_->verdicts_on(pods[1], nodes).nodes.size(), nodes.size());
  }
}

TEST_P(HostPluginContract, APluginThatThrowsEndsTheCycleWithItsText) {
  given("node a cpu=8 memory=8Gi\nnode b cpu=8 memory=8Gi\npod p claim=zthrow\npod q");
  EXPECT_EQ(messages(), (std::vector<std::string>{"running \"VolumeZone\" filter plugin: no zone today"}));
}

TEST_P(HostPluginContract, APodThatCannotBeSignedIsAClassOfItsOwn) {
  given("node a cpu=8 memory=8Gi\npod p claim=uthrow\npod q claim=uthrow\npod r claim=u1\npod s claim=u1");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  if (pods[0].class_index < 0) GTEST_SKIP() << GetParam() << " has no classes";
  EXPECT_NE(pods[0].class_index, pods[1].class_index);
  EXPECT_NE(pods[2].class_index, pods[3].class_index);
}

TEST_P(HostPluginContract, EvictionHelpsWhereThePluginSaysSo) {
  given("node a cpu=8 memory=8Gi\npod v on=a claim=xb1\npod p claim=xb1 priority=5\npod q claim=znever");
  const std::vector<PodToPlace> pods = prepared({pod("p"), pod("q")});
  const PodVerdicts verdicts = backend_->verdicts(pods[0]);
  EXPECT_EQ(verdicts.nodes.front(), (NodeVerdict{StatusCode::kUnschedulable, "VolumeRestrictions", true}));
  EXPECT_EQ(verdicts.rejectors, (PluginNames{"VolumeRestrictions"}));
  EXPECT_FALSE(backend_->verdicts(pods[1]).nodes.front().eviction_can_help());
  const PodPtr standing = pod("v");
  const Victim victim{standing.get()};
  const VictimList list{node("a"), {&victim, 1}};
  const VictimList nobody{node("a"), {}};
  const VictimList lists[] = {list, nobody};
  const DryRun runs[] = {{0, 0}, {0, 1}, {1, 0}};
  const DryRunResult result = backend_->dry_run({pods, lists, runs});
  EXPECT_TRUE(result.answers[0].without_victims.accepts());
  EXPECT_FALSE(result.keeps(result.answers[0], 0));
  EXPECT_FALSE(result.answers[1].without_victims.accepts());
  EXPECT_FALSE(result.answers[2].without_victims.accepts());
}

TEST_P(HostPluginContract, NodesThatWaitForSomethingOutsideRejectAndNoEvictionHelps) {
  given("node a cpu=8 memory=8Gi\nnode b cpu=1 memory=8Gi\npod v on=a\npod p cpu=2 claim=zlater priority=5");
  expect_refusal("p", "a", "VolumeZone", StatusCode::kPending, {"the zone comes later"});
  const PodVerdicts verdicts = backend_->verdicts(prepared({pod("p")}).front());
  EXPECT_FALSE(verdicts.nodes[static_cast<std::size_t>(node("a").value)].eviction_can_help());
  const BatchResult result = place_all();
  ASSERT_EQ(result.outcomes.size(), 1U);
  EXPECT_EQ(result.outcomes.front().kind, OutcomeKind::kUnschedulable);
  EXPECT_EQ(result.messages.front().pending, PluginNames{"VolumeZone"});
  EXPECT_EQ(result.messages.front().rejectors, verdicts.rejectors);
  EXPECT_EQ(fit_error("p"), result.messages.front().text);
}

TEST_P(HostPluginContract, NominatedPodsCountOnTheirNode) {
  given("node a cpu=8 memory=8Gi\npod n claim=x1 nominated=a priority=9\npod p claim=x1");
  EXPECT_EQ(fit_error("p"), "0/1 nodes are available: 1 another pod uses the claim.");
}

TEST_P(HostPluginContract, ForksSeeTheirOwnPlacements) {
  given("node a cpu=8 memory=8Gi\nnode b cpu=8 memory=8Gi\npod p claim=x1\npod q claim=x1");
  const std::vector<PodToPlace> pods = prepared(scenario_.pending());
  const std::unique_ptr<Fork> fork = backend_->fork();
  const BatchResult in_fork = fork->commit_batch(pods, {});
  ASSERT_EQ(in_fork.outcomes.size(), 2U);
  EXPECT_EQ(in_fork.outcomes[0].kind, OutcomeKind::kPlaced);
  EXPECT_EQ(in_fork.outcomes[1].kind, OutcomeKind::kUnschedulable);
  EXPECT_EQ(backend_->evaluate(pods[1]).message, "");
  const std::span<const PodToPlace> lists[] = {pods, std::span(pods).last(1)};
  const std::vector<BatchResult> tried = backend_->try_forks(lists, {});
  EXPECT_EQ(tried[0].outcomes[1].kind, OutcomeKind::kUnschedulable);
  EXPECT_EQ(tried[1].outcomes[0].kind, OutcomeKind::kPlaced);
}

TEST_P(HostPluginContract, StopsBeforeAPodWhoseColumnIsStale) {
  given("node a cpu=8 memory=8Gi\nnode b cpu=8 memory=8Gi\npod o\npod p claim=a\npod q claim=a\npod r");
  if (backend_->name() == "reference")
    GTEST_SKIP() << "the reference has no columns: it asks for each pod and never stops";
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  BatchResult result = backend_->commit_batch(pods, {});
  EXPECT_EQ(result.stop, StopReason::kHostPlugin);
  EXPECT_TRUE(result.outcomes.empty());
  backend_->refill(pods);
  result = backend_->commit_batch(pods, {});
  EXPECT_EQ(result.stop, StopReason::kHostPlugin);
  ASSERT_EQ(result.outcomes.size(), 2U);  // the placement of p changes what is known of q
  const std::int64_t asked = backend_->stats().host_nodes;
  backend_->refill(std::span(pods).subspan(2));
  EXPECT_EQ(backend_->stats().host_nodes, asked + 1);  // of the node of p
  result = backend_->commit_batch(std::span(pods).subspan(2), {});
  EXPECT_EQ(result.stop, StopReason::kDone);
  EXPECT_EQ(result.outcomes.size(), 2U);
  EXPECT_EQ(backend_->stats().host_stops, 2);
  EXPECT_EQ(backend_->stats().host_pods, 2);
}

TEST_P(HostPluginContract, ANewVersionMakesAllColumnsOfThePluginStale) {
  given("node a cpu=8 memory=8Gi\npod p claim=z1\npod q");
  if (backend_->name() == "reference")
    GTEST_SKIP() << "the reference has no columns: it asks for each pod and never stops";
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  backend_->refill(pods);
  ++state_->version;
  EXPECT_EQ(backend_->commit_batch(pods, {}).stop, StopReason::kHostPlugin);
  backend_->refill(pods);
  EXPECT_EQ(backend_->commit_batch(pods, {}).stop, StopReason::kDone);
}

TEST_P(HostPluginContract, APluginCannotBeRegisteredTwice) {
  host_plugins_.push_back(host_plugins_.front());
  EXPECT_THROW(given("node a cpu=8"), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(All, HostPluginContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace
}  // namespace berth::test
