// SPDX-License-Identifier: Apache-2.0
// The contract of Fork in batching/backend.h: a what-if that sees its parent as it was, changes nothing else, and may
// be promoted.

#include <atomic>
#include <latch>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host/objects/pod_copy.h"
#include "tests/contract/backend_contract.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

using Names = std::vector<std::string>;

class ForkContract : public BackendContract {
 protected:
  static Names nodes_in(Fork& fork, const BatchResult& result) {
    Names names;
    for (const Outcome& outcome : result.outcomes) names.emplace_back(fork.node_name(outcome.node));
    return names;
  }
  Names place_in(Fork& fork, const std::vector<std::string>& pods) {
    std::vector<PodPtr> found;
    for (const std::string& name : pods) found.push_back(pod(name));
    return nodes_in(fork, fork.commit_batch(prepared(found), {}));
  }
  /// Names of the nodes that the pod fits on, in node order.
  Names feasible_in(Fork& fork, const std::string& name) {
    Names names;
    for (const NodeEvaluation& node : fork.evaluate(prepared({pod(name)}).front()).nodes)
      if (node.feasible) names.emplace_back(fork.node_name(node.node));
    return names;
  }
  Names feasible(const std::string& name) {
    Names names;
    for (const NodeEvaluation& node : ask(name).nodes)
      if (node.feasible) names.emplace_back(backend_->node_name(node.node));
    return names;
  }
  static void tell(Fork& fork, ClusterChange change) { fork.apply({&change, 1}); }
  void expect_forks_read_the_engine() { EXPECT_EQ(backend_->stats().forks_reopened, 0); }
  void tell(ClusterChange change) { backend_->apply({&change, 1}); }
  NodeRemoval without(const std::string& node_name) { return {node_name}; }
  PodRemoval evicted(const std::string& pod_name) { return {pod(pod_name)->uid()}; }
  NodePtr node_object(const std::string& name) {
    for (const NodePtr& node : scenario_.objects.nodes)
      if (node->name == name) return node;
    throw std::invalid_argument("no node " + name);
  }
};

constexpr const char* kTwoEqualNodes = "engine ties=first\nnode a cpu=4\nnode b cpu=4\n";

TEST_P(ForkContract, PlacementsStayInTheFork) {
  given(std::string(kTwoEqualNodes) + "pod p*3 cpu=3");
  const auto fork = backend_->fork();
  EXPECT_EQ(place_in(*fork, {"p0", "p1", "p2"}), (Names{"a", "b", ""}));
  EXPECT_EQ(feasible("p2"), (Names{"a", "b"}));
  EXPECT_EQ(nodes_of(place_pending()), (Names{"a", "b", ""}));
}

TEST_P(ForkContract, SeesWhatWasPlacedBeforeItWasOpenedAndNothingLater) {
  given(std::string(kTwoEqualNodes) + "pod p*2 cpu=3\npod q cpu=2");
  place({pod("p0")});
  const auto fork = backend_->fork();
  place({pod("p1")});
  EXPECT_TRUE(feasible("q").empty());
  EXPECT_EQ(feasible_in(*fork, "q"), Names{"b"});
  EXPECT_EQ(place_in(*fork, {"q"}), Names{"b"});
}

TEST_P(ForkContract, SeesNodesAndLabelsAsTheyWere) {
  given(std::string(kTwoEqualNodes) + "pod p cpu=1\npod s cpu=1 select:disk=ssd\nnode c cpu=4 label:disk=ssd");
  const auto before = backend_->fork();
  tell(without("c"));
  tell(without("a"));
  const auto after = backend_->fork();
  EXPECT_EQ(feasible_in(*before, "p"), (Names{"a", "b", "c"}));
  EXPECT_EQ(place_in(*before, {"s"}), Names{"c"});
  EXPECT_EQ(feasible_in(*after, "p"), Names{"b"});
  EXPECT_TRUE(feasible_in(*after, "s").empty());
}

