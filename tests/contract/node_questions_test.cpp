// SPDX-License-Identifier: Apache-2.0
// Questions about some nodes, of engines and forks: statuses with their reasons, nodes by name, where a pod stands; and
// batches that may take some nodes only (BatchLimits::among).

#include <memory>
#include <string>
#include <vector>

#include "host/cluster/engine_cluster.h"
#include "host/objects/pod_copy.h"
#include "tests/contract/backend_contract.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

using Names = std::vector<std::string>;

class NodeQuestionsContract : public BackendContract {
 protected:
  template <class Where>
  static std::vector<NodeIndex> indexes(Where& where, const Names& names) {
    std::vector<NodeIndex> nodes;
    for (const std::string& name : names) nodes.push_back(where.find_node(name));
    return nodes;
  }
  /// The statuses; verdicts_on() must say the same of them.
  template <class Where>
  std::vector<NodeStatus> statuses(Where& where, std::string_view pod_name, const Names& names) {
    const PodToPlace asked = prepared({pod(pod_name)}).front();
    const std::vector<NodeIndex> nodes = indexes(where, names);
    const PodVerdicts verdicts = where.verdicts_on(asked, nodes);
    PodStatuses statuses = where.statuses_on(asked, nodes);
    EXPECT_EQ(statuses.error, verdicts.error);
    EXPECT_EQ(statuses.nodes.size(), verdicts.nodes.size());
    for (std::size_t i = 0; i < statuses.nodes.size(); ++i) {
      EXPECT_EQ(statuses.nodes[i].status.code, verdicts.nodes[i].code) << names[i];
      EXPECT_EQ(statuses.nodes[i].status.plugin, verdicts.nodes[i].plugin) << names[i];
      EXPECT_EQ(statuses.nodes[i].is_of_pre_filter, verdicts.nodes[i].is_of_pre_filter) << names[i];
    }
    return std::move(statuses.nodes);
  }
  static NodeStatus accepted() { return {}; }
  static NodeStatus refused(std::string plugin, std::string reason, StatusCode code = StatusCode::kUnschedulable,
                            bool is_of_pre_filter = false) {
    return {{code, std::move(plugin), {std::move(reason)}}, is_of_pre_filter};
  }
  template <class Where>
  static std::vector<bool> set_of(Where& where, const Names& names) {
    std::vector<bool> among;
    for (const NodeIndex node : indexes(where, names)) {
      if (among.size() <= static_cast<std::size_t>(node.value)) among.resize(static_cast<std::size_t>(node.value) + 1);
      among[static_cast<std::size_t>(node.value)] = true;
    }
    return among;
  }
  /// "a", or the message of a pod without a node.
  template <class Where>
  Names place_among(Where& where, const Names& pods, const Names& nodes) {
    const std::vector<bool> among = set_of(where, nodes);
    std::vector<PodPtr> objects;
    for (const std::string& name : pods) objects.push_back(pod(name));
    const BatchResult result = where.commit_batch(prepared(objects), {.among = &among});
    Names places;
    for (const Outcome& outcome : result.outcomes)
      places.push_back(outcome.node != kNoNode ? std::string(where.node_name(outcome.node))
                                               : result.messages.at(static_cast<std::size_t>(outcome.message)).text);
    return places;
  }
};

constexpr StatusCode kNeverResolvable = StatusCode::kUnschedulableAndUnresolvable;

TEST_P(NodeQuestionsContract, StatusesNameTheFirstRefusingPluginWithItsReasons) {
  given("node a cpu=1 memory=1Gi\nnode b cpu=8 memory=1Gi taint=t:NoSchedule\nnode c cpu=8\npod p cpu=2 memory=2Gi");
  const NodeStatus small{{StatusCode::kUnschedulable, "NodeResourcesFit", {"Insufficient cpu", "Insufficient memory"}},
                         false};
  const auto fork = backend_->fork();
  for (const std::vector<NodeStatus>& said : {statuses(*backend_, "p", {"b", "a"}), statuses(*fork, "p", {"b", "a"})}) {
    ASSERT_EQ(said.size(), 2u);
    EXPECT_EQ(said[0], refused("TaintToleration", "node(s) had untolerated taint(s)", kNeverResolvable));
    EXPECT_EQ(said[1].status.plugin, small.status.plugin);
    EXPECT_EQ(said[1].status.reasons, small.status.reasons);
  }
}

