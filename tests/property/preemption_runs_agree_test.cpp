// SPDX-License-Identifier: Apache-2.0
// Runs of `berth schedule` that preempt, on random clusters: the cpu backend equals the reference whatever the size of
// batches, evictions follow their rules, and a run that nominates is the beginning of one that evicts.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"
#include "host/scheduler/scheduler.h"
#include "tests/property/drawn_case.h"
#include "tests/property/drawn_importance.h"

namespace berth {
namespace {

using test::Case;

struct DrawnRun {
  explicit DrawnRun(std::uint64_t seed) : drawn(seed) {
    for (PodPtr& pod : drawn.objects.pods) pod = test::with_drawn_importance(drawn.dice, *pod);
    drawn.objects.pod_disruption_budgets = test::draw_budgets(drawn.dice, drawn.objects);
    options.config = drawn.config;
    options.engine = drawn.engine;
    options.preemption.limits.keeps_budgets = drawn.dice.one_in(4);
    options.preemption.limits.replaceable_first = drawn.dice.one_in(4);
    if (drawn.dice.one_in(4)) options.preemption.evictions_per_minute_max = 2;
  }
  ScheduleResult run(const std::string& backend, std::int32_t batch_pods) {
    options.engine.backend = backend;
    options.engine.batch_pods_max = batch_pods;
    return schedule(drawn.objects, options);
  }

  Case drawn;
  ScheduleOptions options;
};

std::string name_of(const ScheduleResult& result, NodeIndex node) {
  return node == kNoNode ? "none" : result.node_names[static_cast<std::size_t>(node.value)];
}

std::vector<std::string> evictions_of(const ScheduleResult& result) {
  std::vector<std::string> texts;
  texts.reserve(result.evictions.size());
  for (const Eviction& eviction : result.evictions)
    texts.push_back(eviction.victim->full_name() + " for " + eviction.preemptor->full_name() + " on " +
                    name_of(result, eviction.node) + " from " + std::to_string(eviction.deleted_at_us) + " to " +
                    std::to_string(eviction.gone_at_us));
  return texts;
}

/// Without what PostFilter adds: pods of one class repeat what the first of them was told, and the reference has no
/// classes. dry_runs_agree_test and `make oracle-preemption` hold these texts against others.
std::string fit_error_of(const ScheduleResult& result, const Unplaced& pod) {
  const std::string& text = result.messages[static_cast<std::size_t>(pod.message)];
  return text.substr(
      0, std::min({text.find(" no new claims to deallocate"), text.find(" preemption: "), text.find(" not found")}));
}

std::vector<std::string> texts_of(const ScheduleResult& result) {
  std::vector<std::string> texts = evictions_of(result);
  for (const Placement& placement : result.placements)
    texts.push_back(placement.pod->full_name() + " on " + name_of(result, placement.node) + ", score " +
                    std::to_string(placement.score));
  for (const Unplaced& pod : result.unplaced)
    texts.push_back(pod.pod->full_name() + " " + std::string(pod.reason) + ", nominated " +
                    name_of(result, pod.nominated) + ": " + fit_error_of(result, pod));
  return texts;
}

void expect_equal(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  for (std::size_t i = 0; i < std::min(expected.size(), actual.size()); ++i)
    if (expected[i] != actual[i]) RC_FAIL("\n  expected: " + expected[i] + "\n  actual:   " + actual[i]);
  RC_ASSERT(expected.size() == actual.size());
}

RC_GTEST_PROP(PreemptionRuns, EqualTheReferenceWithBatchesOfAnySize, ()) {
  DrawnRun drawn(*rc::gen::arbitrary<std::uint64_t>());
  const std::vector<std::string> expected = texts_of(drawn.run("reference", 1));
  expect_equal(expected, texts_of(drawn.run("cpu", static_cast<std::int32_t>(1 + drawn.drawn.dice.upto(40)))));
  expect_equal(expected, texts_of(drawn.run("reference", 1 << 20)));
}

RC_GTEST_PROP(PreemptionRuns, EvictOnlyPodsOfLowerPriorityAndEachOnce, ()) {
  DrawnRun drawn(*rc::gen::arbitrary<std::uint64_t>());
  const ScheduleResult result = drawn.run("cpu", 1 << 20);
  std::set<std::string> evicted;
  for (const Eviction& eviction : result.evictions) {
    RC_ASSERT(eviction.victim->priority < eviction.preemptor->priority);
    RC_ASSERT(!eviction.victim->terminating);
    RC_ASSERT(eviction.preemptor->preemption_policy != PreemptionPolicy::kNever);
    RC_ASSERT(evicted.insert(eviction.victim->uid()).second);
    RC_ASSERT(eviction.gone_at_us - eviction.deleted_at_us == eviction.victim->spec->termination_grace_s * 1'000'000);
  }
  for (const Placement& placement : result.placements) RC_ASSERT(!evicted.contains(placement.pod->uid()));
  if (drawn.options.preemption.limits.keeps_budgets) RC_ASSERT(result.violated_budgets.empty());
}

RC_GTEST_PROP(PreemptionRuns, NominatingIsTheBeginningOfEvicting, ()) {
  DrawnRun drawn(*rc::gen::arbitrary<std::uint64_t>());
  const std::vector<std::string> whole = evictions_of(drawn.run("cpu", 1 << 20));
  drawn.options.preemption.mode = PreemptionMode::kNominate;
  const std::vector<std::string> beginning = evictions_of(drawn.run("cpu", 1 << 20));
  RC_ASSERT(beginning.size() <= whole.size());
  RC_ASSERT(std::equal(beginning.begin(), beginning.end(), whole.begin()));
}

}  // namespace
}  // namespace berth
