// SPDX-License-Identifier: Apache-2.0
// Which plugins refuse: the rejectors of outcomes and evaluations, and Backend::verdicts().

#include <algorithm>
#include <string>
#include <vector>

#include "tests/contract/backend_contract.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

using Messages = std::vector<Message>;

constexpr StatusCode kResolvable = StatusCode::kUnschedulable;
constexpr StatusCode kUnresolvable = StatusCode::kUnschedulableAndUnresolvable;

class VerdictsContract : public BackendContract {
 protected:
  PluginNames rejectors_of(std::string_view name) {
    const Evaluation evaluation = ask(name);
    const BatchResult result = place({pod(name)});
    EXPECT_EQ(result.messages.size(), 1u);
    EXPECT_EQ(result.messages.front().rejectors, evaluation.rejectors);
    return result.messages.front().rejectors;
  }
  PodVerdicts verdicts(std::string_view name) { return backend_->verdicts(prepared({pod(name)}).front()); }
};

TEST_P(VerdictsContract, RejectorsAreTheFirstRefusingPluginOfEachNode) {
  given(
      "node a cpu=1 unschedulable taint=t:NoSchedule\nnode b cpu=1 taint=t:NoSchedule\nnode c cpu=1\nnode d cpu=1\n"
      "pod old on=d port=80\npod p cpu=2 port=80");
  EXPECT_EQ(rejectors_of("p"), (PluginNames{"NodeUnschedulable", "TaintToleration", "NodePorts", "NodeResourcesFit"}));
}

TEST_P(VerdictsContract, TopologyPluginsAreRejectors) {
  given(
      "node a zone=1 host\nnode b zone=2 host\npod web on=a label:app=web\n"
      "pod s label:app=web spread=zone match=app=web select:none=x\n"
      "pod t label:app=web spread=zone match=app=web node-affinity=Ignore need=@metadata.name:In:a\n"
      "pod u label:app=web pod-anti-affinity=zone match=app=web need=@metadata.name:In:a\n"
      "pod v pod-affinity=zone match=app=other");
  EXPECT_EQ(rejectors_of("s"), PluginNames{"NodeAffinity"});
  EXPECT_EQ(rejectors_of("t"), (PluginNames{"NodeAffinity", "PodTopologySpread"}));
  EXPECT_EQ(rejectors_of("u"), (PluginNames{"NodeAffinity", "InterPodAffinity"}));
  EXPECT_EQ(rejectors_of("v"), PluginNames{"InterPodAffinity"});
}

TEST_P(VerdictsContract, APluginWhosePreFilterRefusesIsTheOnlyRejector) {
  given("node a cpu=1\nnode b cpu=1\npod p cpu=2 need=@metadata.name:In:a&@metadata.name:In:b");
  EXPECT_EQ(rejectors_of("p"), PluginNames{"NodeAffinity"});
}

TEST_P(VerdictsContract, APluginWhosePreFilterNamesNodesIsARejector) {
  given(
      "node a cpu=1\nnode b cpu=1\npod some cpu=2 need=@metadata.name:In:a\n"
      "pod all cpu=2 need=@metadata.name:In:a need=@metadata.name:In:b\npod plain cpu=2");
  EXPECT_EQ(rejectors_of("some"), (PluginNames{"NodeAffinity", "NodeResourcesFit"}));
  EXPECT_EQ(rejectors_of("all"), (PluginNames{"NodeAffinity", "NodeResourcesFit"})) << "even when it names every node";
  EXPECT_EQ(rejectors_of("plain"), PluginNames{"NodeResourcesFit"});
}

TEST_P(VerdictsContract, EqualTextsOfDifferentPluginsAreDifferentMessages) {
  given("node a cpu=1\npod named cpu=2 need=@metadata.name:In:a\npod plain*2 cpu=2");
  const BatchResult result = place({pod("plain0"), pod("named"), pod("plain1")});
  const std::string text = "0/1 nodes are available: 1 Insufficient cpu.";
  EXPECT_EQ(result.messages, (Messages{{text, {"NodeResourcesFit"}}, {text, {"NodeAffinity", "NodeResourcesFit"}}}));
  EXPECT_EQ(result.outcomes[0].message, result.outcomes[2].message);
}