TEST_P(ForkContract, AnEvictedPodGivesBackItsRoomPortsAndCounts) {
  given(
      "node a cpu=4 zone=1 host\npod old on=a cpu=3 port=80 label:app=x\npod p cpu=3 port=80\n"
      "pod alone cpu=1 label:app=x pod-anti-affinity=zone match=app=x");
  const auto fork = backend_->fork();
  EXPECT_TRUE(feasible_in(*fork, "p").empty());
  EXPECT_TRUE(feasible_in(*fork, "alone").empty());
  tell(*fork, evicted("old"));
  EXPECT_EQ(feasible_in(*fork, "p"), Names{"a"});
  EXPECT_EQ(place_in(*fork, {"alone", "p"}), (Names{"a", "a"}));
  EXPECT_TRUE(feasible("p").empty());
}

TEST_P(ForkContract, APodThatTheForkPlacedCanBeEvictedThere) {
  given("node a cpu=4\npod p*2 cpu=3");
  const auto fork = backend_->fork();
  EXPECT_EQ(place_in(*fork, {"p0", "p1"}), (Names{"a", ""}));
  tell(*fork, evicted("p0"));
  EXPECT_EQ(place_in(*fork, {"p1"}), Names{"a"});
}

TEST_P(ForkContract, APodMayComeToANodeWithoutBeingFiltered) {
  given(std::string(kTwoEqualNodes) + "pod huge on=a cpu=9\npod p cpu=1");
  const auto fork = backend_->fork();
  tell(*fork, evicted("huge"));
  EXPECT_EQ(feasible_in(*fork, "p"), (Names{"a", "b"}));
  tell(*fork, PodUpsert{pod("huge")});
  EXPECT_EQ(feasible_in(*fork, "p"), Names{"b"});
}

TEST_P(ForkContract, NodesComeAndGoInAFork) {
  given(std::string(kTwoEqualNodes) + "pod p*4 cpu=4");
  const NodePtr b = node_object("b");
  tell(without("b"));
  const auto fork = backend_->fork();
  EXPECT_EQ(place_in(*fork, {"p0", "p1"}), (Names{"a", ""}));
  tell(*fork, NodeUpsert(b));
  EXPECT_EQ(place_in(*fork, {"p1", "p2"}), (Names{"b", ""}));
  tell(*fork, without("a"));
  EXPECT_TRUE(feasible_in(*fork, "p3").empty());
  EXPECT_EQ(feasible("p3"), Names{"a"});
}

TEST_P(ForkContract, ForksOfForksAreIndependent) {
  given(std::string(kTwoEqualNodes) + "pod p*4 cpu=3");
  const auto first = backend_->fork();
  EXPECT_EQ(place_in(*first, {"p0"}), Names{"a"});
  const auto child = first->fork();
  EXPECT_EQ(place_in(*first, {"p1"}), Names{"b"});
  EXPECT_EQ(place_in(*child, {"p2", "p3"}), (Names{"b", ""}));
  const auto grandchild = child->fork();
  tell(*grandchild, evicted("p0"));
  EXPECT_EQ(place_in(*grandchild, {"p3"}), Names{"a"});
  EXPECT_TRUE(feasible_in(*child, "p3").empty());
}

TEST_P(ForkContract, PromotingBringsPlacementsEvictionsAndNodesToTheParent) {
  given("engine ties=first\nnode a cpu=4\nnode b cpu=2\npod old on=a cpu=4\npod p cpu=4\npod q*3 cpu=2");
  const NodePtr b = node_object("b");
  tell(without("b"));
  const auto fork = backend_->fork();
  tell(*fork, evicted("old"));
  tell(*fork, NodeUpsert(b));
  EXPECT_EQ(place_in(*fork, {"p", "q0"}), (Names{"a", "b"}));
  EXPECT_TRUE(fork->promote());
  EXPECT_TRUE(feasible("q1").empty());
  EXPECT_TRUE(backend_->undo(*pod("q0"))) << "a promoted placement is one of the engine's own";
  EXPECT_EQ(feasible("q1"), Names{"b"});
}

