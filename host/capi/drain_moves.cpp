// SPDX-License-Identifier: Apache-2.0
#include "host/capi/drain_moves.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "host/capi/api_error.h"
#include "host/capi/first_fit.h"
#include "host/capi/node_indexes.h"
#include "host/framework/status.h"
#include "host/objects/per_thread.h"
#include "host/objects/pod_copy.h"

namespace berth::capi {
namespace {

/// A pod that was placed, and that no upsert has confirmed, does not name its node.
PodPtr standing_on(const std::string& node, PodPtr pod) {
  if (!pod->node_name.empty()) return pod;
  const std::shared_ptr<Pod> bound = copy_of(*pod);
  bound->node_name = node;
  return bound;
}
template <class Use>
void for_each_mover(std::span<Drained> nodes, Use use) {
  for (Drained& node : nodes) {
    node.handles.resize(node.pods.size());
    if (node.is_blocked()) continue;
    for (std::size_t i = 0; i < node.pods.size(); ++i)
      if (node.fates[i].outcome == BERTH_POD_MOVES) use(node, i);
  }
}
/// What rules read of a pod that waits for a node. @param key  set to it. @return false: it may be more than that
bool is_like_others(const Pod& pod, std::string& key) {
  if (pod.rare_fields != nullptr) {
    PodRare rare = pod.rare();
    rare.annotations.clear();
    rare.local_volumes_are_safe = false;
    rare.run_duration_us.reset();
    if (!(rare == PodRare())) return false;
  }
  key.clear();
  const auto add = [&](const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); };
  add(pod.spec.get());
  add(pod.owners.get());
  add(pod.priority);
  add(pod.preemption_policy);
  key.append(pod.namespace_) += '\0';
  key += pod.labels.bytes();
  return true;
}

}  // namespace

std::vector<Drained> named_nodes(const State& state, std::span<const std::uint32_t> numbers) {
  std::vector<Drained> nodes;
  std::set<std::uint32_t> seen;
  for (const std::uint32_t number : numbers) {
    const std::string* const name = state.cluster.nodes().name_of(number);
    Drained& node = nodes.emplace_back();
    node.number = number;
    if (name != nullptr && state.facts.roster->find(number) != nullptr) node.object = state.fork.node_object(*name);
    if (node.object == nullptr)
      throw ApiError(BERTH_E_NOT_FOUND, "node " + std::to_string(number), "there is no such node here");
    if (!seen.insert(number).second) throw ApiError(BERTH_E_ARGUMENT, "Node " + *name, "is to be drained twice");
    node.name = *name;
  }
  return nodes;
}

void ask_rules(std::span<Drained> nodes, const State& state, const DrainOptions& options) {
  const SideObjects& side = *state.facts.side;
  for (Drained& node : nodes) {
    node.pods = state.fork.pods_on(node.name);
    for (PodPtr& pod : node.pods) pod = standing_on(node.name, std::move(pod));
  }
  PerThread<DisruptionBudgets> budgets(
      [&] { return DisruptionBudgets(side.budgets, DisruptionBudgets::EmptySelector::kEverything); });
  state.cluster.arena().for_each(nodes.size(), [&](std::size_t n) {
    sort_for_eviction(nodes[n].pods);
    nodes[n].fates = fates_of(nodes[n].pods, options.policy, side, budgets.local());
  });
}

Movers::Movers(const std::shared_ptr<Cluster>& cluster, std::span<Drained> nodes, bool each, Fork& fork) {
  std::vector<PodPtr> first;
  std::unordered_map<std::string, std::size_t> number_of;
  std::vector<std::size_t> numbers;
  std::string key;
  for_each_mover(nodes, [&](Drained& node, std::size_t i) {
    const PodPtr& pod = node.pods[i];
    const bool is_alone = each || !is_like_others(*pod, key);
    std::size_t number = first.size();
    if (!is_alone) number = number_of.try_emplace(key, number).first->second;
    if (number == first.size()) first.push_back(pod);
    numbers.push_back(number);
  });
  count_ = numbers.size();
  fork.know(first);
  for (std::unique_ptr<ReadPod>& pod : cluster->prepare_moved(first))
    pods_.push_back(std::make_shared<const PodHandle>(cluster, std::move(pod)));
  auto next = numbers.begin();
  for_each_mover(nodes, [&](Drained& node, std::size_t i) { node.handles[i] = &pods_[*next++]; });
}

std::size_t count_of(std::span<const std::unique_ptr<Movers>> movers) {
  std::size_t count = 0;
  for (const std::unique_ptr<Movers>& some : movers) count += some->count();
  return count;
}

std::vector<std::unique_ptr<Movers>> asked_and_prepared(const State& state, const std::shared_ptr<Cluster>& cluster,
                                                        std::span<Drained> nodes, const DrainOptions& options,
                                                        const StopWatch& watch) {
  const bool each = (options.flags & BERTH_DRAIN_BY_SCORE) != 0;
  std::vector<std::unique_ptr<Movers>> movers;
  PieceSizes sizes(watch, cluster->threads(), nodes.size());
  while (!nodes.empty() && !watch.is_over()) {
    const std::span<Drained> piece = nodes.first(std::min(sizes.next(), nodes.size()));
    ask_rules(piece, state, options);
    movers.push_back(std::make_unique<Movers>(cluster, piece, each, state.fork));
    nodes = nodes.subspan(piece.size());
  }
  return movers;
}

