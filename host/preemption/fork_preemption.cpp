// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/fork_preemption.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <string>
#include <utility>

#include "host/preemption/all_candidates.h"
#include "host/preemption/victims.h"

namespace berth {
namespace {

class StateOfFork : public PreemptedState {
 public:
  StateOfFork(Fork& fork, const DisruptionBudgets& budgets, std::vector<PodPtr>& kept)
      : fork_(fork), budgets_(budgets), kept_(kept), nodes_(fork.nodes_in_order()) {}

  std::size_t size() const override { return nodes_.size(); }
  NodeIndex index(std::size_t position) const override { return nodes_[position]; }
  std::size_t find(std::string_view node_name) const override {
    return static_cast<std::size_t>(std::ranges::find(nodes_, fork_.find_node(node_name)) - nodes_.begin());
  }
  std::string_view node_name(NodeIndex node) const override { return fork_.node_name(node); }
  std::vector<PodPtr> pods_below(std::size_t position, std::int32_t priority) override {
    return fork_.pods_below(nodes_[position], priority);
  }
  VictimList list(std::size_t position, std::int32_t priority) override {
    const std::vector<PodPtr> pods = pods_below(position, priority);
    if (pods.empty()) return {nodes_[position], {}};
    kept_.insert(kept_.end(), pods.begin(), pods.end());
    return {nodes_[position], lists_.emplace_back(potential_victims(pods, budgets_))};
  }
  PodVerdicts verdicts(const PodToPlace& pod) override {
    PodVerdicts listed = fork_.verdicts_on(pod, nodes_);
    if (listed.nodes.empty()) return listed;
    std::vector<NodeVerdict> by_index;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const auto at = static_cast<std::size_t>(nodes_[n].value);
      if (at >= by_index.size()) by_index.resize(at + 1, kNoNodeVerdict);
      by_index[at] = listed.nodes[n];
    }
    listed.nodes = std::move(by_index);
    return listed;
  }
  DryRunResult dry_run(const DryRunRequest& request) override { return fork_.dry_run(request); }
  std::vector<Status> statuses_without_victims(const DryRunRequest& request) override {
    return fork_.statuses_without_victims(request);
  }

 private:
  Fork& fork_;
  const DisruptionBudgets& budgets_;
  std::vector<PodPtr>& kept_;
  std::vector<NodeIndex> nodes_;
  std::deque<std::vector<Victim>> lists_;
};

}  // namespace

PreemptionResult candidates_in_fork(const PodToPlace& pod, Fork& fork, std::span<const PodDisruptionBudget> budgets,
                                    std::vector<PodPtr>& kept) {
  const DisruptionBudgets counted(budgets);
  StateOfFork state(fork, counted, kept);
  return std::move(all_candidates({&pod, 1}, state, {}).front());
}

}  // namespace berth