TEST_P(NodeQuestionsContract, PreFilterIsNamedWhereNoFilterPluginRuns) {
  given(
      "node a cpu=1\nnode b cpu=1\npod some need=@metadata.name:In:a\n"
      "pod none need=@metadata.name:In:a&@metadata.name:In:b");
  const auto fork = backend_->fork();
  const NodeStatus outside =
      refused("NodeAffinity", "node(s) didn't satisfy plugin(s) [NodeAffinity]", kNeverResolvable, true);
  for (const std::vector<NodeStatus>& said :
       {statuses(*backend_, "some", {"a", "b"}), statuses(*fork, "some", {"a", "b"})})
    EXPECT_EQ(said, (std::vector<NodeStatus>{accepted(), outside}));
  for (const std::vector<NodeStatus>& said : {statuses(*backend_, "none", {"b"}), statuses(*fork, "none", {"b"})}) {
    ASSERT_EQ(said.size(), 1u);
    EXPECT_TRUE(said[0].is_of_pre_filter);
    EXPECT_EQ(said[0].status.plugin, "NodeAffinity");
    EXPECT_EQ(said[0].status.code, kNeverResolvable);
  }
}

TEST_P(NodeQuestionsContract, StatusesInAForkFollowWhatWasDoneThere) {
  given("node a cpu=4\nnode b cpu=4 zone=1\npod old on=a cpu=3\npod p cpu=2\npod s cpu=1 select:zone=9");
  const auto fork = backend_->fork();
  const NodeStatus full = refused("NodeResourcesFit", "Insufficient cpu");
  EXPECT_EQ(statuses(*fork, "p", {"a", "b"}), (std::vector<NodeStatus>{full, accepted()}));
  const ClusterChange eviction = PodRemoval{pod("old")->uid()};
  fork->apply({&eviction, 1});
  EXPECT_EQ(statuses(*fork, "p", {"a", "b"}), (std::vector<NodeStatus>{accepted(), accepted()}));
  const NodePtr a = scenario_.objects.nodes.front();
  auto guest = std::make_shared<Node>(*a);
  guest->name = "guest";
  guest->allocatable.milli_cpu = 1000;
  const ClusterChange arrival = NodeUpsert(guest);
  fork->apply({&arrival, 1});
  const NodeStatus too_small = refused("NodeResourcesFit", "Insufficient cpu", kNeverResolvable);
  EXPECT_EQ(statuses(*fork, "p", {"guest", "a"}), (std::vector<NodeStatus>{too_small, accepted()}));
  EXPECT_EQ(fork->find_node("nobody"), kNoNode);
  EXPECT_EQ(backend_->find_node("guest"), kNoNode);
  EXPECT_EQ(statuses(*backend_, "p", {"a"}), (std::vector<NodeStatus>{full}));
}

TEST_P(NodeQuestionsContract, AForkAnswersAsAtItsOpeningWhenNodesChangeInTheEngine) {
  given("node a cpu=4\nnode b cpu=4\nnode c cpu=4\npod p cpu=2\npod q cpu=2");
  const auto fork = backend_->fork();
  const ClusterChange removal = NodeRemoval{"a"};
  backend_->apply({&removal, 1});
  EXPECT_EQ(statuses(*fork, "p", {"a", "b"}), (std::vector<NodeStatus>{accepted(), accepted()}));
  EXPECT_EQ(place_among(*fork, {"p"}, {"a"}), Names{"a"});
  EXPECT_EQ(fork->node_of_pod(pod("p")->uid()), "a");
  EXPECT_EQ(place_among(*fork, {"q"}, {"c"}), Names{"c"});
}

TEST_P(NodeQuestionsContract, APodIsPlacedOnNodesOfTheSetOnly) {
  given("engine ties=first\nnode a cpu=8\nnode b cpu=4\nnode c cpu=4\npod p*4 cpu=3");
  const auto fork = backend_->fork();
  const Names expected = {"b", "c", "0/2 nodes are available: 2 Insufficient cpu."};
  EXPECT_EQ(place_among(*fork, {"p0", "p1", "p2"}, {"b", "c"}), expected);
  EXPECT_EQ(place_among(*fork, {"p3"}, {"a", "b", "c"}), Names{"a"});
  EXPECT_EQ(place_among(*backend_, {"p0", "p1", "p2"}, {"b", "c"}), expected);
  EXPECT_EQ(place_among(*backend_, {"p3"}, {"a", "b", "c"}), Names{"a"});
  EXPECT_EQ(place_among(*backend_, {"p2"}, {}), Names{"no nodes available to schedule pods"});
}