TEST_P(VerdictsContract, ANominatedPodMakesThePluginARejector) {
  given("node a cpu=4\npod chosen cpu=3 nominated=a priority=10\npod p cpu=2");
  EXPECT_EQ(rejectors_of("p"), PluginNames{"NodeResourcesFit"});
}

TEST_P(VerdictsContract, ThePluginThatRefusesTheOwnNominatedNodeIsARejector) {
  // Outside PreFilter's node set, and filtered all the same.
  given("node a cpu=1 unschedulable\nnode b cpu=1\npod p cpu=2 nominated=a need=@metadata.name:In:b");
  const BatchResult result = place({pod("p")});
  EXPECT_EQ(result.messages.front().rejectors, (PluginNames{"NodeAffinity", "NodeResourcesFit", "NodeUnschedulable"}));
  given("node a cpu=1 unschedulable\nnode b cpu=1\npod p cpu=2 nominated=a need=@metadata.name:In:b");
  EXPECT_EQ(verdicts("p").nodes,
            (std::vector<NodeVerdict>{{kUnresolvable, "NodeUnschedulable"}, {kUnresolvable, "NodeResourcesFit"}}));
}

TEST_P(VerdictsContract, ErrorsAndEmptyClustersHaveNoRejectors) {
  given("node a\npod p resource-claim=gpu");
  EXPECT_TRUE(rejectors_of("p").empty());
  EXPECT_NE(verdicts("p").error.find("DynamicResources"), std::string::npos);
  EXPECT_TRUE(verdicts("p").nodes.empty());
  given("pod p");
  EXPECT_TRUE(rejectors_of("p").empty());
  EXPECT_TRUE(verdicts("p").nodes.empty());
  EXPECT_EQ(verdicts("p").error, "");
}

TEST_P(VerdictsContract, AVerdictSaysWhetherEvictionCanHelp) {
  given(
      "node free cpu=4\nnode full cpu=4\nnode small cpu=1\nnode tainted cpu=4 taint=t:NoSchedule\nnode ported cpu=4\n"
      "pod old on=full cpu=3\npod web on=ported port=80\npod p cpu=2 port=80");
  const PodVerdicts found = verdicts("p");
  EXPECT_EQ(found.nodes, (std::vector<NodeVerdict>{{},
                                                   {kResolvable, "NodeResourcesFit"},
                                                   {kUnresolvable, "NodeResourcesFit"},
                                                   {kUnresolvable, "TaintToleration"},
                                                   {kResolvable, "NodePorts"}}));
  EXPECT_TRUE(found.nodes[1].eviction_can_help());
  EXPECT_FALSE(found.nodes[2].eviction_can_help());
  EXPECT_FALSE(found.nodes[0].eviction_can_help());
  EXPECT_TRUE(found.nodes[0].accepts());
  EXPECT_EQ(found.rejectors, (PluginNames{"NodePorts", "NodeResourcesFit", "TaintToleration"}));
}

TEST_P(VerdictsContract, NodesThatPreFilterLeavesOutAreRefusedByItsPlugin) {
  given(
      "node a cpu=4\nnode b cpu=4\npod named need=@metadata.name:In:b\n"
      "pod none need=@metadata.name:In:a&@metadata.name:In:b");
  EXPECT_EQ(verdicts("named").nodes, (std::vector<NodeVerdict>{{kUnresolvable, "NodeAffinity", true}, {}}));
  EXPECT_EQ(verdicts("none").nodes,
            (std::vector<NodeVerdict>{{kUnresolvable, "NodeAffinity", true}, {kUnresolvable, "NodeAffinity", true}}));
}

