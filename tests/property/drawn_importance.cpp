// SPDX-License-Identifier: Apache-2.0
#include "tests/property/drawn_importance.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"

namespace berth::test {

PodPtr with_drawn_importance(Dice& dice, const Pod& pod) {
  auto copy = copy_of(pod);
  if (is_pending(pod)) {
    copy->priority = dice.pick<std::int32_t>({-5, 0, 1, 5, 50});
    if (dice.one_in(10)) copy->preemption_policy = PreemptionPolicy::kNever;
  } else {
    copy->priority = dice.pick<std::int32_t>({-9, 0, 0, 1, 7, 100});
    copy->start_time_us = dice.pick<std::int64_t>({0, 1'000'000, 1'000'000, 2'000'000});
    copy->terminating = copy->terminating || dice.one_in(15);
  }
  PodSpec spec = *pod.spec;
  spec.termination_grace_s = dice.pick<std::int64_t>({0, 5, 30, 30, 600});
  copy->spec = std::make_shared<const PodSpec>(std::move(spec));
  return copy;
}

std::vector<PodDisruptionBudget> draw_budgets(Dice& dice, const ClusterObjects& objects) {
  std::vector<PodDisruptionBudget> budgets;
  for (std::int64_t i = dice.upto(3); i > 0 && !objects.pods.empty(); --i) {
    const Pod& pod = *dice.pick(objects.pods);
    PodDisruptionBudget budget{"budget-" + std::to_string(i), pod.namespace_, LabelSelector{}, 0, {}};
    budget.selector->match_labels = pod.labels;
    budget.disruptions_allowed = static_cast<std::int32_t>(dice.upto(2));
    budgets.push_back(std::move(budget));
  }
  return budgets;
}

}  // namespace berth::test