TEST_P(ForkContract, AForkOfAForkPromotesIntoItsParent) {
  given(std::string(kTwoEqualNodes) + "pod p*3 cpu=3");
  const auto parent = backend_->fork();
  place_in(*parent, {"p0"});
  const auto child = parent->fork();
  EXPECT_EQ(place_in(*child, {"p1"}), Names{"b"});
  EXPECT_TRUE(child->promote());
  EXPECT_TRUE(feasible_in(*parent, "p2").empty());
  EXPECT_EQ(feasible("p2"), (Names{"a", "b"}));
  const auto late = parent->fork();
  EXPECT_TRUE(parent->promote());
  EXPECT_TRUE(feasible("p2").empty());
  EXPECT_THROW(late->promote(), std::logic_error) << "its parent takes no calls any more";
}

TEST_P(ForkContract, PromotingIsRefusedWhenTheParentHasMoved) {
  given(std::string(kTwoEqualNodes) + "pod p*3 cpu=3");
  const auto first = backend_->fork();
  const auto second = backend_->fork();
  place_in(*first, {"p0"});
  place_in(*second, {"p1"});
  EXPECT_TRUE(first->promote());
  EXPECT_FALSE(second->promote());
  EXPECT_EQ(feasible("p2"), Names{"b"}) << "nothing of the second fork came";
  const auto child = second->fork();
  place_in(*second, {"p2"});
  EXPECT_FALSE(child->promote());
}

TEST_P(ForkContract, AHeartbeatDoesNotKeepAForkFromBeingPromoted) {
  given(std::string(kTwoEqualNodes) + "pod p cpu=3");
  const auto fork = backend_->fork();
  place_in(*fork, {"p"});
  tell(NodeUpsert(std::make_shared<const Node>(*node_object("a"))));
  EXPECT_TRUE(fork->promote());
}

TEST_P(ForkContract, CallsThatChangeNothingDoNotKeepAForkFromBeingPromoted) {
  given(std::string(kTwoEqualNodes) + "pod p*3 cpu=3");
  const auto fork = backend_->fork();
  place_in(*fork, {"p0"});
  const std::vector<PodToPlace> pods = compiled({pod("p1"), pod("p2")});
  const std::vector<std::span<const PodToPlace>> lists{pods, std::span(pods).first(1)};
  EXPECT_EQ(nodes_of(backend_->try_forks(lists, {}).front()), (Names{"a", "b"}));
  backend_->try_forks(lists, {.pods_max = 1});
  backend_->commit_batch({}, {});
  backend_->rollback(backend_->mark());
  EXPECT_FALSE(backend_->undo(*pod("p1")));
  backend_->settle();
  EXPECT_TRUE(fork->promote());
  EXPECT_EQ(feasible("p2"), Names{"b"});
}

TEST_P(ForkContract, ATrialOfTheParentIsNoChangeWhenItFails) {
  given(std::string(kTwoEqualNodes) + "pod p*2 cpu=3\npod unknown cpu=1");
  const auto fork = backend_->fork();
  place_in(*fork, {"p0"});
  std::vector<PodToPlace> pods = compiled({pod("p1")});
  const std::vector<PodToPlace> unknown{{pod("unknown"), 0, -1}};
  const std::vector<std::span<const PodToPlace>> lists{pods, unknown};
  EXPECT_THROW(backend_->try_forks(lists, {}), std::logic_error);
  EXPECT_TRUE(fork->promote());
}

/// Its parent never was what the fork sees.
TEST_P(ForkContract, AForkThatWasOpenedInACallThatFailedIsNotPromoted) {
  given(std::string(kTwoEqualNodes) + "pod p*3 cpu=3");
  std::unique_ptr<Fork> fork;
  const auto open_and_fail = [&] {
    place({pod("p0")});
    fork = backend_->fork();
    throw std::runtime_error("the call fails");
  };
  EXPECT_THROW(backend_->as_one(open_and_fail), std::runtime_error);
  EXPECT_EQ(nodes_of(place({pod("p1")})), Names{"a"});
  EXPECT_FALSE(fork->promote()) << "the parent has had as many changes as at the opening, but others";
}