TEST_P(VerdictsContract, CodesOfTopologyPlugins) {
  given(
      "node a zone=1 host\nnode b host\nnode c zone=2 host\npod web on=a label:app=web pod-anti-affinity=host "
      "match=app=x\n"
      "pod s label:app=web spread=zone match=app=web\npod t pod-affinity=zone match=app=web\n"
      "pod u pod-anti-affinity=zone match=app=web\npod v label:app=x");
  const std::vector<NodeVerdict> spread{{kResolvable, "PodTopologySpread"}, {kUnresolvable, "PodTopologySpread"}, {}};
  EXPECT_EQ(verdicts("s").nodes, spread);
  EXPECT_EQ(verdicts("t").nodes,
            (std::vector<NodeVerdict>{{}, {kUnresolvable, "InterPodAffinity"}, {kUnresolvable, "InterPodAffinity"}}));
  EXPECT_EQ(verdicts("u").nodes, (std::vector<NodeVerdict>{{kResolvable, "InterPodAffinity"}, {}, {}}));
  EXPECT_EQ(verdicts("v").nodes, (std::vector<NodeVerdict>{{kResolvable, "InterPodAffinity"}, {}, {}}));
}

TEST_P(VerdictsContract, VerdictsFollowPlacementsAndRollbacks) {
  given("engine ties=first\nnode a cpu=4\nnode b cpu=4\npod p*2 cpu=3\npod q cpu=3");
  const std::vector<PodToPlace> pods = prepared({pod("p0"), pod("p1"), pod("q")});
  const CommitMark before = backend_->mark();
  EXPECT_EQ(backend_->verdicts(pods[2]).nodes, (std::vector<NodeVerdict>(2)));
  backend_->commit_batch({pods.data(), 1}, {});
  EXPECT_EQ(backend_->verdicts(pods[2]).nodes, (std::vector<NodeVerdict>{{kResolvable, "NodeResourcesFit"}, {}}));
  backend_->rollback(before);
  EXPECT_EQ(backend_->verdicts(pods[2]).nodes, (std::vector<NodeVerdict>(2)));
}

TEST_P(VerdictsContract, AnUnpreparedPodIsALogicErrorThatNamesIt) {
  given("node a cpu=4\npod p cpu=1");
  const PodToPlace fresh{pod("p"), 0, -1};
  const std::vector<PodToPlace> one{fresh};
  expect_error_that_names(*fresh.pod, [&] { backend_->verdicts(fresh); });
  expect_error_that_names(*fresh.pod, [&] { backend_->dry_run({one, {}, {}}); });
}

TEST_P(VerdictsContract, APodStaysPreparedWhenNewTermsCome) {
  given(
      "node a cpu=4 zone=1 host\nnode b cpu=4 zone=2 host\npod p cpu=1 label:app=x\n"
      "pod q on=a pod-anti-affinity=zone match=app=x\n"
      "pod r pod-anti-affinity=zone match=app=x need=@metadata.name:In:b");
  const PodToPlace p = prepared({pod("p")}).front();
  EXPECT_EQ(backend_->verdicts(p).nodes[static_cast<std::size_t>(node("a").value)].plugin, "InterPodAffinity");
  place({pod("r")});
  const PodVerdicts verdicts = backend_->verdicts(p);
  EXPECT_FALSE(verdicts.nodes[static_cast<std::size_t>(node("a").value)].accepts());
  EXPECT_EQ(verdicts.nodes[static_cast<std::size_t>(node("b").value)].plugin, "InterPodAffinity");
}

TEST_P(VerdictsContract, APodStaysPreparedWhenServicesAndNamespacesChange) {
  given("node a cpu=1\nnode b cpu=4\npod p cpu=2 label:app=x\nnamespace default label:team=a");
  const PodToPlace p = prepared({pod("p")}).front();
  const std::vector<ClusterChange> changes{ServiceUpsert{{"web", "default", LabelMap{{"app", "x"}}}},
                                           NamespaceUpsert{{"default", LabelMap{{"team", "b"}}}}};
  backend_->apply(changes);
  EXPECT_EQ(backend_->verdicts(p).nodes[static_cast<std::size_t>(node("a").value)].plugin, "NodeResourcesFit");
  EXPECT_TRUE(backend_->verdicts(p).nodes[static_cast<std::size_t>(node("b").value)].accepts());
}

INSTANTIATE_TEST_SUITE_P(All, VerdictsContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace
}  // namespace berth::test
