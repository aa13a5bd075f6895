// SPDX-License-Identifier: Apache-2.0
// The contract of commit_batch, mark, rollback and evaluate in batching/backend.h.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/contract/backend_contract.h"

namespace berth::test {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kFourPods = R"(engine ties=first
node n cpu=4
pod a cpu=2
pod b cpu=9
pod c cpu=2
pod d cpu=1
)";

TEST_P(BackendContract, APodSeesAllEarlierPlacementsOfItsBatch) {
  given(kFourPods);
  const BatchResult result = place_pending();
  EXPECT_EQ(result.stop, StopReason::kDone);
  EXPECT_EQ(nodes_of(result), (Names{"n", "", "n", ""}));
}

TEST_P(BackendContract, AnEmptyBatchSucceeds) {
  given("node n");
  EXPECT_EQ(place({}).stop, StopReason::kDone);
  EXPECT_TRUE(place({}).outcomes.empty());
}

TEST_P(BackendContract, ABatchCanStopAfterAnUnplacedPodAndContinue) {
  given(kFourPods);
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  const BatchLimits limits{.stop_at_failure = true};
  const BatchResult first = backend_->commit_batch(pods, limits);
  EXPECT_EQ(first.stop, StopReason::kPodWithoutNode);
  EXPECT_EQ(nodes_of(first), (Names{"n", ""}));
  const BatchResult rest = backend_->commit_batch(std::span(pods).subspan(2), limits);
  EXPECT_EQ(nodes_of(rest), (Names{"n", ""}));
}

TEST_P(BackendContract, ABatchStopsAtItsPodLimit) {
  given(kFourPods);
  const BatchResult result = place_pending({.pods_max = 3});
  EXPECT_EQ(result.stop, StopReason::kPodLimit);
  EXPECT_EQ(result.outcomes.size(), 3u);
}

TEST_P(BackendContract, AFailureOnTheLastPodOfTheLimitIsReportedAsAFailure) {
  given(kFourPods);
  const BatchResult result = place_pending({.pods_max = 2, .stop_at_failure = true});
  EXPECT_EQ(result.stop, StopReason::kPodWithoutNode);
}

TEST_P(BackendContract, ABatchWithADeadlineMakesProgressOnEveryCall) {
  given("node n cpu=1000\npod p*50 cpu=1");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  std::size_t done = 0;
  for (std::size_t calls = 0; done < pods.size() && calls < pods.size(); ++calls) {
    const BatchResult result = backend_->commit_batch(std::span(pods).subspan(done), {.deadline_us = 1});
    ASSERT_FALSE(result.outcomes.empty());
    done += result.outcomes.size();
    EXPECT_EQ(result.stop == StopReason::kDone, done == pods.size());
  }
  EXPECT_EQ(done, pods.size());
}

TEST_P(BackendContract, APodThatWasNotCompiledIsALogicErrorThatNamesIt) {
  given("engine ties=first\nnode n cpu=4\npod known cpu=1\npod unknown cpu=1");
  std::vector<PodToPlace> pods = compiled({pod("known")});
  pods.push_back({pod("unknown"), 0, -1});
  const CommitMark before = backend_->mark();
  expect_error_that_names(*pod("unknown"), [&] { backend_->commit_batch(pods, {}); });
  const std::span<const PodToPlace> list = pods;
  expect_error_that_names(*pod("unknown"), [&] { backend_->try_forks({&list, 1}, {}); });
  EXPECT_EQ(backend_->mark().position, before.position) << "the pod before it was not placed either";
  EXPECT_EQ(nodes_of(place_pending()), (Names{"n", "n"}));
}

TEST_P(BackendContract, OnlyPreparedPodsAreEvaluatedAndProbed) {
  given("node n cpu=4\npod p cpu=1\npod q cpu=1");
  std::vector<PodToPlace> pods = compiled(scenario_.pending());
  expect_error_that_names(*pod("p"), [&] { backend_->evaluate(pods.front()); });
  expect_error_that_names(*pod("p"), [&] { backend_->probe(pods.front(), "n"); });
  expect_error_that_names(*pod("p"), [&] { backend_->evaluate({pod("p"), 0, -1}); });
  backend_->prepare(pods);
  EXPECT_TRUE(backend_->evaluate(pods.front()).nodes.front().feasible);
  EXPECT_TRUE(backend_->probe(pods.front(), "n").node_exists);
  backend_->release(std::span(pods).first(1));
  expect_error_that_names(*pod("p"), [&] { backend_->evaluate(pods.front()); });
  EXPECT_TRUE(backend_->evaluate(pods.back()).nodes.front().feasible);
}

