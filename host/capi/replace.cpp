// SPDX-License-Identifier: Apache-2.0
#include "host/capi/replace.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "host/capi/drain_moves.h"
#include "host/capi/scale_up.h"

namespace berth::capi {
namespace {

/// New nodes that hold what drained nodes leave over.
struct Replacement {
  std::uint32_t shape = BERTH_NO_NODE;  ///< BERTH_NO_NODE: none is needed, or no shape does
  std::uint32_t node_count = 0;
  std::int64_t price = 0;
};

/// A pod that found no place.
struct Rest {
  Drained* node;
  std::size_t pod;
};

std::vector<Rest> rest_of(std::span<Drained> nodes) {
  std::vector<Rest> rest;
  for (Drained& node : nodes)
    for (std::size_t i = 0; i < node.pods.size(); ++i)
      if (node.fates[i].outcome == BERTH_POD_NO_PLACE) rest.push_back({&node, i});
  return rest;
}

class Replacing {
 public:
  Replacing(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<const NodeShape> shapes,
            std::uint32_t nodes_max, const StopWatch& watch)
      : state_(state), cluster_(cluster), shapes_(shapes.begin(), shapes.end()), watch_(watch) {
    for (NodeShape& shape : shapes_)
      if (shape.nodes_max == 0 || shape.nodes_max > nodes_max) shape.nodes_max = nodes_max;
  }

  /// Finds the cheapest nodes of one shape for the rest of the nodes, and gives its pods their places there.
  /// @param fork  after the moves of the other pods; is changed
  /// @return nullopt: the watch was over
  std::optional<Replacement> replace(std::span<Drained> nodes, Fork& fork) const {
    const std::vector<Rest> rest = rest_of(nodes);
    if (rest.empty()) return Replacement();
    std::vector<PodPtr> pods;
    pods.reserve(rest.size());
    for (const Rest& one : rest) pods.push_back(one.node->pods[one.pod]);
    std::vector<PodHandlePtr> handles;
    for (std::unique_ptr<ReadPod>& pod : cluster_->prepare_moved(pods))
      handles.push_back(std::make_shared<const PodHandle>(cluster_, std::move(pod)));
    std::vector<ClusterChange> removals;
    removals.reserve(pods.size());
    for (const PodPtr& pod : pods) removals.emplace_back(PodRemoval{pod->uid()});
    fork.apply(removals);
    const std::vector<WaitingPod> waiting = waiting_pods(*cluster_, state_.facts.version, handles, false);
    Replacement best;
    std::vector<std::uint32_t> places;
    std::vector<std::optional<ShapeAnswer>> answers(shapes_.size());
    for (std::uint32_t s = 0; s < shapes_.size(); ++s) {
      std::optional<ShapeAnswer>& answer = answers[shapes_[s].same_as];
      if (!answer) answer = answer_of(shapes_[shapes_[s].same_as], waiting, fork);
      if (!answer) return std::nullopt;
      if (answer->placed < rest.size()) continue;
      std::int64_t price = 0;
      if (__builtin_mul_overflow(shapes_[s].price, std::int64_t{answer->node_count}, &price)) price = INT64_MAX;
      if (best.shape != BERTH_NO_NODE &&
          (price > best.price || (price == best.price && answer->node_count >= best.node_count)))
        continue;
      best = {s, answer->node_count, price};
      places = answer->new_node;
    }
    if (best.shape == BERTH_NO_NODE) return best;
    for (std::size_t r = 0; r < rest.size(); ++r) {
      Drained& node = *rest[r].node;
      node.fates[rest[r].pod].outcome = BERTH_POD_MOVES;
      node.new_nodes[rest[r].pod] = places[r];
      node.messages[rest[r].pod].clear();
    }
    return best;
  }

 private:
  std::optional<ShapeAnswer> answer_of(const NodeShape& shape, const std::vector<WaitingPod>& waiting,
                                       Fork& fork) const {
    std::vector<std::uint32_t> order(waiting.size());
    std::iota(order.begin(), order.end(), 0U);
    return pack(*fork.fork(), shape, waiting, order, {}, cluster_->has_nominations(), watch_);
  }

