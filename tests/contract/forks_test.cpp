// SPDX-License-Identifier: Apache-2.0
// The contract of try_forks in batching/backend.h: each fork equals commit_batch() followed by rollback(), and none has
// an effect afterwards.

#include <string>
#include <vector>

#include "tests/contract/backend_contract.h"
#include "tests/support/evaluated.h"

namespace berth::test {
namespace {

using Names = std::vector<std::string>;
using Forks = std::vector<std::vector<PodToPlace>>;

std::vector<std::span<const PodToPlace>> spans(const Forks& forks) { return {forks.begin(), forks.end()}; }

/// Everything that a caller can see of a result: one line per pod, and the stop reason.
Names text_of(const BatchResult& result) {
  Names lines;
  for (const Outcome& outcome : result.outcomes)
    lines.push_back(
        "node " + std::to_string(outcome.node.value) + " with " + std::to_string(outcome.score) +
        (outcome.kind == OutcomeKind::kError ? " error" : "") +
        (outcome.message < 0 ? "" : ": " + result.messages[static_cast<std::size_t>(outcome.message)].text));
  lines.push_back("stop " + std::to_string(static_cast<int>(result.stop)));
  return lines;
}

std::vector<Names> text_of(const std::vector<BatchResult>& results) {
  std::vector<Names> texts;
  for (const BatchResult& result : results) texts.push_back(text_of(result));
  return texts;
}

std::vector<Names> one_by_one(Backend& backend, const Forks& forks, const BatchLimits& limits) {
  std::vector<Names> texts;
  const CommitMark before = backend.mark();
  for (const std::vector<PodToPlace>& pods : forks) {
    texts.push_back(text_of(backend.commit_batch(pods, limits)));
    backend.rollback(before);
  }
  return texts;
}

/// The backend's results for every pod, including the next placements.
std::vector<Names> state_of(Backend& backend, const Forks& forks) {
  std::vector<Names> state;
  for (const std::vector<PodToPlace>& pods : forks)
    for (const PodToPlace& pod : pods) {
      const Evaluation evaluation = evaluated(pod, backend);
      Names& lines = state.emplace_back();
      for (const NodeEvaluation& node : evaluation.nodes)
        lines.push_back(node.feasible ? std::to_string(node.total) : node.status.message());
      lines.push_back(evaluation.message + evaluation.error);
    }
  return state;
}

/// Cold and warm, forks equal batches and have no effect afterwards. @return their results
std::vector<Names> expect_as_batches(Backend& backend, const Forks& forks, const BatchLimits& limits = {}) {
  const CommitMark before = backend.mark();
  const std::vector<Names> cold = text_of(backend.try_forks(spans(forks), limits));
  EXPECT_EQ(backend.mark().position, before.position);
  const std::vector<Names> state = state_of(backend, forks);
  EXPECT_EQ(cold, one_by_one(backend, forks, limits));
  EXPECT_EQ(text_of(backend.try_forks(spans(forks), limits)), cold);
  EXPECT_EQ(backend.mark().position, before.position);
  EXPECT_EQ(state_of(backend, forks), state);
  return cold;
}

constexpr const char* kThreeNodes =
    "engine ties=first\nnode a cpu=4 memory=8Gi zone=1 host\nnode b cpu=4 memory=8Gi zone=1 host\n"
    "node c cpu=8 memory=16Gi zone=2 host\n";

TEST_P(BackendContract, NoForksGiveNoResults) {
  given(kThreeNodes);
  EXPECT_TRUE(backend_->try_forks({}, {}).empty());
}

TEST_P(BackendContract, AForkWithoutPodsIsComplete) {
  given(std::string(kThreeNodes) + "pod p cpu=1");
  const Forks forks{{}, compiled({pod("p")}), {}};
  const std::vector<Names> answers = expect_as_batches(*backend_, forks);
  EXPECT_EQ(answers.front(), Names{"stop 0"});
  EXPECT_EQ(answers.back(), Names{"stop 0"});
  EXPECT_EQ(text_of(backend_->try_forks(spans({{}, {}}), {})), (std::vector<Names>{{"stop 0"}, {"stop 0"}}));
}

TEST_P(BackendContract, ForksDoNotAffectEachOther) {
  given(std::string(kThreeNodes) + "pod big*3 cpu=7\npod small*9 cpu=1 memory=1Gi");
  const Forks forks{compiled({pod("big0"), pod("big1")}), compiled({pod("big2"), pod("small0"), pod("small1")}),
                    compiled({pod("small2"), pod("small3"), pod("small4"), pod("big0")})};
  const std::vector<BatchResult> results = backend_->try_forks(spans(forks), {});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(nodes_of(results[0]), (Names{"c", ""}));
  EXPECT_EQ(nodes_of(results[1]).front(), "c");
  expect_as_batches(*backend_, forks);
}

TEST_P(BackendContract, ForksDoNotAffectTheNextBatch) {
  const std::string text = std::string(kThreeNodes) + "pod p*12 cpu=1 memory=1Gi\npod q*4 cpu=3\npod r cpu=40";
  given(text);
  const Names expected = text_of(place_pending());
  given(text);
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  const Forks forks{pods, {pods.rbegin(), pods.rend()}, {pods.begin() + 3, pods.begin() + 14}};
  backend_->try_forks(spans(forks), {});
  EXPECT_EQ(text_of(backend_->commit_batch(pods, {})), expected);
}

TEST_P(BackendContract, ForksMayContainTheSamePods) {
  given(std::string(kThreeNodes) + "pod p cpu=4\npod q cpu=6");
  const std::vector<PodToPlace> both = compiled({pod("p"), pod("q")});
  const std::vector<Names> answers =
      expect_as_batches(*backend_, {both, both, {both[1], both[0]}, {both[0], both[0], both[0], both[0]}});
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_NE(answers[0], answers[2]);
}

TEST_P(BackendContract, AForkOfEqualPodsFillsTheClusterLikeABatch) {
  given("node n*40 cpu=4 memory=8Gi\npod p*300 cpu=500m memory=1Gi");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  expect_as_batches(*backend_, {pods, {pods.begin(), pods.begin() + 100}, {pods.begin() + 7, pods.end()}});
}

TEST_P(BackendContract, AForkStopsAfterItsFirstUnplacedPod) {
  given(std::string(kThreeNodes) + "pod p*4 cpu=1\npod huge cpu=99\npod q*2 cpu=2");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  const std::vector<Names> answers =
      expect_as_batches(*backend_, {pods, {pods.begin(), pods.begin() + 4}, {pods[4]}, {pods[5], pods[4], pods[4]}, {}},
                        {.stop_at_failure = true});
  const auto stopped = "stop " + std::to_string(static_cast<int>(StopReason::kPodWithoutNode));
  EXPECT_EQ(answers[0].size(), 6u) << "five pods were answered";
  EXPECT_EQ(answers[0].back(), stopped);
  EXPECT_EQ(answers[1].back(), "stop 0");
  EXPECT_EQ(answers[2].back(), stopped);
  EXPECT_EQ(answers[3].size(), 3u);
  EXPECT_EQ(answers[4].back(), "stop 0");
}

TEST_P(BackendContract, BatchLimitsApplyToEachFork) {
  given(std::string(kThreeNodes) + "pod p*6 cpu=1\npod huge cpu=99");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  const Forks forks{pods, {pods.begin(), pods.begin() + 2}, {pods[6], pods[0], pods[1], pods[2]}, {}};
  const std::vector<Names> answers = expect_as_batches(*backend_, forks, {.pods_max = 3});
  EXPECT_EQ(answers[0].size(), 4u);
  EXPECT_EQ(answers[0].back(), "stop " + std::to_string(static_cast<int>(StopReason::kPodLimit)));
  EXPECT_EQ(answers[1].back(), "stop 0");
  expect_as_batches(*backend_, forks, {.pods_max = 0});
  expect_as_batches(*backend_, forks, {.pods_max = 1, .stop_at_failure = true});
}

TEST_P(BackendContract, AForkWithADeadlineAnswersAtLeastOnePod) {
  given(std::string(kThreeNodes) + "pod p*6 cpu=1");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  const CommitMark before = backend_->mark();
  const std::vector<BatchResult> results = backend_->try_forks(spans({pods, pods}), {.deadline_us = 1});
  ASSERT_EQ(results.size(), 2u);
  for (const BatchResult& result : results) {
    EXPECT_GE(result.outcomes.size(), 1u);
    EXPECT_EQ(result.stop == StopReason::kDone, result.outcomes.size() == pods.size());
  }
  EXPECT_EQ(backend_->mark().position, before.position);
}

TEST_P(BackendContract, ForksStartFromTheCurrentPlacements) {
  given(std::string(kThreeNodes) + "pod first*3 cpu=3\npod p*4 cpu=2\npod q*2 cpu=4");
  const Forks forks{compiled({pod("p0"), pod("p1"), pod("p2"), pod("p3")}), compiled({pod("q0"), pod("q1")})};
  const std::vector<Names> empty_cluster = expect_as_batches(*backend_, forks);
  const CommitMark mark = backend_->mark();
  place({pod("first0"), pod("first1"), pod("first2")});
  EXPECT_NE(expect_as_batches(*backend_, forks), empty_cluster);
  backend_->rollback(mark);
  EXPECT_EQ(expect_as_batches(*backend_, forks), empty_cluster);
}

TEST_P(BackendContract, ForksOccupyHostPortsAndReleaseThem) {
  given(std::string(kThreeNodes) +
        "pod web*4 cpu=1 port=80\npod dns*4 port=UDP/53 port=80\npod local*2 port=10.0.0.1/80\npod plain*2 cpu=2");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  const Forks forks{
      {pods.begin(), pods.begin() + 4}, {pods.begin() + 4, pods.begin() + 8}, pods, {pods.rbegin(), pods.rend()}};
  const std::vector<Names> answers = expect_as_batches(*backend_, forks);
  EXPECT_NE(answers[0][3], answers[0][2]) << "a fourth pod finds the port taken on every node";
  place({pod("local0")});
  expect_as_batches(*backend_, forks);
}

TEST_P(BackendContract, EachForkHasItsOwnTopologyCounts) {
  given(std::string(kThreeNodes) +
        "node d cpu=4 memory=8Gi\n"
        "pod spread*5 cpu=1 label:app=s spread=zone match=app=s\n"
        "pod soft*6 cpu=100m label:app=t soft-spread=zone match=app=t soft-spread=host match=app=t\n"
        "pod alone*4 label:app=u pod-anti-affinity=host match=app=u\n"
        "pod together*4 cpu=1 label:app=v pod-affinity=zone match=app=v\n"
        "pod near*3 pod-affinity=zone:50 match=app=s pod-anti-affinity=host:20 match=app=v");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  Forks forks{pods, {pods.rbegin(), pods.rend()}};
  for (std::size_t first = 0; first < pods.size(); first += 4) {
    std::vector<PodToPlace>& fork = forks.emplace_back();
    for (std::size_t i = first; i < first + 9; ++i) fork.push_back(pods[i % pods.size()]);
  }
  expect_as_batches(*backend_, forks);
  place({pod("spread0"), pod("together1"), pod("alone2"), pod("soft3")});
  expect_as_batches(*backend_, forks);
}

TEST_P(BackendContract, AForkConsumesANominationAndRestoresIt) {
  given(
      "engine ties=first\nnode n cpu=4\nnode m cpu=2\n"
      "pod nominee nominated=n priority=9 cpu=3\npod p cpu=2\npod q cpu=2 priority=10");
  const Forks forks{compiled({pod("nominee"), pod("p"), pod("q")}), compiled({pod("p"), pod("q")}),
                    compiled({pod("q"), pod("nominee"), pod("p")})};
  const std::vector<BatchResult> results = backend_->try_forks(spans(forks), {});
  EXPECT_EQ(nodes_of(results[0]), (Names{"n", "m", ""}));
  EXPECT_EQ(nodes_of(results[1]), (Names{"m", "n"}));
  expect_as_batches(*backend_, forks);
  expect_refusal("p", "n", "NodeResourcesFit", StatusCode::kUnschedulable, {"Insufficient cpu"});
}

TEST_P(BackendContract, APodWithAnErrorDoesNotStopItsFork) {
  given(std::string(kThreeNodes) + "pod p*3 cpu=1\npod device resource-claim=gpu");
  const Forks forks{compiled({pod("p0"), pod("device"), pod("p1")}), compiled({pod("device")}),
                    compiled({pod("p2"), pod("p1")})};
  const std::vector<Names> answers = expect_as_batches(*backend_, forks);
  EXPECT_NE(answers[0][1].find(" error: "), std::string::npos) << answers[0][1];
  EXPECT_EQ(answers[0].size(), 4u);
  expect_as_batches(*backend_, forks, {.stop_at_failure = true});
}

TEST_P(BackendContract, ForksOfAClusterWithoutNodesPlaceNothing) {
  given("pod p*2 cpu=1");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  expect_as_batches(*backend_, {pods, {}, {pods[1]}});
}

}  // namespace
}  // namespace berth::test
