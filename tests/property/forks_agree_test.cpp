// SPDX-License-Identifier: Apache-2.0
// Forks of an engine, and forks of those, with calls on all of them in any order: batches, pods that are evicted or
// come, nodes that come, change and go, evaluations, promotion. The forks of the cpu and of the device backend must
// equal those of the reference, which copies everything.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/device/device_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "host/preemption/fork_preemption.h"
#include "tests/property/answering_threads.h"
#include "tests/property/cluster_history.h"
#include "tests/property/drawn_case.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/support/evaluated.h"

namespace berth {
namespace {

using test::Case;
using test::ClusterHistory;
using test::Dice;

/// One line per pod, the same for engines and forks.
template <class Answering>
std::vector<std::string> texts(const BatchResult& result, const Answering& answering) {
  std::vector<std::string> lines;
  for (const Outcome& outcome : result.outcomes)
    lines.push_back(test::describe(outcome, result, answering.node_name(outcome.node)));
  return lines;
}

/// A fork in both engines, and what its cluster looks like.
struct OpenFork {
  std::unique_ptr<Fork> reference;
  std::unique_ptr<Fork> tested;
  std::unique_ptr<ClusterHistory> history;
  int number = 0;
  int parent = 0;  ///< number of the fork that it is of; 0: of the engine
};

class Session {
 public:
  Session(Case& drawn, std::unique_ptr<Backend> tested)
      : drawn_(drawn),
        reference_(std::make_unique<ReferenceBackend>(drawn.cache, drawn.objects, drawn.config, drawn.engine)),
        tested_(std::move(tested)),
        history_(std::make_unique<ClusterHistory>(drawn)) {}

  void step(Dice& dice) {
    switch (dice.upto(11)) {
      case 0:
        return place_in_engine(dice);
      case 1:
        return change_engine(dice);
      case 2:
        return undo_in_engine(dice);
      case 3:
      case 4:
        return open(dice);
      case 5:
      case 6:
      case 7:
        return forks_.empty() ? open(dice) : place(any(dice), dice);
      case 8:
        return forks_.empty() ? open(dice) : change(any(dice), dice);
      case 9:
        return forks_.empty() ? open(dice) : evaluate(any(dice), dice);
      case 10:
        if (!forks_.empty() && dice.one_in(2)) drop(static_cast<std::size_t>(&any(dice) - forks_.data()));
        return;
      default:
        if (!forks_.empty()) promote(static_cast<std::size_t>(&any(dice) - forks_.data()));
    }
  }

  void place_some(Dice& dice) {
    for (int batches = 0; batches < 4; ++batches) place_in_engine(dice);
  }

  /// Opens a fork of the engine or of a fork, where nodes and pods change and pods are placed.
  void work_in_a_fork_with_guests(Dice& dice) {
    open(dice);
    const std::size_t at = forks_.size() - 1;
    for (int rounds = 0; rounds < 4; ++rounds) {
      change(forks_[at], dice, 2);
      place(forks_[at], dice);
      if (dice.one_in(4)) evaluate(forks_[at], dice);
    }
    if (dice.one_in(5)) promote(at);
  }

  /// Everything that can be asked, of every fork that is open and of the engine.
  void check_all(Dice& dice) {
    for (OpenFork& fork : forks_) evaluate(fork, dice);
    const PodToPlace& pod = dice.pick(drawn_.pods);
    test::expect_equal(test::evaluated(pod, *reference_), test::evaluated(pod, *tested_));
  }

 private:
  OpenFork& any(Dice& dice) {
    return forks_[static_cast<std::size_t>(dice.upto(static_cast<std::int64_t>(forks_.size()) - 1))];
  }

  std::vector<PodToPlace> draw_pods(Dice& dice, const ClusterHistory& history) {
    const std::size_t first = static_cast<std::size_t>(dice.upto(static_cast<std::int64_t>(drawn_.pods.size()) - 1));
    const std::size_t count =
        std::min<std::size_t>(1 + static_cast<std::size_t>(dice.upto(9)), drawn_.pods.size() - first);
    const auto from = drawn_.pods.begin() + static_cast<std::ptrdiff_t>(first);
    return test::not_placed({from, from + static_cast<std::ptrdiff_t>(count)}, history);
  }