TEST_P(NodeQuestionsContract, ScoresAreNormalisedOverTheSet) {
  // Over all nodes a's preference outweighs the room of c; over {b, c} nobody is preferred.
  given(
      "engine ties=first\nnode a cpu=8 label:disk=ssd\nnode b cpu=8 label:disk=hdd\nnode c cpu=8 label:disk=hdd\n"
      "pod old on=b cpu=6\npod p cpu=1 prefer=100:disk:In:ssd\npod n nominated=a cpu=1");
  EXPECT_EQ(place_among(*backend_, {"p"}, {"b", "c"}), Names{"c"});
  EXPECT_EQ(place_among(*backend_, {"n"}, {"b", "c"}), Names{"c"}) << "the nominated node is not in the set";
}

TEST_P(NodeQuestionsContract, TotalsAreNormalisedOverTheNodesThatAreAskedAbout) {
  given(
      "node a cpu=8 label:disk=ssd\nnode b cpu=8 label:disk=hdd\nnode c cpu=8 label:disk=nvme\npod old on=b cpu=6\n"
      "pod p cpu=1 prefer=100:disk:In:ssd prefer=50:disk:In:nvme");
  const PodToPlace asked = prepared({pod("p")}).front();
  const auto totals = [&](auto& where, const Names& names) {
    const PodTotals said = where.totals_on(asked, indexes(where, names));
    EXPECT_EQ(said.error, "");
    return said.nodes;
  };
  const auto of_all = [&](const Evaluation& evaluation) {
    std::vector<std::int64_t> all;
    for (const NodeEvaluation& node : evaluation.nodes) all.push_back(node.total);
    return all;
  };
  const auto fork = backend_->fork();
  EXPECT_EQ(totals(*backend_, {"a", "b", "c"}), of_all(backend_->evaluate(asked)));
  EXPECT_EQ(totals(*fork, {"a", "b", "c"}), of_all(fork->evaluate(asked)));
  // Without a, c is the one that is preferred most.
  const std::vector<std::int64_t> all = totals(*fork, {"a", "b", "c"});
  const std::vector<std::int64_t> two = totals(*fork, {"b", "c"});
  EXPECT_EQ(two[0], all[1]);
  EXPECT_GT(two[1], all[2]);
  EXPECT_EQ(totals(*backend_, {"c", "b"}), (std::vector<std::int64_t>{two[1], two[0]}));
  EXPECT_TRUE(totals(*fork, {}).empty());
}

TEST_P(NodeQuestionsContract, MessagesOfASetCountItsNodesAlone) {
  given(
      "node a cpu=1\nnode b cpu=1 unschedulable\nnode c cpu=8\npod p cpu=2\npod named cpu=2 need=@metadata.name:In:c\n"
      "pod none need=@metadata.name:In:a&@metadata.name:In:b");
  const auto fork = backend_->fork();
  const std::string both = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.";
  const std::string outside = "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity].";
  EXPECT_EQ(place_among(*fork, {"p", "named"}, {"a", "b"}), (Names{both, outside}));
  EXPECT_EQ(place_among(*backend_, {"p", "named"}, {"a", "b"}), (Names{both, outside}));
  EXPECT_EQ(place_among(*fork, {"none"}, {"a"}), place_among(*backend_, {"none"}, {"a"}));
}

TEST_P(NodeQuestionsContract, AForkKnowsWhereAPodStands) {
  given("node a cpu=4\nnode b cpu=4\npod old on=a cpu=1\npod p cpu=1 select:none=x\npod q cpu=1");
  const auto fork = backend_->fork();
  EXPECT_EQ(fork->node_of_pod(pod("old")->uid()), "a");
  EXPECT_EQ(fork->node_of_pod(pod("q")->uid()), "");
  fork->place(prepared({pod("q")}).front(), "b");
  EXPECT_EQ(fork->node_of_pod(pod("q")->uid()), "b");
  const ClusterChange eviction = PodRemoval{pod("old")->uid()};
  fork->apply({&eviction, 1});
  EXPECT_EQ(fork->node_of_pod(pod("old")->uid()), "");
  EXPECT_EQ(backend_->cluster().cache().node_of_pod(pod("old")->uid())->name, "a");
}