TEST_P(ForkContract, APodThatWasNotPreparedIsALogicErrorThatNamesIt) {
  given(std::string(kTwoEqualNodes) + "pod known cpu=4\npod unknown cpu=2");
  std::vector<PodToPlace> pods = prepared({pod("known")});
  pods.push_back({pod("unknown"), 0, -1});
  const auto expect_errors = [&](Fork& fork) {
    expect_error_that_names(*pod("unknown"), [&] { fork.commit_batch(pods, {}); });
    expect_error_that_names(*pod("unknown"), [&] { fork.evaluate(pods.back()); });
    EXPECT_EQ(feasible_in(fork, "known"), (Names{"a", "b"})) << "the pod before it was not placed either";
  };
  const auto fork = backend_->fork();
  expect_errors(*fork);
  expect_errors(*fork->fork());
  const auto left = backend_->fork();
  tell(without("b"));
  expect_errors(*left);
  expect_errors(*left->fork());
}

TEST_P(ForkContract, APromotedForkTakesNoCalls) {
  given(std::string(kTwoEqualNodes) + "pod p cpu=3");
  const auto fork = backend_->fork();
  EXPECT_TRUE(fork->promote());
  const std::vector<PodToPlace> pods = prepared({pod("p")});
  EXPECT_THROW(fork->commit_batch(pods, {}), std::logic_error);
  EXPECT_THROW(fork->evaluate(pods.front()), std::logic_error);
  EXPECT_THROW(fork->fork(), std::logic_error);
  EXPECT_THROW(fork->promote(), std::logic_error);
}

TEST_P(ForkContract, AForkOutlivesItsParents) {
  given(std::string(kTwoEqualNodes) + "pod p*2 cpu=3");
  auto parent = backend_->fork();
  place_in(*parent, {"p0"});
  const auto child = parent->fork();
  const std::vector<PodToPlace> pods = prepared({pod("p1")});
  parent.reset();
  EXPECT_THROW(child->promote(), std::logic_error);
  backend_.reset();
  EXPECT_EQ(nodes_in(*child, child->commit_batch(pods, {})), Names{"b"});
}

TEST_P(ForkContract, TermsThatCameLaterCountWhatStoodThereThen) {
  given(
      "engine ties=first\nnode a cpu=9 zone=1 host\nnode b cpu=9 zone=2 host\npod x on=a label:app=x\npod y "
      "label:app=x\n"
      "pod z label:app=x\npod alone pod-anti-affinity=zone match=app=x\npod gpu res:example.com/gpu=1\n"
      "pod spread label:app=x spread=zone match=app=x");
  const auto fork = backend_->fork();
  place({pod("y")});
  EXPECT_EQ(feasible_in(*fork, "alone"), Names{"b"}) << "the term was never seen before, and y came later";
  EXPECT_EQ(place_in(*fork, {"z"}), Names{"b"});
  tell(*fork, evicted("x"));
  EXPECT_EQ(feasible_in(*fork, "spread"), Names{"a"}) << "z counts, x does not";
}

/// More of them than an engine keeps in its journal for a fork.
TEST_P(ForkContract, SeesItsParentAsItWasAfterManyEventsOfPods) {
  given(std::string(kTwoEqualNodes) + "pod old on=a cpu=3\npod late cpu=3\npod p*2 cpu=3\npod one cpu=1");
  const auto fork = backend_->fork();
  const auto used = backend_->fork();
  EXPECT_EQ(place_in(*used, {"p0"}), Names{"b"});
  const auto passing = [&](int i) {
    const std::shared_ptr<Pod> pod_of_event = copy_of(*pod("one"));
    pod_of_event->name = "passing-" + std::to_string(i);
    pod_of_event->node_name = i % 3 == 0 ? "a" : "b";
    return PodPtr(pod_of_event);
  };
  for (int i = 0; i < 6000; ++i) {
    tell(PodUpsert{passing(i)});
    tell(PodRemoval{passing(i)->uid()});
  }
  tell(evicted("old"));
  place({pod("late")});
  EXPECT_EQ(feasible_in(*fork, "p1"), Names{"b"});
  EXPECT_TRUE(feasible_in(*used, "p1").empty());
  tell(*fork, evicted("old"));
  EXPECT_EQ(place_in(*fork, {"p0", "p1"}), (Names{"a", "b"}));
  tell(*used, evicted("p0"));
  EXPECT_EQ(feasible_in(*used, "p1"), Names{"b"});
}