std::size_t drain_in_pieces(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<Drained> nodes,
                            const DrainOptions& options, const StopWatch& watch,
                            const std::function<bool(Drained&, const Candidates&)>& drain) {
  std::size_t done = 0;
  std::optional<Candidates> candidates;
  PieceSizes sizes(watch, cluster->threads(), nodes.size());
  while (done < nodes.size() && !watch.is_over()) {
    const std::span<Drained> piece = nodes.subspan(done, std::min(sizes.next(), nodes.size() - done));
    ask_rules(piece, state, options);
    const Movers movers(cluster, piece, (options.flags & BERTH_DRAIN_BY_SCORE) != 0, state.fork);
    if (!candidates || (!candidates->among.empty() && !state.fork.keeps_indices()))
      candidates = candidates_of(state, options, {}, movers.count());
    std::vector<std::uint8_t> is_done(piece.size());
    cluster->arena().for_each(piece.size(), [&](std::size_t n) {
      const auto work = [&] { return !watch.is_over() && drain(piece[n], *candidates); };
      is_done[n] = unless_interrupted(watch, true, work).value_or(false) ? 1 : 0;
    });
    const auto done_now = static_cast<std::size_t>(std::ranges::find(is_done, 0) - is_done.begin());
    done += done_now;
    watch.tell(done, nodes.size());
    if (done_now < piece.size()) break;
  }
  return done;
}

bool Moving::move_pods(Drained& node) {
  const auto& numbers = candidates_.numbers;
  start_ = static_cast<std::size_t>(std::ranges::upper_bound(numbers, node.number) - numbers.begin());
  node.targets.assign(node.pods.size(), BERTH_NO_NODE);
  node.messages.resize(node.pods.size());
  for (std::size_t i = 0; i < node.pods.size() && !node.is_blocked(); ++i) {
    if (node.handles[i] == nullptr) continue;
    if (watch_.is_over()) return false;
    const ReadPod& pod = *(*node.handles[i])->pod;
    if (pod.not_judged) {
      node.fates[i].outcome = BERTH_POD_NOT_JUDGED;
      node.messages[i] = pod.not_judged->plugin + ": " + pod.not_judged->text;
      continue;
    }
    if (!move(node, i)) return false;
  }
  node.decide();
  return true;
}
/// The pods stand where they stood.
void Moving::move_back(const Drained& node) {
  for (std::size_t i = 0; i < node.pods.size(); ++i)
    if (!node.targets.empty() && node.targets[i] != BERTH_NO_NODE) place_.apply(PodUpsert{node.pods[i]});
}

bool Moving::move(Drained& node, std::size_t i) {
  const PodPtr& pod = node.pods[i];
  bool is_out = false;
  const auto target = unless_interrupted(watch_, true, [&] {
    place_.apply(PodRemoval{pod->uid()});
    is_out = true;
    return by_score_ ? by_score(*node.handles[i], node, i) : by_first_fit(node, i);
  });
  const InterruptionScope to_the_end(nullptr);
  node.targets[i] = target.value_or(BERTH_NO_NODE);
  if (node.targets[i] != BERTH_NO_NODE) return true;
  if (is_out) place_.apply(PodUpsert{pod});
  if (target) node.fates[i].outcome = BERTH_POD_NO_PLACE;
  return target.has_value();
}

std::uint32_t Moving::by_score(const PodHandlePtr& pod, Drained& node, std::size_t i) {
  BatchLimits limits;
  std::vector<bool> among = candidates_.among;
  if (among.empty() || !place_.fork().keeps_indices()) among = indices_among(node);
  if (const NodeIndex own = place_.fork().find_node(node.name); static_cast<std::size_t>(own.value) < among.size())
    among[static_cast<std::size_t>(own.value)] = false;
  limits.among = &among;
  const BatchResult result = place_.commit(pod, limits);
  const Outcome& outcome = result.outcomes.front();
  if (outcome.message >= 0) node.messages[i] = result.messages[static_cast<std::size_t>(outcome.message)].text;
  if (outcome.node == kNoNode) return BERTH_NO_NODE;
  return cluster_.nodes().number_of(place_.fork().node_name(outcome.node));
}
std::vector<bool> Moving::indices_among(const Drained& node) {
  std::vector<bool> among;
  for (const std::uint32_t number : candidates_.numbers) {
    if (number == node.number) continue;
    const auto at = static_cast<std::size_t>(index_of(number).value);
    if (among.size() <= at) among.resize(at + 1);
    among[at] = true;
  }
  return among;
}