TEST_P(NodeQuestionsContract, AForkFindsTheFirstPodThatStands) {
  given("node a cpu=4\nnode b cpu=4\npod old on=a cpu=1\npod gone on=a cpu=1\npod p cpu=1\npod q cpu=1");
  const std::vector<PodToPlace> waiting = prepared({pod("p"), pod("q")});
  const auto fork = backend_->fork();
  const auto first_of = [&](const std::vector<std::string>& names) {
    std::vector<std::string> uids;
    for (const std::string& name : names) uids.push_back(pod(name)->uid());
    std::vector<const std::string*> asked;
    for (const std::string& uid : uids) asked.push_back(&uid);
    return fork->first_standing(asked);
  };
  EXPECT_EQ(first_of({}), 0U);
  EXPECT_EQ(first_of({"p", "q"}), 2U);
  EXPECT_EQ(first_of({"p", "old", "gone"}), 1U);
  fork->place(waiting.front(), "b");
  EXPECT_EQ(first_of({"q", "p"}), 1U);
  const ClusterChange eviction = PodRemoval{pod("old")->uid()};
  fork->apply({&eviction, 1});
  EXPECT_EQ(first_of({"q", "old"}), 2U);
  // What happens to the cluster meanwhile is not of the fork.
  const ClusterChange removal = PodRemoval{pod("gone")->uid()};
  backend_->apply({&removal, 1});
  backend_->commit_batch({&waiting.back(), 1}, {});
  EXPECT_EQ(first_of({"q", "gone"}), 1U);
}

TEST_P(NodeQuestionsContract, TheEngineOfAForkIsInItsState) {
  given("node a cpu=4\nnode b cpu=4\npod old on=a cpu=3\npod p cpu=2");
  const auto fork = backend_->fork();
  const ClusterChange eviction = PodRemoval{pod("old")->uid()};
  fork->apply({&eviction, 1});
  Backend& engine = fork->as_engine();
  EXPECT_EQ(engine.cluster().cache().node_of_pod(pod("old")->uid()), nullptr);
  PodToPlace asked{pod("p"), 0};
  engine.prepare({&asked, 1});
  const NodeIndex a = engine.find_node("a");
  EXPECT_TRUE(engine.verdicts_on(asked, {&a, 1}).nodes.front().accepts());
  engine.release({&asked, 1});
  EXPECT_EQ(statuses(*fork, "p", {"a"}), (std::vector<NodeStatus>{accepted()}));
}

TEST_P(NodeQuestionsContract, NodesThatGoAndComeBackInOneCallKeepTheirPlacesInTheOrder) {
  given("node a cpu=4\nnode b cpu=4\nnode c cpu=4\npod p cpu=1");
  const std::vector<NodePtr>& nodes = scenario_.objects.nodes;
  backend_->apply(
      std::vector<ClusterChange>{NodeRemoval{"a"}, NodeRemoval{"c"}, NodeUpsert(nodes[0]), NodeUpsert(nodes[2])});
  const std::vector<PodToPlace> asked = prepared({pod("p")});
  const auto fork = backend_->fork();
  for (const Evaluation& evaluation : {backend_->evaluate(asked.front()), fork->evaluate(asked.front())}) {
    Names names;
    for (const NodeEvaluation& node : evaluation.nodes) names.emplace_back(backend_->node_name(node.node));
    EXPECT_EQ(names, (Names{"a", "b", "c"}));
  }
  Names of_fork;
  for (const NodeIndex node : fork->nodes_in_order()) of_fork.emplace_back(fork->node_name(node));
  EXPECT_EQ(of_fork, (Names{"a", "b", "c"}));
}

TEST_P(NodeQuestionsContract, TheVersionMovesWithChangesAlone) {
  given("node a cpu=4\npod p cpu=1");
  const std::uint64_t before = backend_->change_version();
  const ClusterChange heartbeat = NodeUpsert(scenario_.objects.nodes.front());
  backend_->apply({&heartbeat, 1});
  EXPECT_EQ(backend_->change_version(), before);
  place({pod("p")});
  EXPECT_NE(backend_->change_version(), before);
}

INSTANTIATE_TEST_SUITE_P(All, NodeQuestionsContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace
}  // namespace berth::test
