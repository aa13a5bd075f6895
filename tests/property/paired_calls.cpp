// SPDX-License-Identifier: Apache-2.0
#include "tests/property/paired_calls.h"

#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "tests/property/drawn_request.h"

namespace berth::test {
namespace {

BatchLimits draw_limits(Dice& dice) {
  BatchLimits limits;
  if (dice.one_in(3)) limits.pods_max = static_cast<std::size_t>(1 + dice.upto(10));
  limits.stop_at_failure = dice.one_in(3);
  return limits;
}

std::vector<std::string> texts(const BatchResult& result, const Backend& backend) {
  std::vector<std::string> out;
  for (const Outcome& outcome : result.outcomes) out.push_back(describe(outcome, result, backend));
  return out;
}

}  // namespace

PairedCalls::PairedCalls(Case& drawn, Backend& expected, Backend& actual)
    : drawn_(drawn), history_(drawn), expected_(expected), actual_(actual) {}

void PairedCalls::commit(Dice& dice) {
  const auto left = static_cast<std::int64_t>(drawn_.pods.size() - next_);
  const auto count = static_cast<std::ptrdiff_t>(1 + dice.upto(std::min<std::int64_t>(left, 25) - 1));
  const auto first = drawn_.pods.begin() + static_cast<std::ptrdiff_t>(next_);
  std::vector<PodToPlace> batch = not_placed({first, first + count}, history_);
  if (batch.empty()) {
    next_ += static_cast<std::size_t>(count);
    return;
  }
  const bool hurries = dice.one_in(6);
  BatchLimits limits = draw_limits(dice);
  if (hurries) limits.deadline_us = 1;
  actual_.compile(batch);
  if (dice.one_in(4)) evaluate(dice);  // what it asks may tell pods of the compiled batch apart
  if (dice.one_in(3)) change(dice);
  batch = not_placed(batch, history_);
  if (batch.empty()) return;
  const BatchResult actual = commit_with_refills(batch, limits, actual_);
  if (hurries) limits = {.pods_max = actual.outcomes.size()};
  expected_.compile(batch);
  const BatchResult expected = expected_.commit_batch(batch, limits);
  RC_ASSERT(hurries || actual.stop == expected.stop);
  RC_ASSERT(!actual.outcomes.empty());
  expect_equal(texts(expected, expected_), texts(actual, actual_), batch);
  held_.insert(held_.end(), batch.begin(), batch.end());
  for (std::size_t i = 0; i < actual.outcomes.size(); ++i)
    history_.answered(batch[i].pod, std::string(actual_.node_name(actual.outcomes[i].node)));
  next_ += actual.outcomes.size();
}

void PairedCalls::change(Dice& dice) {
  if (drawn_.host_state != nullptr && dice.one_in(4)) ++drawn_.host_state->version;
  const std::vector<ClusterChange> changes = history_.draw(dice, 3);
  expected_.apply(changes);
  actual_.apply(changes);
}

void PairedCalls::undo(Dice& dice) {
  const PodPtr& pod = dice.pick(drawn_.pods).pod;
  const NominationUpsert nomination{pod, history_.any_node(dice)};
  const NominationUpsert* const nominated = dice.one_in(2) ? &nomination : nullptr;
  RC_ASSERT(expected_.undo(*pod, nominated) == actual_.undo(*pod, nominated));
  history_.undone(*pod);
}

void PairedCalls::settle() {
  expected_.settle();
  actual_.settle();
  marks_.clear();
}

void PairedCalls::release() {
  expected_.settle();
  actual_.release(held_);
  held_.clear();
  marks_.clear();
}

/// Until release().
PodToPlace PairedCalls::prepared(const PodToPlace& pod) {
  PodToPlace now = pod;
  expected_.prepare({&now, 1});
  actual_.prepare({&now, 1});
  held_.push_back(now);
  return now;
}

/// Any pod, answered or not: an evaluation changes nothing. Events may come before pods are read.
void PairedCalls::evaluate(Dice& dice) {
  const PodToPlace pod = prepared(dice.pick(drawn_.pods));
  if (dice.one_in(4)) change(dice);
  expect_equal(expected_.evaluate(pod), actual_.evaluate(pod));
}

void PairedCalls::ask_for_verdicts(Dice& dice) {
  const PodToPlace pod = prepared(dice.pick(drawn_.pods));
  if (dice.one_in(4)) change(dice);
  expect_equal(texts_of(expected_.verdicts(pod), expected_), texts_of(actual_.verdicts(pod), actual_));
}

void PairedCalls::try_evictions(Dice& dice) {
  std::vector<PodToPlace> preemptors;
  for (std::int64_t i = 1 + dice.upto(3); i > 0; --i) preemptors.push_back(prepared(dice.pick(drawn_.pods)));
  if (dice.one_in(4)) change(dice);
  const std::shared_ptr<const ClusterCache> now = history_.cache();  // lives as long as the victims
  DrawnRequest request(dice, std::move(preemptors), pods_by_node(*now));
  const std::vector<std::string> expected = request.texts(expected_.dry_run(request.to(expected_)));
  expect_equal(expected, request.texts(actual_.dry_run(request.to(actual_))));
}

void PairedCalls::mark() { marks_.push_back({expected_.mark(), actual_.mark(), next_, history_.placements()}); }

void PairedCalls::go_back(Dice& dice) {
  if (marks_.empty()) return;
  marks_.resize(static_cast<std::size_t>(1 + dice.upto(static_cast<std::int64_t>(marks_.size()) - 1)));
  const Marks to = marks_.back();
  expected_.rollback(to.expected);
  actual_.rollback(to.actual);
  next_ = to.next;
  history_.rolled_back(to.placed);
}

/// Lists of pods that are not placed, each from the state of now.
void PairedCalls::try_forks(Dice& dice) {
  std::vector<std::vector<PodToPlace>> lists(static_cast<std::size_t>(1 + dice.upto(3)));
  std::vector<std::span<const PodToPlace>> forks;
  for (std::vector<PodToPlace>& list : lists) {
    const std::int64_t share = 1 + dice.upto(20);
    for (const PodToPlace& pod : drawn_.pods)
      if (dice.one_in(share) && list.size() < 8) list.push_back(pod);
    list = not_placed(list, history_);
    expected_.compile(list);
    actual_.compile(list);
    forks.emplace_back(list);
  }
  const BatchLimits limits{.stop_at_failure = dice.one_in(3)};
  const std::vector<BatchResult> expected = expected_.try_forks(forks, limits);
  const std::vector<BatchResult> actual = actual_.try_forks(forks, limits);
  RC_ASSERT(actual.size() == expected.size());
  for (std::size_t f = 0; f < lists.size(); ++f) {
    RC_ASSERT(actual[f].stop == expected[f].stop);
    expect_equal(texts(expected[f], expected_), texts(actual[f], actual_), lists[f]);
  }
  for (std::vector<PodToPlace>& list : lists) held_.insert(held_.end(), list.begin(), list.end());
}

void PairedCalls::make_all() {
  Dice& dice = drawn_.dice;
  for (int calls = 0; calls < 80 && !done(); ++calls) {
    if (dice.one_in(5)) mark();
    if (dice.one_in(4)) evaluate(dice);
    if (dice.one_in(6)) ask_for_verdicts(dice);
    if (dice.one_in(8)) try_evictions(dice);
    if (dice.one_in(8)) try_forks(dice);
    if (dice.one_in(6)) go_back(dice);
    if (dice.one_in(4)) change(dice);
    if (dice.one_in(6)) undo(dice);
    if (dice.one_in(12)) settle();
    if (dice.one_in(10)) release();
    commit(dice);
  }
}

}  // namespace berth::test