  static BatchLimits draw_limits(Dice& dice) {
    BatchLimits limits;
    if (dice.one_in(4)) limits.pods_max = static_cast<std::size_t>(1 + dice.upto(5));
    limits.stop_at_failure = dice.one_in(4);
    return limits;
  }

  void place_in_engine(Dice& dice) {
    std::vector<PodToPlace> pods = draw_pods(dice, *history_);
    if (pods.empty()) return;
    const BatchLimits limits = draw_limits(dice);
    reference_->compile(pods);
    tested_->compile(pods);
    const BatchResult expected = reference_->commit_batch(pods, limits);
    const BatchResult actual = commit_with_refills(pods, limits, *tested_);
    RC_ASSERT(texts(expected, *reference_) == texts(actual, *tested_));
    for (std::size_t i = 0; i < actual.outcomes.size(); ++i)
      history_->answered(pods[i].pod, std::string(tested_->node_name(actual.outcomes[i].node)));
  }

  void change_engine(Dice& dice) {
    if (drawn_.host_state != nullptr && dice.one_in(4)) ++drawn_.host_state->version;
    const std::vector<ClusterChange> changes = history_->draw(dice, 3);
    reference_->apply(changes);
    tested_->apply(changes);
  }

  void undo_in_engine(Dice& dice) {
    const Pod& pod = *dice.pick(drawn_.pods).pod;
    RC_ASSERT(reference_->undo(pod) == tested_->undo(pod));
    history_->undone(pod);
    if (dice.one_in(3)) {
      reference_->settle();
      tested_->settle();
    }
  }

  void open(Dice& dice) {
    OpenFork fork;
    fork.number = ++made_;
    if (forks_.empty() || dice.one_in(2)) {
      fork.reference = reference_->fork();
      fork.tested = tested_->fork();
      fork.history = std::make_unique<ClusterHistory>(*history_);
    } else {
      OpenFork& parent = any(dice);
      fork.reference = parent.reference->fork();
      fork.tested = parent.tested->fork();
      fork.history = std::make_unique<ClusterHistory>(*parent.history);
      fork.parent = parent.number;
    }
    forks_.push_back(std::move(fork));
  }

  void place(OpenFork& fork, Dice& dice) {
    std::vector<PodToPlace> pods = draw_pods(dice, *fork.history);
    if (pods.empty()) return;
    reference_->prepare(pods);
    tested_->prepare(pods);
    place_prepared(fork, pods, draw_limits(dice));
  }

  static void place_prepared(OpenFork& fork, const std::vector<PodToPlace>& pods, const BatchLimits& limits) {
    const BatchResult expected = fork.reference->commit_batch(pods, limits);
    const BatchResult actual = fork.tested->commit_batch(pods, limits);
    RC_ASSERT(texts(expected, *fork.reference) == texts(actual, *fork.tested));
    RC_ASSERT(expected.stop == actual.stop);
    for (std::size_t i = 0; i < actual.outcomes.size(); ++i)
      fork.history->answered(pods[i].pod, std::string(fork.tested->node_name(actual.outcomes[i].node)));
  }

  static void change(OpenFork& fork, Dice& dice, std::int64_t node_share = 8) {
    const std::vector<ClusterChange> changes = fork.history->draw_for_fork(dice, 3, node_share);
    fork.reference->apply(changes);
    fork.tested->apply(changes);
  }

  void evaluate(OpenFork& fork, Dice& dice) {
    PodToPlace pod = dice.pick(drawn_.pods);
    reference_->prepare({&pod, 1});
    tested_->prepare({&pod, 1});
    const Evaluation expected = fork.reference->evaluate(pod);
    const Evaluation actual = fork.tested->evaluate(pod);
    test::expect_equal(expected, actual);
    ask_all_nodes(fork, pod, indexes_of(expected), indexes_of(actual));
  }

  static std::vector<NodeIndex> indexes_of(const Evaluation& evaluation) {
    std::vector<NodeIndex> nodes;
    for (const NodeEvaluation& node : evaluation.nodes) nodes.push_back(node.node);
    return nodes;
  }

