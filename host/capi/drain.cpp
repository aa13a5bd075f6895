// SPDX-License-Identifier: Apache-2.0
#include "host/capi/drain.h"

#include <tbb/parallel_for.h>

#include <memory>
#include <mutex>
#include <utility>

#include "host/capi/drain_moves.h"

namespace berth::capi {

std::unique_ptr<Result> drain_alone(const State& state, const std::shared_ptr<Cluster>& cluster,
                                    std::span<const std::uint32_t> numbers, const DrainOptions& options) {
  std::vector<Drained> nodes = drained_nodes(state, numbers);
  ask_rules(nodes, options, *state.facts.side, *cluster);
  const Movers movers(cluster, nodes, (options.flags & BERTH_DRAIN_BY_SCORE) != 0, state.fork);
  const Candidates candidates = candidates_of(state, options, {});
  std::mutex opening;  // one call at a time on the state
  cluster->in_arena([&] {
    tbb::parallel_for(std::size_t{0}, nodes.size(), [&](std::size_t n) {
      std::unique_ptr<Fork> fork;
      {
        const std::lock_guard alone(opening);
        fork = state.fork.fork();
      }
      Place place(*fork);
      if (!nodes[n].is_blocked()) place.apply(cordon(nodes[n], options));
      Moving(place, *cluster, candidates, options).move_pods(nodes[n]);
    });
  });
  auto result = std::make_unique<Result>(cluster, state.facts.version);
  write(nodes, *result);
  return result;
}

std::unique_ptr<Result> drain_together(WhatIf& fork, std::span<const std::uint32_t> numbers,
                                       const DrainOptions& options) {
  std::unique_ptr<Result> result;
  fork.as_one([&] {
    const State state = fork.state();
    std::vector<Drained> nodes = drained_nodes(state, numbers);
    const SideObjects& side = *state.facts.side;
    DisruptionBudgets budgets(side.budgets, DisruptionBudgets::EmptySelector::kEverything);
    ask_rules(nodes, options, side, *fork.cluster());
    // Budgets are only used up: who may move later may move now.
    const Movers movers(fork.cluster(), nodes, (options.flags & BERTH_DRAIN_BY_SCORE) != 0, state.fork);
    const Candidates candidates = candidates_of(state, options, numbers);
    Place place(fork);
    for (const Drained& node : nodes) place.apply(cordon(node, options));
    Moving moving(place, *fork.cluster(), candidates, options);
    for (Drained& node : nodes) {
      node.fates = fates_of(node.pods, options.policy, side, budgets);
      moving.move_pods(node);
      if (!node.is_removable) {
        moving.move_back(node);
        continue;
      }
      for (std::size_t i = 0; i < node.pods.size(); ++i)
        if (node.fates[i].outcome == BERTH_POD_MOVES && !node.pods[i]->terminating) budgets.use_one(*node.pods[i]);
    }
    result = std::make_unique<Result>(fork.cluster(), fork.facts().version);
    write(nodes, *result);
  });
  return result;
}

}  // namespace berth::capi