TEST_P(BackendContract, OnlyCompiledPodsArePlacedOnANamedNode) {
  given("node n cpu=4\npod p cpu=3\npod q cpu=3");
  expect_error_that_names(*pod("p"), [&] { backend_->place({pod("p"), 0, -1}, "n"); });
  EXPECT_EQ(backend_->mark().position, 0u);
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  backend_->place(pods.front(), "n");
  EXPECT_EQ(nodes_of(backend_->commit_batch(std::span(pods).last(1), {})), Names{""});
}

/// What a call finds outdated it brings up to date, also where others read: they all get the answers of the state.
TEST_P(BackendContract, EvaluationsInThreadsAgreeAfterEvents) {
  given(
      "node a cpu=4 zone=1\nnode b cpu=4 zone=2\npod old on=a label:app=web\n"
      "pod p*6 cpu=1 label:app=web spread=zone match=app=web\npod q*6 cpu=1\n");
  const std::vector<PodToPlace> pods = prepared(scenario_.pending());
  for (int round = 0; round < 8; ++round) {
    const auto changed = std::make_shared<Node>(*scenario_.objects.nodes[static_cast<std::size_t>(round % 2)]);
    changed->unschedulable = round % 4 < 2;
    backend_->apply(std::vector<ClusterChange>{
        NodeUpsert(changed), ServiceUpsert{{"web", "default", {{"app", round % 2 == 0 ? "web" : "db"}}}}});
    std::vector<Names> answers(4);
    std::vector<std::thread> threads;
    for (Names& of_thread : answers)
      threads.emplace_back([&] {
        for (const PodToPlace& one : pods) {
          const Evaluation evaluation = backend_->evaluate(one);
          of_thread.push_back(evaluation.message);
          for (const NodeEvaluation& node : evaluation.nodes)
            of_thread.push_back(std::to_string(node.total) + node.status.message());
        }
      });
    for (std::thread& thread : threads) thread.join();
    Names alone;
    for (const PodToPlace& one : pods) {
      const Evaluation evaluation = backend_->evaluate(one);
      alone.push_back(evaluation.message);
      for (const NodeEvaluation& node : evaluation.nodes)
        alone.push_back(std::to_string(node.total) + node.status.message());
    }
    for (const Names& of_thread : answers) EXPECT_EQ(of_thread, alone) << "round " << round;
  }
}

TEST_P(BackendContract, AReleasedPodIsNotPlacedAnyMore) {
  given("node n cpu=4\npod p cpu=1\npod q cpu=1");
  std::vector<PodToPlace> pods = compiled(scenario_.pending());
  backend_->release(std::span(pods).first(1));
  expect_error_that_names(*pod("p"), [&] { backend_->commit_batch(pods, {}); });
  EXPECT_EQ(nodes_of(backend_->commit_batch(std::span(pods).last(1), {})), Names{"n"});
}

/// Words of `count` pods, from `words(i)`.
template <class Words>
std::string repeated(int count, Words words) {
  std::string text;
  for (int i = 0; i < count; ++i) text += " " + words(i);
  return text;
}

TEST_P(BackendContract, EqualPodsThatFitNowhereGetTheReasonsOfTheirTurn) {
  given("engine ties=first\nnode n*3 cpu=4 memory=4Gi\npod huge*200 cpu=5\npod small*10 cpu=1\npod full*300 cpu=1");
  const BatchResult result = place_pending();
  ASSERT_EQ(result.outcomes.size(), 510u);
  for (std::size_t i = 0; i < 510; ++i) {
    const bool placed = (i >= 200 && i < 212);
    ASSERT_EQ(result.outcomes[i].kind, placed ? OutcomeKind::kPlaced : OutcomeKind::kUnschedulable) << i;
    if (!placed) {
      EXPECT_EQ(result.messages[static_cast<std::size_t>(result.outcomes[i].message)].text,
                "0/3 nodes are available: 3 Insufficient cpu.");
    }
  }
}