  /// The answers that forks keep from question to question.
  static void ask_all_nodes(OpenFork& fork, const PodToPlace& pod, const std::vector<NodeIndex>& of_reference,
                            const std::vector<NodeIndex>& of_tested) {
    std::vector<std::uint8_t> expected(of_reference.size());
    std::vector<std::uint8_t> actual(of_tested.size());
    fork.reference->accepts_on(pod, of_reference, expected);
    for (int asked = 0; asked < 2; ++asked) {
      fork.tested->accepts_on(pod, of_tested, actual);
      RC_ASSERT(expected == actual);
    }
    const std::vector<std::string> resources = {
        "cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu", "example.com/foo"};
    for (std::size_t count = 2; count <= resources.size(); count += 4)
      RC_ASSERT(amounts(*fork.reference, std::span(resources).first(count), of_reference) ==
                amounts(*fork.tested, std::span(resources).first(count), of_tested));
  }
  static std::vector<std::int64_t> amounts(Fork& fork, std::span<const std::string> resources,
                                           std::span<const NodeIndex> nodes) {
    const std::size_t length = resources.size() * nodes.size();
    std::vector<std::int64_t> both(2 * length);
    fork.amounts_on(resources, nodes, std::span(both).first(length), std::span(both).subspan(length));
    return both;
  }

  void drop(std::size_t at) { forks_.erase(forks_.begin() + static_cast<std::ptrdiff_t>(at)); }

  void promote(std::size_t at) {
    OpenFork& fork = forks_[at];
    const auto parent =
        std::find_if(forks_.begin(), forks_.end(), [&](const OpenFork& other) { return other.number == fork.parent; });
    if (fork.parent != 0 && parent == forks_.end()) return;  // its parent was dropped
    const bool expected = fork.reference->promote();
    RC_ASSERT(fork.tested->promote() == expected);
    if (!expected) return;
    (fork.parent == 0 ? history_ : parent->history) = std::move(fork.history);
    drop(at);
  }

  Case& drawn_;
  std::unique_ptr<ReferenceBackend> reference_;
  std::unique_ptr<Backend> tested_;
  std::unique_ptr<ClusterHistory> history_;
  std::vector<OpenFork> forks_;
  int made_ = 0;
};

void run(Case& drawn, std::unique_ptr<Backend> tested) {
  Session session(drawn, std::move(tested));
  for (int calls = 0; calls < 60; ++calls) session.step(drawn.dice);
  session.check_all(drawn.dice);
}

RC_GTEST_PROP(ForksAgree, OfTheCpuBackendAndTheReference, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>());
  RC_PRE(!drawn.pods.empty());
  run(drawn, std::make_unique<CpuBackend>(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning));
}

/// Forks in which nodes come, change and go, of an engine in which nothing but pods does. Most of them must read the
/// engine to the end, or this tests something else; the others meet pods with new terms, images that count, or ports.
TEST(ForksAgree, InWhichNodesChange) {
  std::int64_t forks = 0;
  std::int64_t reopened = 0;
  EXPECT_TRUE(rc::check([&] {
    Case drawn(*rc::gen::arbitrary<std::uint64_t>());
    RC_PRE(!drawn.pods.empty());
    auto engine = std::make_unique<CpuBackend>(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
    const CpuBackend& tested = *engine;
    Session session(drawn, std::move(engine));
    session.place_some(drawn.dice);
    for (int i = 0; i < 6; ++i, ++forks) session.work_in_a_fork_with_guests(drawn.dice);
    session.check_all(drawn.dice);
    reopened += tested.stats().forks_reopened;
  }));
  EXPECT_LT(2 * reopened, forks) << reopened << " of " << forks << " forks opened an engine of their own";
  RecordProperty("forks", std::to_string(forks));
  RecordProperty("forks_reopened", std::to_string(reopened));
}

RC_GTEST_PROP(ForksAgree, OfTheCpuBackendAndTheReferenceWithHostPlugins, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>(), true, true);
  RC_PRE(!drawn.pods.empty());
  run(drawn, std::make_unique<CpuBackend>(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning));
}

RC_GTEST_PROP(ForksAgree, OfTheDeviceBackendAndTheReferenceWithHostPlugins, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>(), true, true);
  RC_PRE(!drawn.pods.empty());
  run(drawn, std::make_unique<DeviceBackend>(std::make_unique<test::EmulatedAccelerator>(test::Emulation()),
                                             drawn.cache, drawn.objects, drawn.config, drawn.engine));
}

RC_GTEST_PROP(ForksAgree, OfTheDeviceBackendAndTheReference, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>());
  RC_PRE(!drawn.pods.empty());
  run(drawn, std::make_unique<DeviceBackend>(std::make_unique<test::EmulatedAccelerator>(test::Emulation()),
                                             drawn.cache, drawn.objects, drawn.config, drawn.engine));
}

