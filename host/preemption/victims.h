// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whom a preemptor may evict, and in which order: docs/behaviour/scheduler-core.md 4.5 and 4.6.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/objects/cluster_objects.h"
#include "plugins/pod_query.h"

namespace berth {

/// Most important first, as upstream's MoreImportantPod says: higher priority, then earlier start. A pod without a
/// start time counts as started at the moment of the comparison, so that of two such pods each is more important.
bool is_more_important(const Pod& a, const Pod& b);

/// PodDisruptionBudgets, ready to be asked about pods, by one thread at a time.
class DisruptionBudgets {
 public:
  /// A budget whose selector does not parse or matches nothing counts no pod. An empty selector selects everything for
  /// the API server when it is asked to evict a pod, and nothing for preemption.
  enum class EmptySelector : std::uint8_t { kNothing, kEverything };
  explicit DisruptionBudgets(std::span<const PodDisruptionBudget> budgets,
                             EmptySelector empty = EmptySelector::kNothing);

  /// Marks each pod whose eviction violates a budget, if those before it in the list are evicted too.
  void mark_violations(std::span<Victim> victims) const;
  /// Some budget counts the pod.
  bool count(const Pod& pod) const;
  /// How many budgets count the pod.
  std::int32_t count_of(const Pod& pod) const;
  /// Each budget that counts the pod allows one eviction less.
  void use_one(const Pod& pod);

 private:
  struct Budget {
    std::string name_space;
    PodLabelSelector selector;
    std::int32_t disruptions_allowed;
    std::unordered_set<std::string> disrupted_pods;  ///< names: the API server has counted them already
  };
  /// Calls use(index) for the budgets that count the pod.
  template <class Use>
  void for_each_of(const Pod& pod, Use use) const;
  const std::vector<std::size_t>& selecting(const Pod& pod) const;

  std::vector<Budget> budgets_;
  bool asks_unlabelled_;  ///< upstream's preemption leaves out pods without labels before it asks selectors
  /// [namespace, labels] into budgets_: those that select such pods, of which a cluster has many alike.
  mutable std::unordered_map<std::string, std::vector<std::size_t>> selecting_;
  mutable std::string key_;
};

/// The pods of the node with a priority below `priority`, in the order in which they are reprieved: those that violate
/// a budget first, each group by importance.
std::vector<Victim> potential_victims(const NodeInfo& node, std::int32_t priority, const DisruptionBudgets& budgets);
/// The same of the pods of the node with such a priority, in its order.
std::vector<Victim> potential_victims(std::span<const PodPtr> lower_pods, const DisruptionBudgets& budgets);

/// The victims of a dry run, most important first. @param list  potential_victims()
std::vector<const Pod*> evicted_victims(std::span<const Victim> list, const DryRunResult& result,
                                        const DryRunAnswer& answer);

}  // namespace berth