TEST_P(BackendContract, FailuresThatAlternateWithPlacementsFollowTheNodes) {
  given(
      "engine ties=first\nnode n*2 cpu=4 memory=4Gi\npod a cpu=5\npod b memory=4Gi\npod c cpu=5\n"
      "pod d memory=4Gi\npod e cpu=5 memory=1Gi\npod f cpu=5\npod g cpu=5 memory=1Gi");
  const BatchResult result = place({pod("a"), pod("e"), pod("b"), pod("c"), pod("e"), pod("d"), pod("f"), pod("g")});
  const auto text = [&](std::size_t i) {
    const std::int32_t message = result.outcomes[i].message;
    return message < 0 ? "" : result.messages[static_cast<std::size_t>(message)].text;
  };
  const std::string cpu = "0/2 nodes are available: 2 Insufficient cpu.";
  const std::string once = "0/2 nodes are available: 1 Insufficient memory, 2 Insufficient cpu.";
  const std::string twice = "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory.";
  EXPECT_EQ((Names{text(0), text(1), text(2), text(3), text(4), text(5), text(6), text(7)}),
            (Names{cpu, cpu, "", cpu, once, "", cpu, twice}));
}

TEST_P(BackendContract, ARepeatedFailureIsStoppedAtLikeAnyOther) {
  given("node n cpu=4\npod a*100 cpu=5");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  const BatchResult result = backend_->commit_batch(pods, {.stop_at_failure = true});
  EXPECT_EQ(result.outcomes.size(), 1u);
  EXPECT_EQ(result.stop, StopReason::kPodWithoutNode);
}

TEST_P(BackendContract, APodMayRequestMoreThanSixtyFourResources) {
  const auto resource = [](int i) { return "res:example.com/r" + std::to_string(i); };
  const std::string pod = "pod p" + repeated(70, [&](int i) { return resource(i) + "=2"; });
  const std::string offers = repeated(70, [&](int i) { return resource(i) + "=2"; });
  const std::string short_of_two = repeated(68, [&](int i) { return resource(i) + "=2"; });
  given("node good" + offers + "\n" + pod);
  expect_pass("p", "good");
  EXPECT_EQ(nodes_of(place_pending()), Names{"good"});
  given("node bad" + short_of_two + "\n" + pod);
  expect_refusal("p", "bad", "NodeResourcesFit", StatusCode::kUnschedulableAndUnresolvable,
                 {"Insufficient example.com/r68", "Insufficient example.com/r69"});
  EXPECT_EQ(nodes_of(place_pending()), Names{""});
  given("node used" + offers + "\npod old on=used res:example.com/r66=1\n" + pod);
  expect_refusal("p", "used", "NodeResourcesFit", StatusCode::kUnschedulable, {"Insufficient example.com/r66"});
}

TEST_P(BackendContract, APodMayHaveMoreThanSixtyFourSoftSpreadConstraints) {
  const std::string nodes =
      "engine ties=first\nnode a zone=x label:rack=1\nnode b zone=y label:rack=2\nnode c zone=y\n"
      "pod old*3 on=a label:app=web\n";
  // The last constraint reads a label that node c lacks.
  const std::string pod =
      "pod p*4 label:app=web" +
      repeated(69, [](int i) { return "soft-spread=zone skew=" + std::to_string(1 + i) + " match=app=web"; }) +
      " soft-spread=rack match=app=web";
  given(nodes + pod);
  EXPECT_EQ(nodes_of(place_pending()), (Names{"b", "b", "b", "a"}));
}

TEST_P(BackendContract, ARollbackReturnsToTheMark) {
  given("engine ties=first\nnode n cpu=4\nnode m cpu=2\npod a cpu=2 port=80\npod b cpu=2 port=80\npod c cpu=4");
  place({pod("a")});
  const CommitMark mark = backend_->mark();
  const Names once = nodes_of(place({pod("b"), pod("c")}));
  backend_->rollback(mark);
  EXPECT_EQ(nodes_of(place({pod("b"), pod("c")})), once);
  backend_->rollback({0});
  EXPECT_EQ(nodes_of(place({pod("c")})), Names{"n"});
}