/// What a fork answers to the same questions. @param guest  a node that comes to a fork of it
std::vector<std::string> answers_of(Fork& fork, const std::vector<PodToPlace>& pods, const NodePtr& guest) {
  const std::size_t half = pods.size() / 2;
  std::vector<std::string> answers = texts(fork.commit_batch(std::span(pods).first(half), {}), fork);
  const std::unique_ptr<Fork> child = fork.fork();
  child->apply(std::vector<ClusterChange>{PodRemoval{pods.front().pod->uid()}, NodeUpsert(guest)});
  const std::vector<std::string> of_child = texts(child->commit_batch(std::span(pods).subspan(half), {}), *child);
  answers.insert(answers.end(), of_child.begin(), of_child.end());
  // Where a pod could preempt others, whatever the order of equally important ones: Fork::pods_below().
  std::vector<PodPtr> kept;
  for (const PreemptionCandidate& candidate : candidates_in_fork(pods.back(), *child, {}, kept).candidates)
    answers.emplace_back(child->node_name(candidate.node));
  return answers;
}

/// BERTH_EVENTS_BESIDE_FORKS: events of the engine while forks answer; 10000 takes seconds a case.
int events_beside_forks() {
  static const char* const kSetting = std::getenv("BERTH_EVENTS_BESIDE_FORKS");
  return kSetting != nullptr ? std::atoi(kSetting) : 60;
}

/// Forks answer in threads while the engine goes on: as they would have answered at once. Most of them are opened at
/// the beginning and wait through many events, others are opened as the engine goes on.
void answer_in_threads(Case& drawn, Backend& engine) {
  constexpr int kForksAtFirst = 12;
  constexpr int kForksLater = 24;
  ClusterHistory history(drawn);
  test::place_between_events(drawn, engine, history);
  const std::vector<PodToPlace> rest = test::not_placed(drawn.pods, history);
  RC_PRE(rest.size() > 4);
  std::vector<PodToPlace> pods = rest;
  engine.prepare(pods);
  auto guest = std::make_shared<Node>(drawn.objects.nodes.empty() ? Node() : *drawn.dice.pick(drawn.objects.nodes));
  guest->name = "guest";
  test::AnsweringThreads threads(
      3, [&](Fork& fork, const std::vector<PodToPlace>& asked) { return answers_of(fork, asked, guest); });
  const auto open = [&](int count) {
    const std::vector<PodToPlace> here = test::not_placed(pods, history);
    if (here.empty()) return;
    const std::vector<std::string> expected = answers_of(*engine.fork(), here, guest);
    for (int i = 0; i < count; ++i) threads.add({engine.fork(), here, expected});
  };
  open(kForksAtFirst);
  const int events_max = events_beside_forks();
  int until_next = events_max / kForksLater;
  for (int events = 0; events < events_max;) {
    const std::vector<ClusterChange> changes = history.draw(drawn.dice, 3);
    engine.apply(changes);
    events += static_cast<int>(changes.size());
    if (events > until_next) {
      until_next += events_max / kForksLater;
      open(1);
    }
    if (!drawn.dice.one_in(4)) continue;
    std::vector<PodToPlace> some = test::not_placed({drawn.dice.pick(drawn.pods)}, history);
    engine.compile(some);
    const BatchResult result = engine.commit_batch(some, {});
    for (std::size_t i = 0; i < result.outcomes.size(); ++i)
      history.answered(some[i].pod, std::string(engine.node_name(result.outcomes[i].node)));
  }
  for (const std::string& problem : threads.finish()) RC_FAIL(problem);
}

RC_GTEST_PROP(ForksAgree, InThreadsWhileTheEngineChanges, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>());
  drawn.engine.threads = 2;
  RC_PRE(drawn.pods.size() > 4);
  CpuBackend engine(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  answer_in_threads(drawn, engine);
}

RC_GTEST_PROP(ForksAgree, InThreadsWhileADeviceChanges, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>());
  RC_PRE(drawn.pods.size() > 4);
  DeviceBackend engine(std::make_unique<test::EmulatedAccelerator>(), drawn.cache, drawn.objects, drawn.config,
                       drawn.engine);
  answer_in_threads(drawn, engine);
}

}  // namespace
}  // namespace berth
