// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/victims.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "host/framework/go_sort.h"
#include "host/framework/label_problems.h"

namespace berth {
namespace {

/// @param victims  in the order of their node
std::vector<Victim> in_reprieve_order(std::vector<Victim> victims, const DisruptionBudgets& budgets) {
  go_sort(std::span(victims), [](const Victim& a, const Victim& b) { return is_more_important(*a.pod, *b.pod); });
  budgets.mark_violations(victims);
  std::stable_partition(victims.begin(), victims.end(), [](const Victim& victim) { return victim.violates_budget; });
  return victims;
}

}  // namespace

bool is_more_important(const Pod& a, const Pod& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.start_time_us == 0) return b.start_time_us == 0;  // the clock is read for `a` first
  return b.start_time_us == 0 || a.start_time_us < b.start_time_us;
}

DisruptionBudgets::DisruptionBudgets(std::span<const PodDisruptionBudget> budgets, EmptySelector empty)
    : asks_unlabelled_(empty == EmptySelector::kEverything) {
  for (const PodDisruptionBudget& budget : budgets) {
    if (label_selector_problem(budget.selector)) continue;
    PodLabelSelector selector(budget.selector);
    if (selector.matches_nothing() || (selector.is_empty() && empty == EmptySelector::kNothing)) continue;
    budgets_.push_back({budget.namespace_,
                        std::move(selector),
                        budget.disruptions_allowed,
                        {budget.disrupted_pods.begin(), budget.disrupted_pods.end()}});
  }
}

const std::vector<std::size_t>& DisruptionBudgets::selecting(const Pod& pod) const {
  constexpr std::size_t kKeptMax = std::size_t{1} << 16;
  key_.assign(pod.namespace_);
  key_ += '\0';
  key_ += pod.labels.bytes();
  const auto known = selecting_.find(key_);
  if (known != selecting_.end()) return known->second;
  std::vector<std::size_t> found;
  for (std::size_t b = 0; b < budgets_.size(); ++b)
    if (budgets_[b].name_space == pod.namespace_ && budgets_[b].selector.matches(pod.labels)) found.push_back(b);
  if (selecting_.size() >= kKeptMax) selecting_.clear();
  return selecting_.emplace(key_, std::move(found)).first->second;
}

template <class Use>
void DisruptionBudgets::for_each_of(const Pod& pod, Use use) const {
  if (budgets_.empty() || (pod.labels.empty() && !asks_unlabelled_)) return;
  for (const std::size_t b : selecting(pod))
    if (!budgets_[b].disrupted_pods.contains(pod.name)) use(b);
}

void DisruptionBudgets::mark_violations(std::span<Victim> victims) const {
  if (budgets_.empty()) return;
  std::vector<std::int64_t> left;
  left.reserve(budgets_.size());
  for (const Budget& budget : budgets_) left.push_back(budget.disruptions_allowed);
  for (Victim& victim : victims)
    for_each_of(*victim.pod, [&](std::size_t b) {
      if (--left[b] < 0) victim.violates_budget = true;
    });
}

bool DisruptionBudgets::count(const Pod& pod) const {
  bool any = false;
  for_each_of(pod, [&](std::size_t) { any = true; });
  return any;
}

std::int32_t DisruptionBudgets::count_of(const Pod& pod) const {
  std::int32_t count = 0;
  for_each_of(pod, [&](std::size_t) { ++count; });
  return count;
}

void DisruptionBudgets::use_one(const Pod& pod) {
  for_each_of(pod, [&](std::size_t b) { --budgets_[b].disruptions_allowed; });
}

std::vector<Victim> potential_victims(const NodeInfo& node, std::int32_t priority, const DisruptionBudgets& budgets) {
  std::vector<Victim> victims;
  for (const PodPtr& pod : node.pods)
    if (pod->priority < priority) victims.push_back({pod.get(), false});
  return in_reprieve_order(std::move(victims), budgets);
}

std::vector<Victim> potential_victims(std::span<const PodPtr> lower_pods, const DisruptionBudgets& budgets) {
  std::vector<Victim> victims;
  victims.reserve(lower_pods.size());
  for (const PodPtr& pod : lower_pods) victims.push_back({pod.get(), false});
  return in_reprieve_order(std::move(victims), budgets);
}

std::vector<const Pod*> evicted_victims(std::span<const Victim> list, const DryRunResult& result,
                                        const DryRunAnswer& answer) {
  std::vector<const Pod*> evicted;
  for (std::size_t v = 0; v < list.size(); ++v)
    if (!result.keeps(answer, v)) evicted.push_back(list[v].pod);
  // Of one group they are in order. Upstream sorts when there were two, whatever is left of them.
  if (!list.empty() && list.front().violates_budget != list.back().violates_budget)
    go_sort(std::span(evicted), [](const Pod* a, const Pod* b) { return is_more_important(*a, *b); });
  return evicted;
}

}  // namespace berth