TEST_P(BackendContract, TheNodeWithTheMostTaintsIsFeasibleAgainAfterARollback) {
  given(
      "node roomy cpu=3 taint=x:PreferNoSchedule\n"
      "node last cpu=1 label:disk=ssd taint=x:PreferNoSchedule taint=y:PreferNoSchedule\n"
      "pod filler cpu=1 select:disk=ssd\npod p*5 cpu=1");
  place({pod("p0")});
  const CommitMark mark = backend_->mark();
  EXPECT_EQ(nodes_of(place({pod("filler"), pod("p1")})), (Names{"last", "roomy"}));
  backend_->rollback(mark);
  EXPECT_EQ(nodes_of(place({pod("p2"), pod("p3"), pod("p4")})), (Names{"roomy", "roomy", "last"}));
}

TEST_P(BackendContract, ARollbackRestoresANomination) {
  given("node n cpu=4\npod nominee nominated=n priority=9 cpu=3\npod p cpu=2");
  const CommitMark mark = backend_->mark();
  place({pod("nominee")});
  backend_->rollback(mark);
  expect_refusal("p", "n", "NodeResourcesFit", StatusCode::kUnschedulable, {"Insufficient cpu"});
}

TEST_P(BackendContract, AnEvaluationCommitsNothing) {
  given("engine ties=first\nnode n cpu=4\nnode m cpu=4\npod a cpu=3\npod b cpu=3\npod c cpu=3");
  ask("a");
  ask("b");
  EXPECT_EQ(nodes_of(place({pod("a")})), Names{"n"});
  expect_refusal("b", "n", "NodeResourcesFit", StatusCode::kUnschedulable, {"Insufficient cpu"});
  expect_pass("b", "m");
}