TEST_P(ForkContract, OtherChangesAreRefusedByName) {
  given(std::string(kTwoEqualNodes) + "pod p cpu=3\npod old on=a cpu=3");
  const auto fork = backend_->fork();
  const std::vector<ClusterChange> changes{evicted("old"), ServiceRemoval{"default", "web"}};
  try {
    fork->apply(changes);
    FAIL() << "a Service is no change of a fork";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("ServiceRemoval"), std::string::npos) << error.what();
  }
  EXPECT_EQ(feasible_in(*fork, "p"), Names{"b"}) << "the eviction before it was not applied either";
  EXPECT_THROW(tell(*fork, PodUpsert{pod("p")}), std::invalid_argument);
}

TEST_P(ForkContract, PlacingOnANamedNodeCallsNoPlugin) {
  given(std::string(kTwoEqualNodes) + "pod huge cpu=9\npod p cpu=1");
  const auto fork = backend_->fork();
  fork->place(prepared({pod("huge")}).front(), "a");
  EXPECT_EQ(feasible_in(*fork, "p"), Names{"b"});
  EXPECT_THROW(fork->place(prepared({pod("p")}).front(), "nowhere"), std::invalid_argument);
  backend_->place(prepared({pod("huge")}).front(), "b");
  EXPECT_EQ(feasible("p"), Names{"a"});
  EXPECT_THROW(backend_->place(prepared({pod("p")}).front(), "nowhere"), std::invalid_argument);
}

TEST_P(ForkContract, ANominationEndsInTheForkThatPlacesThePod) {
  given("engine ties=first\nnode n cpu=4\nnode m cpu=2\npod nominee nominated=n priority=9 cpu=3\npod p cpu=2");
  const auto fork = backend_->fork();
  EXPECT_EQ(feasible_in(*fork, "p"), Names{"m"});
  EXPECT_EQ(place_in(*fork, {"nominee"}), Names{"n"});
  tell(*fork, evicted("nominee"));
  EXPECT_EQ(feasible_in(*fork, "p"), (Names{"n", "m"}));
  EXPECT_EQ(feasible("p"), Names{"m"});
}

TEST_P(ForkContract, ANodeThatComesMayBeginADomainAndOneThatGoesMayEndIt) {
  given(
      "engine ties=first\nnode a cpu=9 zone=1\nnode b cpu=9 zone=2\nnode c cpu=9 zone=3\npod x on=a label:app=x\n"
      "pod y on=b label:app=x\npod z on=c label:app=x\npod p*2 cpu=1 label:app=x spread=zone match=app=x");
  const NodePtr c = node_object("c");
  tell(without("c"));
  const auto fork = backend_->fork();
  EXPECT_EQ(feasible_in(*fork, "p0"), (Names{"a", "b"}));
  tell(*fork, evicted("z"));
  tell(*fork, NodeUpsert(c));
  EXPECT_EQ(feasible_in(*fork, "p0"), Names{"c"}) << "a domain without pods is the smallest one";
  EXPECT_EQ(place_in(*fork, {"p0"}), Names{"c"});
  EXPECT_EQ(feasible_in(*fork, "p1"), (Names{"a", "b", "c"}));
  tell(*fork, evicted("x"));
  EXPECT_EQ(feasible_in(*fork, "p1"), Names{"a"});
  tell(*fork, without("a"));
  EXPECT_EQ(feasible_in(*fork, "p1"), (Names{"b", "c"}));
  expect_forks_read_the_engine();
}

