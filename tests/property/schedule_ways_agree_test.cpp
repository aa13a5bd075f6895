// SPDX-License-Identifier: Apache-2.0
// `berth schedule` places pods by one pass over the sorted queue, or by the scheduling loop where plugins join it. On
// random clusters without such plugins both give the same: placements, scores, messages, nominations, evictions and
// their order.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "host/objects/pod_copy.h"
#include "host/simulate/schedule_run.h"
#include "tests/property/drawn_case.h"
#include "tests/property/drawn_importance.h"

namespace berth {
namespace {

using test::Case;

/// One grace period for all, and no pod that is nominated or being deleted from the beginning: otherwise the loop may
/// try a preemptor once more than the pass does, as kube-scheduler may. No two pods are equally important as victims:
/// where they are, the order in which their node's pods changed last decides, and the loop writes conditions besides.
struct DrawnRun {
  explicit DrawnRun(std::uint64_t seed) : drawn(seed, false) {
    options.preemption.mode = drawn.dice.pick<PreemptionMode>(
        {PreemptionMode::kEvict, PreemptionMode::kEvict, PreemptionMode::kNominate, PreemptionMode::kOff});
    const auto grace_s = drawn.dice.pick<std::int64_t>({5, 30, 600});
    std::int64_t started_us = 0;
    std::int32_t place = 0;
    for (PodPtr& pod : drawn.objects.pods) {
      const auto copy = copy_of(*test::with_drawn_importance(drawn.dice, *pod));
      PodSpec spec = *copy->spec;
      spec.termination_grace_s = grace_s;
      copy->spec = std::make_shared<const PodSpec>(std::move(spec));
      copy->terminating = false;
      if (!copy->node_name.empty()) copy->start_time_us = ++started_us;
      if (options.preemption.mode == PreemptionMode::kEvict) copy->priority = 1000 * copy->priority + place++ % 1000;
      pod = copy;
    }
    drawn.objects.pod_disruption_budgets = test::draw_budgets(drawn.dice, drawn.objects);
    options.config = drawn.config;
    options.engine = drawn.engine;
    options.preemption.limits.keeps_budgets = drawn.dice.one_in(4);
    options.preemption.limits.replaceable_first = drawn.dice.one_in(4);
    const auto on_or_off = [&](const char* gate) {
      return std::string(gate) + (drawn.dice.one_in(2) ? "=true" : "=false");
    };
    options.config.gates.apply(on_or_off("SchedulerPopFromBackoffQ") + "," + on_or_off("SchedulerAsyncPreemption") +
                               "," + on_or_off("SchedulerAsyncAPICalls"));
  }

  Case drawn;
  ScheduleOptions options;
};

std::string node_of(const ScheduleResult& result, NodeIndex node) {
  return node == kNoNode ? "none" : result.node_names[static_cast<std::size_t>(node.value)];
}

/// What PostFilter adds is cut off: pods of one class repeat what the first of them was told, and the loop asks again.
std::string fit_error_of(const std::string& text) {
  return text.substr(
      0, std::min({text.find(" no new claims to deallocate"), text.find(" preemption: "), text.find(" not found")}));
}

std::vector<std::string> texts_of(const ScheduleResult& result) {
  std::vector<std::string> texts;
  for (const Eviction& eviction : result.evictions)
    texts.push_back(eviction.victim->full_name() + " leaves " + node_of(result, eviction.node) + " for " +
                    eviction.preemptor->full_name() + " from " + std::to_string(eviction.deleted_at_us) + " to " +
                    std::to_string(eviction.gone_at_us));
  for (const Placement& placement : result.placements)
    texts.push_back(placement.pod->full_name() + " on " + node_of(result, placement.node) + ", score " +
                    std::to_string(placement.score));
  for (const Unplaced& pod : result.unplaced)
    texts.push_back(pod.pod->full_name() + " " + std::string(pod.reason) + ", nominated " +
                    node_of(result, pod.nominated) + ": " +
                    fit_error_of(result.messages[static_cast<std::size_t>(pod.message)]));
  for (const ViolatedBudget& budget : result.violated_budgets)
    texts.push_back(budget.budget + " " + std::to_string(budget.evicted));
  for (const ResourceUse& use : result.resources) texts.push_back(use.name + " " + std::to_string(use.used_after));
  return texts;
}

RC_GTEST_PROP(ScheduleWays, ThePassOverTheQueueAndTheLoopGiveTheSame, ()) {
  DrawnRun drawn(*rc::gen::arbitrary<std::uint64_t>());
  const std::vector<std::string> pass = texts_of(schedule(drawn.drawn.objects, drawn.options));
  const std::vector<std::string> loop = texts_of(schedule_by_loop(drawn.drawn.objects, drawn.options, {}));
  for (std::size_t i = 0; i < std::min(pass.size(), loop.size()); ++i)
    if (pass[i] != loop[i]) RC_FAIL("\n  pass: " + pass[i] + "\n  loop: " + loop[i]);
  RC_ASSERT(pass.size() == loop.size());
}

}  // namespace
}  // namespace berth