TEST_P(BackendContract, AnEvaluationListsEveryNodeInOrderAndAllBestNodes) {
  given("node a zone=1\nnode b zone=1\nnode c zone=2\nnode d zone=2 unschedulable\npod p");
  const Evaluation evaluation = ask("p");
  ASSERT_EQ(evaluation.nodes.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(evaluation.nodes[i].node.value, static_cast<std::int32_t>(i));
  EXPECT_EQ(evaluation.best.size(), 3u);
  EXPECT_EQ(evaluation.message, "");
}

TEST_P(BackendContract, APlacedPodOccupiesItsHostPorts) {
  given("node n\npod a port=80\npod b port=80\npod c port=81");
  EXPECT_EQ(nodes_of(place_pending()), (Names{"n", "", "n"}));
}

constexpr const char* kRanked =
    "node a cpu=10 memory=32Gi pods=1\nnode b cpu=8 memory=32Gi pods=1\nnode c cpu=6 memory=32Gi pods=1\n"
    "node full cpu=1 memory=32Gi pods=1\npod old on=full cpu=1\n";

TEST_P(BackendContract, ARankedPodTellsTheOtherFeasibleNodesBestFirst) {
  given(std::string(kRanked) + "pod p cpu=1");
  BatchResult result = place_pending({.ranks_nodes = true});
  EXPECT_EQ(nodes_of(result), Names{"a"});
  EXPECT_EQ(result.others, (std::vector<NodeIndex>{node("b"), node("c")}));
}

TEST_P(BackendContract, TheHeapRanksNodesOfOneTotalAsItPopsThem) {
  given("engine ties=kube\nnode n*5 cpu=4 memory=8Gi\nnode busy cpu=4 memory=8Gi\npod old on=busy cpu=1\npod p cpu=1");
  const BatchResult result = place_pending({.ranks_nodes = true});
  EXPECT_EQ(nodes_of(result), Names{"n0"});
  EXPECT_EQ(result.others, (std::vector<NodeIndex>{node("n1"), node("n4"), node("n3"), node("n2"), node("busy")}));
}

TEST_P(BackendContract, APodThatWasNotScoredHasNoOthers) {
  given("node a cpu=1\nnode b cpu=2\npod p cpu=2\npod q cpu=1 nominated=b\npod r cpu=9");
  for (const char* name : {"p", "r"}) EXPECT_TRUE(place({pod(name)}, {.ranks_nodes = true}).others.empty()) << name;
  given("node a cpu=4\nnode b cpu=2\npod q cpu=1 nominated=b");
  const BatchResult result = place_pending({.ranks_nodes = true});
  EXPECT_EQ(nodes_of(result), Names{"b"});
  EXPECT_TRUE(result.others.empty());
}

TEST_P(BackendContract, ABatchWithoutRowsHasTheSameOutcomes) {
  constexpr const char* kCase =
      "node a cpu=10 memory=32Gi zone=1\nnode b cpu=8 memory=32Gi zone=2\nnode c cpu=6 memory=32Gi zone=2\n"
      "pod old on=a cpu=3 label:app=x\npod p*6 cpu=2 label:app=x spread=zone match=app=x\npod q*9 cpu=1";
  given(kCase);
  const BatchResult with_rows = place_pending();
  given(kCase);
  const BatchResult without = place_pending({.lists_nodes = true});
  EXPECT_EQ(nodes_of(without), nodes_of(with_rows));
  ASSERT_EQ(without.outcomes.size(), with_rows.outcomes.size());
  for (std::size_t i = 0; i < without.outcomes.size(); ++i)
    EXPECT_EQ(without.outcomes[i].score, with_rows.outcomes[i].score) << i;
  EXPECT_EQ(without.messages, with_rows.messages);
}

TEST_P(BackendContract, CopiesThatFitAreThoseThatABatchPlacesOrUnknown) {
  given(
      "node a cpu=10 memory=32Gi pods=9\nnode b cpu=5 memory=4Gi pods=9\nnode full cpu=1 pods=1\npod old on=full\n"
      "pod p cpu=2 memory=1Gi\npod port port=80\npod nothing\npod large cpu=11\npod only cpu=1 "
      "need=@metadata.name:In:b");
  const std::vector<PodToPlace> pods =
      prepared({pod("p"), pod("port"), pod("nothing"), pod("large"), pod("only"), pod("p")});
  const CopiesAnswer answer = backend_->copies_that_fit(pods, {.on_nodes = true});
  const std::vector<std::int64_t> expected = {7, 2, 18, 0, 5, 7};
  const std::vector<std::int32_t> on_b = {2, 1, 9, 0, 5, 2};
  ASSERT_EQ(answer.pods.size(), pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const CopiesOfPod& copies = answer.pods[i];
    ASSERT_LE(copies.same_as, i);
    EXPECT_EQ(copies.kind == CopiesOfPod::Kind::kKnown, backend_->name() != "reference") << i;
    if (copies.kind != CopiesOfPod::Kind::kKnown) continue;
    EXPECT_EQ(copies.count, expected[i]) << i;
    EXPECT_EQ(answer.on_node[copies.same_as * answer.slot_count + static_cast<std::size_t>(node("b").value)], on_b[i]);
  }
}

TEST_P(BackendContract, AProbeAsksThePluginsOnOneNode) {
  given(std::string(kRanked) + "pod p cpu=1\npod nowhere cpu=1 need=@metadata.name:In:a&@metadata.name:In:b");
  const auto probe = [this](const char* name, const char* node) {
    return backend_->probe(prepared({pod(name)}).front(), node);
  };
  EXPECT_EQ(probe("p", "a"), (NodeProbe{true, true, false}));
  EXPECT_EQ(probe("p", "full"), (NodeProbe{true, true, true}));
  EXPECT_EQ(probe("p", "gone"), (NodeProbe{true, false, false}));
  EXPECT_EQ(probe("p", ""), (NodeProbe{true, false, false}));
  EXPECT_EQ(probe("nowhere", "a"), NodeProbe{});
  given("pod p cpu=1");
  EXPECT_EQ(probe("p", ""), NodeProbe{});
}

TEST_P(BackendContract, PodsNominatedToANodeDoNotCountInAProbe) {
  given("node a cpu=4\npod first cpu=4 priority=9 nominated=a\npod p cpu=1");
  EXPECT_EQ(backend_->probe(prepared({pod("p")}).front(), "a"), (NodeProbe{true, true, false}));
}

}  // namespace
}  // namespace berth::test