std::uint32_t Moving::by_first_fit(Drained& node, std::size_t i) {
  const PodToPlace& to_place = (*node.handles[i])->pod->to_place;
  const std::size_t count = candidates_.numbers.size();
  std::vector<NodeIndex> nodes;
  std::vector<std::size_t> positions;
  std::size_t chunk = kAskedFirst;
  for (std::size_t visited = 0; visited < count; chunk = std::min(2 * chunk, kAskedMax)) {
    nodes.clear();
    positions.clear();
    for (; visited < count && nodes.size() < chunk; ++visited) {
      const std::size_t position = (start_ + visited) % count;
      if (candidates_.numbers[position] == node.number) continue;
      nodes.push_back(index_at(position));
      positions.push_back(position);
    }
    const PodVerdicts verdicts = place_.fork().verdicts_on(to_place, nodes);
    node.messages[i] = verdicts.error;
    if (!verdicts.error.empty()) return BERTH_NO_NODE;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (!verdicts.nodes[n].accepts()) continue;
      start_ = (positions[n] + 1) % count;
      const std::uint32_t target = candidates_.numbers[positions[n]];
      auto moved = pending_copy_of(*node.pods[i]);
      moved->node_name = *cluster_.nodes().name_of(target);
      place_.apply(PodUpsert{std::move(moved)});
      return target;
    }
  }
  node.messages[i] = why_nowhere(to_place, node);
  return BERTH_NO_NODE;
}
std::string Moving::why_nowhere(const PodToPlace& pod, const Drained& node) {
  std::vector<NodeIndex> nodes;
  for (std::size_t position = 0; position < candidates_.numbers.size(); ++position)
    if (candidates_.numbers[position] != node.number) nodes.push_back(index_at(position));
  return berth::capi::why_nowhere(place_.fork(), pod, nodes);
}

Candidates candidates_of(const State& state, const DrainOptions& options, std::span<const std::uint32_t> left_out,
                         std::size_t wanted) {
  const std::set<std::uint32_t> out(left_out.begin(), left_out.end());
  Candidates candidates;
  const bool by_score = (options.flags & BERTH_DRAIN_BY_SCORE) != 0;
  const std::shared_ptr<const NodeIndexes> indexes = by_score ? indexes_of(state) : indexes_for(state, wanted);
  if (indexes != nullptr) candidates.numbering = state.fork.numbering();
  const std::span<const Roster::Entry> entries = state.facts.roster->entries();
  candidates.numbers.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Roster::Entry& entry = entries[i];
    if (options.nodes != nullptr && !options.nodes->contains(entry.number)) continue;
    if (out.contains(entry.number) || (entry.is_cordoned && (options.flags & BERTH_SKIP_CORDONED) != 0)) continue;
    candidates.numbers.push_back(entry.number);
    if (candidates.numbering == nullptr) continue;
    const NodeIndex index = indexes->of_entry[i];
    candidates.indices.push_back(index);
    if (!by_score) continue;
    const auto at = static_cast<std::size_t>(index.value);
    if (candidates.among.size() <= at) candidates.among.resize(at + 1);
    candidates.among[at] = true;
  }
  return candidates;
}

void write(std::span<const Drained> nodes, Result& result) {
  auto& node_column = result.column<std::uint32_t>(BERTH_COLUMN_NODE);
  auto& removable = result.column<std::uint8_t>(BERTH_COLUMN_REMOVABLE);
  auto& rule = result.column<std::uint8_t>(BERTH_COLUMN_RULE);
  auto& blocking = result.column<std::uint32_t>(BERTH_COLUMN_BLOCKING_POD);
  auto& begin = result.column<std::uint32_t>(BERTH_COLUMN_POD_BEGIN);
  auto& pod = result.column<std::uint32_t>(BERTH_COLUMN_POD);
  auto& outcome = result.column<std::uint8_t>(BERTH_COLUMN_OUTCOME);
  auto& pod_rule = result.column<std::uint8_t>(BERTH_COLUMN_POD_RULE);
  auto& target = result.column<std::uint32_t>(BERTH_COLUMN_TARGET);
  auto& message = result.column<std::uint32_t>(BERTH_COLUMN_MESSAGE);
  begin.push_back(0);
  for (const Drained& node : nodes) {
    node_column.push_back(node.number);
    removable.push_back(node.is_removable ? 1 : 0);
    const bool is_held = node.blocking != SIZE_MAX;
    rule.push_back(is_held ? node.fates[node.blocking].rule : std::uint8_t{BERTH_RULE_NONE});
    const std::uint32_t first_pod = begin.back();
    for (std::size_t i = 0; i < node.pods.size(); ++i) {
      pod.push_back(result.number_of_new(node.pods[i]->uid()));
      outcome.push_back(node.fates[i].outcome);
      pod_rule.push_back(node.fates[i].rule);
      target.push_back(node.targets[i]);
      message.push_back(result.number_of(node.messages[i]));
    }
    blocking.push_back(is_held ? pod[first_pod + node.blocking] : 0);
    begin.push_back(static_cast<std::uint32_t>(pod.size()));
  }
}

NodeUpsert cordon(const Drained& node, const DrainOptions& options) {
  return NodeUpsert(std::make_shared<const Node>(drained(*node.object, options.policy)));
}

}  // namespace berth::capi