TEST_P(ForkContract, ChangesOfNodesAreSeenInTheForkAlone) {
  given(std::string(kTwoEqualNodes) + "pod p*2 cpu=1\npod big cpu=8\npod s cpu=1 select:disk=ssd");
  const auto fork = backend_->fork();
  const auto changed = [&](auto change) {
    auto node = std::make_shared<Node>(*node_object("a"));
    change(*node);
    tell(*fork, NodeUpsert(std::move(node)));
  };
  changed([](Node& node) { node.unschedulable = true; });
  EXPECT_EQ(feasible_in(*fork, "p0"), Names{"b"});
  changed([](Node& node) { node.taints = {{"k", "", TaintEffect::kNoSchedule}}; });
  EXPECT_EQ(place_in(*fork, {"p0"}), Names{"b"});
  changed([](Node& node) { node.allocatable.milli_cpu = 8000; });
  EXPECT_EQ(feasible_in(*fork, "big"), Names{"a"});
  changed([](Node& node) { node.labels = LabelMap{{"disk", "ssd"}}; });
  EXPECT_EQ(place_in(*fork, {"s", "big"}), (Names{"a", ""}));
  EXPECT_EQ(feasible("p1"), (Names{"a", "b"}));
  EXPECT_TRUE(feasible("s").empty());
  expect_forks_read_the_engine();
}

TEST_P(ForkContract, ANodeThatComesBackInAForkHasItsPods) {
  given(
      "engine ties=first\nnode a cpu=4 host\nnode b cpu=4 host\npod old on=a cpu=3 label:app=x\npod p cpu=3\n"
      "pod alone cpu=1 pod-anti-affinity=host match=app=x");
  const auto fork = backend_->fork();
  const NodePtr a = node_object("a");
  tell(*fork, without("a"));
  EXPECT_EQ(feasible_in(*fork, "p"), Names{"b"});
  tell(*fork, NodeUpsert(a));
  EXPECT_EQ(feasible_in(*fork, "p"), Names{"b"}) << "the pod that stood there still does";
  EXPECT_EQ(feasible_in(*fork, "alone"), Names{"b"});
  tell(*fork, without("a"));
  tell(*fork, evicted("old"));
  tell(*fork, NodeUpsert(a));
  EXPECT_EQ(feasible_in(*fork, "p"), (Names{"b", "a"})) << "in the order of its arrival";
  EXPECT_EQ(feasible_in(*fork, "alone"), (Names{"b", "a"}));
  expect_forks_read_the_engine();
}

TEST_P(ForkContract, ANodeOfAForkTakesPodsAndGivesThemBack) {
  given("engine ties=first\nnode a cpu=1\nnode g cpu=4\npod p*3 cpu=3\npod web cpu=1 port=80\npod web2 cpu=1 port=80");
  const NodePtr g = node_object("g");
  tell(without("g"));
  const auto fork = backend_->fork();
  tell(*fork, NodeUpsert(g));
  EXPECT_EQ(place_in(*fork, {"p0", "p1"}), (Names{"g", ""}));
  tell(*fork, evicted("p0"));
  fork->place(prepared({pod("p1")}).front(), "g");
  EXPECT_TRUE(feasible_in(*fork, "p2").empty());
  EXPECT_EQ(place_in(*fork, {"web", "web2"}), (Names{"a", "g"}));
  const auto child = fork->fork();
  tell(*child, without("g"));
  EXPECT_TRUE(feasible_in(*child, "p2").empty());
  tell(*fork, evicted("p1"));
  EXPECT_EQ(place_in(*fork, {"p2"}), Names{"g"});
  expect_forks_read_the_engine();
  EXPECT_THROW(backend_->place(prepared({pod("p2")}).front(), "g"), std::invalid_argument);
}

TEST_P(ForkContract, AResourceThatOnlyANodeOfTheForkOffers) {
  given("engine ties=first\nnode a cpu=4\nnode g cpu=4 res:example.com/gpu=1\npod p res:example.com/gpu=1");
  const NodePtr g = node_object("g");
  tell(without("g"));
  const auto fork = backend_->fork();
  EXPECT_EQ(place_in(*fork, {"p"}), Names{""});
  tell(*fork, NodeUpsert(g));
  EXPECT_EQ(place_in(*fork, {"p"}), Names{"g"});
}

