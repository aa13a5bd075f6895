// SPDX-License-Identifier: Apache-2.0
// The calls of an engine in any order: events, batches cut by limits, evaluations between them, several marks and
// rollbacks, placements undone one by one, pods released.
// After each call the cpu backend must equal the reference.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "tests/property/cluster_history.h"
#include "tests/property/drawn_case.h"

namespace berth {
namespace {

using test::Case;
using test::Dice;

/// Both engines of a case, with the same calls.
class Pair {
 public:
  explicit Pair(Case& drawn)
      : drawn_(drawn),
        history_(drawn),
        reference_(drawn.cache, drawn.objects, drawn.config, drawn.engine),
        cpu_(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning) {}

  bool done() const { return next_ == drawn_.pods.size(); }

  void commit(Dice& dice) {
    const auto left = static_cast<std::int64_t>(drawn_.pods.size() - next_);
    const auto count = static_cast<std::ptrdiff_t>(1 + dice.upto(std::min<std::int64_t>(left, 25) - 1));
    const auto first = drawn_.pods.begin() + static_cast<std::ptrdiff_t>(next_);
    std::vector<PodToPlace> batch = test::not_placed({first, first + count}, history_);
    if (batch.empty()) {
      next_ += static_cast<std::size_t>(count);
      return;
    }
    const bool hurries = dice.one_in(6);
    BatchLimits limits = draw_limits(dice);
    if (hurries) limits.deadline_us = 1;
    cpu_.compile(batch);
    if (dice.one_in(4)) evaluate(dice);  // what it asks may tell pods of the compiled batch apart
    if (dice.one_in(3)) change(dice);
    batch = test::not_placed(batch, history_);
    if (batch.empty()) return;
    const BatchResult actual = commit_with_refills(batch, limits, cpu_);
    if (hurries) limits = {.pods_max = actual.outcomes.size()};
    reference_.compile(batch);
    const BatchResult expected = reference_.commit_batch(batch, limits);
    RC_ASSERT(hurries || actual.stop == expected.stop);
    RC_ASSERT(!actual.outcomes.empty());
    test::expect_equal(texts(expected, reference_), texts(actual, cpu_), batch);
    held_.insert(held_.end(), batch.begin(), batch.end());
    for (std::size_t i = 0; i < actual.outcomes.size(); ++i)
      history_.answered(batch[i].pod, std::string(cpu_.node_name(actual.outcomes[i].node)));
    next_ += actual.outcomes.size();
  }

  void change(Dice& dice) {
    if (drawn_.host_state != nullptr && dice.one_in(4)) ++drawn_.host_state->version;
    const std::vector<ClusterChange> changes = history_.draw(dice, 3);
    reference_.apply(changes);
    cpu_.apply(changes);
  }

  void undo(Dice& dice) {
    const Pod& pod = *dice.pick(drawn_.pods).pod;
    RC_ASSERT(reference_.undo(pod) == cpu_.undo(pod));
    history_.undone(pod);
  }

  void settle() {
    reference_.settle();
    cpu_.settle();
    marks_.clear();
  }

  void release() {
    reference_.settle();
    cpu_.release(held_);
    held_.clear();
    marks_.clear();
  }

  /// Any pod, answered or not: an evaluation changes nothing.
  void evaluate(Dice& dice) {
    const PodToPlace& pod = dice.pick(drawn_.pods);
    test::expect_equal(reference_.evaluate(pod), cpu_.evaluate(pod));
  }

  void mark() { marks_.push_back({reference_.mark(), cpu_.mark(), next_, history_.placed_uids()}); }

  void go_back(Dice& dice) {
    if (marks_.empty()) return;
    marks_.resize(static_cast<std::size_t>(1 + dice.upto(static_cast<std::int64_t>(marks_.size()) - 1)));
    const Marks to = marks_.back();
    reference_.rollback(to.reference);
    cpu_.rollback(to.cpu);
    next_ = to.next;
    history_.rolled_back(to.placed);
  }

 private:
  struct Marks {
    CommitMark reference;
    CommitMark cpu;
    std::size_t next = 0;
    std::set<std::string> placed;
  };

  static BatchLimits draw_limits(Dice& dice) {
    BatchLimits limits;
    if (dice.one_in(3)) limits.pods_max = static_cast<std::size_t>(1 + dice.upto(10));
    limits.stop_at_failure = dice.one_in(3);
    return limits;
  }

  static std::vector<std::string> texts(const BatchResult& result, const Backend& backend) {
    std::vector<std::string> out;
    for (const Outcome& outcome : result.outcomes) out.push_back(test::describe(outcome, result, backend));
    return out;
  }

  Case& drawn_;
  test::ClusterHistory history_;
  ReferenceBackend reference_;
  CpuBackend cpu_;
  std::size_t next_ = 0;
  std::vector<Marks> marks_;
  std::vector<PodToPlace> held_;  ///< compiled and not released
};

void make_calls(Case& drawn) {
  Pair pair(drawn);
  for (int calls = 0; calls < 80 && !pair.done(); ++calls) {
    if (drawn.dice.one_in(5)) pair.mark();
    if (drawn.dice.one_in(4)) pair.evaluate(drawn.dice);
    if (drawn.dice.one_in(6)) pair.go_back(drawn.dice);
    if (drawn.dice.one_in(4)) pair.change(drawn.dice);
    if (drawn.dice.one_in(6)) pair.undo(drawn.dice);
    if (drawn.dice.one_in(12)) pair.settle();
    if (drawn.dice.one_in(10)) pair.release();
    pair.commit(drawn.dice);
  }
}

RC_GTEST_PROP(InterleavedCalls, LeaveBothBackendsInOneState, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>());
  RC_PRE(!drawn.pods.empty());
  make_calls(drawn);
}

RC_GTEST_PROP(InterleavedCalls, LeaveBothBackendsInOneStateWithHostPlugins, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>(), true, true);
  RC_PRE(!drawn.pods.empty());
  make_calls(drawn);
}

}  // namespace
}  // namespace berth