  const State& state_;
  std::shared_ptr<Cluster> cluster_;
  std::vector<NodeShape> shapes_;
  const StopWatch& watch_;
};

std::unique_ptr<Fork> fork_of(const State& state, std::mutex& opening) {
  const std::lock_guard alone(opening);
  return state.fork.fork();
}

/// One replacement for all nodes. @return nullopt: the watch was over
std::optional<Replacement> replace_together(const State& state, const std::shared_ptr<Cluster>& cluster,
                                            std::span<const std::uint32_t> numbers, std::span<Drained> nodes,
                                            const DrainOptions& options, const Replacing& replacing,
                                            const StopWatch& watch) {
  const SideObjects& side = *state.facts.side;
  const std::vector<std::unique_ptr<Movers>> movers = asked_and_prepared(state, cluster, nodes, options, watch);
  const Candidates candidates = candidates_of(state, options, numbers, count_of(movers));
  DisruptionBudgets budgets(side.budgets, DisruptionBudgets::EmptySelector::kEverything);
  const std::unique_ptr<Fork> fork = state.fork.fork();
  Place place(*fork);
  for (const Drained& node : nodes) {
    if (watch.is_over()) return std::nullopt;
    place.apply(cordon(node, options));
  }
  Moving moving(place, *cluster, candidates, options, watch);
  std::size_t done = 0;
  for (Drained& node : nodes) {
    watch.tell(done++, nodes.size());
    node.new_nodes.assign(node.pods.size(), BERTH_NO_NODE);
    node.fates = fates_of(node.pods, options.policy, side, budgets);
    if (watch.is_over() || !moving.move_pods(node)) return std::nullopt;
    for (std::size_t i = 0; i < node.pods.size() && !node.is_blocked(); ++i)
      if (node.handles[i] != nullptr && !node.pods[i]->terminating) budgets.use_one(*node.pods[i]);
  }
  return replacing.replace(nodes, *fork);
}

}  // namespace

Answer replace(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<const std::uint32_t> numbers,
               const DrainOptions& options, std::span<const NodeShape> shapes, std::uint32_t nodes_max,
               const StopWatch& watch) {
  std::vector<Drained> nodes = named_nodes(state, numbers);
  const Replacing replacing(state, cluster, shapes, nodes_max, watch);
  std::vector<Replacement> replacements;
  std::size_t done = nodes.size();
  berth_status status = BERTH_OK;
  if ((options.flags & BERTH_DRAIN_TOGETHER) != 0) {
    const auto work = [&] { return replace_together(state, cluster, numbers, nodes, options, replacing, watch); };
    const std::optional<Replacement> found = unless_interrupted(watch, true, work).value_or(std::nullopt);
    if (found) replacements.push_back(*found);
    if (found) watch.tell(nodes.size(), nodes.size());
    if (!found) status = watch.stop();
    if (!found) done = 0;
  } else {
    replacements.resize(nodes.size());
    std::mutex opening;  // one call at a time on the state
    done = drain_in_pieces(state, cluster, nodes, options, watch, [&](Drained& node, const Candidates& candidates) {
      node.new_nodes.assign(node.pods.size(), BERTH_NO_NODE);
      const std::unique_ptr<Fork> fork = fork_of(state, opening);
      Place place(*fork);
      if (!node.is_blocked()) place.apply(cordon(node, options));
      if (!Moving(place, *cluster, candidates, options, watch).move_pods(node)) return false;
      const std::optional<Replacement> found = replacing.replace({&node, 1}, *fork);
      if (found) replacements[static_cast<std::size_t>(&node - nodes.data())] = *found;
      return found.has_value();
    });
    if (done < nodes.size()) status = watch.stop();
    replacements.resize(done);
  }
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(done), nodes.end());
  for (Drained& node : nodes) node.decide();
  auto result = std::make_unique<Result>(cluster, state.facts.version);
  write(nodes, *result);
  auto& new_node = result->column<std::uint32_t>(BERTH_COLUMN_NEW_NODE);
  for (const Drained& node : nodes) new_node.insert(new_node.end(), node.new_nodes.begin(), node.new_nodes.end());
  auto& shape = result->column<std::uint32_t>(BERTH_COLUMN_SHAPE);
  auto& count = result->column<std::uint32_t>(BERTH_COLUMN_NODE_COUNT);
  auto& price = result->column<std::int64_t>(BERTH_COLUMN_PRICE);
  for (const Replacement& replacement : replacements) {
    shape.push_back(replacement.shape);
    count.push_back(replacement.node_count);
    price.push_back(replacement.price);
  }
  return {std::move(result), status};
}

}  // namespace berth::capi