TEST_P(ForkContract, ImagesCountByTheShareOfAllNodesThoseOfTheForkIncluded) {
  given(
      "engine ties=first\nconfig disable=NodeResourcesFit disable=NodeResourcesBalancedAllocation\n"
      "node a image=900000000*app:1\nnode b\nnode g\npod p image=app:1");
  const NodePtr g = node_object("g");
  tell(without("g"));
  const auto fork = backend_->fork();
  const auto score_in = [&](const std::string& node) {
    for (const NodeEvaluation& there : fork->evaluate(prepared({pod("p")}).front()).nodes)
      if (fork->node_name(there.node) == node)
        for (const PluginScore& score : there.scores)
          if (score.plugin == "ImageLocality") return score.raw;
    return std::int64_t{-1};
  };
  const std::int64_t of_two = score_in("a");
  tell(*fork, NodeUpsert(g));
  EXPECT_LT(score_in("a"), of_two) << "one of three nodes has it";
  EXPECT_EQ(score_in("g"), 0);
}

/// ThreadSanitizer finds what the calls would read while another one writes it.
TEST_P(ForkContract, ForksAreOpenedInParallelWithConstCalls) {
  given(std::string(kTwoEqualNodes) + "node c cpu=2\npod p*4 cpu=3\npod q cpu=1");
  const std::vector<PodToPlace> pods = prepared({pod("p1"), pod("q")});
  const std::vector<PodToPlace> first = compiled({pod("p0")});
  for (int round = 0; round < 20; ++round) {
    const CommitMark before = backend_->mark();
    tell(ServiceUpsert{{"web", "default", LabelMap{{"app", std::to_string(round)}}}});  // pods are prepared again
    backend_->commit_batch(first, {});
    std::vector<Names> answers(4);
    std::latch begin(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < answers.size(); ++t)
      threads.emplace_back([&, t] {
        begin.arrive_and_wait();
        const auto fork = backend_->fork();
        answers[t] = nodes_in(*fork, fork->commit_batch(pods, {}));
        for (const NodeVerdict& verdict : backend_->verdicts(pods.front()).nodes)
          answers[t].emplace_back(verdict.accepts() ? "accepts" : "refuses");
        for (std::int32_t slot = 0; slot < backend_->slot_count(); ++slot)
          answers[t].emplace_back(backend_->node_name({slot}));
        answers[t].push_back(std::to_string(backend_->mark().position - before.position));
        EXPECT_EQ(backend_->stats().forks_reopened, 0);
      });
    for (std::thread& thread : threads) thread.join();
    for (const Names& answer : answers)
      EXPECT_EQ(answer, (Names{"b", "c", "refuses", "accepts", "refuses", "a", "b", "c", "1"}));
    backend_->rollback(before);
  }
}

TEST_P(ForkContract, AnEngineMayGoWhileItsForksAnswer) {
  given(std::string(kTwoEqualNodes) + "node c cpu=2\npod p*20 cpu=500m\npod q cpu=1");
  const std::vector<PodToPlace> pods = prepared(scenario_.pending());
  std::vector<std::unique_ptr<Fork>> forks;
  for (int f = 0; f < 3; ++f) forks.push_back(backend_->fork());
  const Names expected = nodes_in(*forks.front(), forks.front()->fork()->commit_batch(pods, {}));
  std::vector<Names> answers(forks.size());
  std::atomic<int> begun = 0;
  std::vector<std::thread> threads;
  for (std::size_t f = 0; f < forks.size(); ++f)
    threads.emplace_back([&, f] {
      for (int trials = 0; trials < 20; ++trials) {
        const std::unique_ptr<Fork> trial = forks[f]->fork();
        answers[f] = nodes_in(*trial, trial->commit_batch(pods, {}));
        ++begun;
        if (answers[f] != expected) return;
      }
    });
  while (begun < 3) std::this_thread::yield();
  backend_.reset();
  for (std::thread& thread : threads) thread.join();
  for (const Names& answer : answers) EXPECT_EQ(answer, expected);
}

INSTANTIATE_TEST_SUITE_P(All, ForkContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace
}  // namespace berth::test
