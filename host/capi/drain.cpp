// SPDX-License-Identifier: Apache-2.0
#include "host/capi/drain.h"

#include <memory>
#include <mutex>
#include <utility>

#include "host/capi/drain_moves.h"

namespace berth::capi {

namespace {

Answer answer_of(std::span<const Drained> nodes, const std::shared_ptr<Cluster>& cluster, std::uint64_t version,
                 berth_status status) {
  auto result = std::make_unique<Result>(cluster, version);
  write(nodes, *result);
  return {std::move(result), status};
}

}  // namespace

Answer drain_alone(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<const std::uint32_t> numbers,
                   const DrainOptions& options, const StopWatch& watch) {
  std::vector<Drained> nodes = named_nodes(state, numbers);
  std::mutex opening;  // one call at a time on the state
  const std::size_t done =
      drain_in_pieces(state, cluster, nodes, options, watch, [&](Drained& node, const Candidates& candidates) {
        std::unique_ptr<Fork> fork;
        {
          const std::lock_guard alone(opening);
          fork = state.fork.fork();
        }
        Place place(*fork);
        if (!node.is_blocked()) place.apply(cordon(node, options));
        return Moving(place, *cluster, candidates, options, watch).move_pods(node);
      });
  return answer_of(std::span(nodes).first(done), cluster, state.facts.version,
                   done < nodes.size() ? watch.stop() : BERTH_OK);
}

Answer drain_together(WhatIf& fork, std::span<const std::uint32_t> numbers, const DrainOptions& options,
                      const StopWatch& watch) {
  fork.cluster()->engine().memory.check();
  Answer answer;
  fork.as_one([&] {
    const State state = fork.state();
    std::vector<Drained> nodes = named_nodes(state, numbers);
    const SideObjects& side = *state.facts.side;
    DisruptionBudgets budgets(side.budgets, DisruptionBudgets::EmptySelector::kEverything);
    // Budgets are only used up: who may move later may move now.
    const std::vector<std::unique_ptr<Movers>> movers =
        asked_and_prepared(state, fork.cluster(), nodes, options, watch);
    const Candidates candidates = candidates_of(state, options, numbers, count_of(movers));
    Place place(fork);
    std::size_t cordoned = 0;
    unless_interrupted(watch, true, [&] {
      for (; cordoned < nodes.size() && !watch.is_over(); ++cordoned) place.apply(cordon(nodes[cordoned], options));
      return true;
    });
    Moving moving(place, *fork.cluster(), candidates, options, watch);
    std::size_t done = 0;
    for (; done < nodes.size(); ++done) {
      Drained& node = nodes[done];
      if (watch.is_over()) break;
      node.fates = fates_of(node.pods, options.policy, side, budgets);
      if (!moving.move_pods(node)) {
        moving.move_back(node);
        break;
      }
      if (!node.is_removable) {
        moving.move_back(node);
        watch.tell(done + 1, nodes.size());
        continue;
      }
      watch.tell(done + 1, nodes.size());
      for (std::size_t i = 0; i < node.pods.size(); ++i)
        if (node.fates[i].outcome == BERTH_POD_MOVES && !node.pods[i]->terminating) budgets.use_one(*node.pods[i]);
    }
    if ((options.flags & BERTH_DRAIN_KEEP) != 0)
      for (std::size_t n = done; n < cordoned; ++n) place.apply(NodeUpsert(nodes[n].object));
    answer = answer_of(std::span(nodes).first(done), fork.cluster(), fork.facts().version,
                       done < nodes.size() ? watch.stop() : BERTH_OK);
  });
  return answer;
}

}  // namespace berth::capi
