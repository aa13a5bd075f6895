// SPDX-License-Identifier: Apache-2.0
// How a pod, or a run of equal ones, gets its node or its reasons.

#include <algorithm>
#include <stdexcept>

#include "batching/judge.h"
#include "host/engine/cpu/cpu_state.h"
#include "host/engine/cpu/level_selection.h"

namespace berth {

/// Length of the run of equal pods at the front, 0 when it is too short to be planned at once or may not be.
std::size_t CpuBackend::State::run_length(std::span<const PodToPlace> pods, std::size_t limit) const {
  const std::int32_t c = pods.front().class_index;
  if (c < 0 || !plain_mode() || !nominations.empty() || !table[c].ports.empty() || table[c].topology != nullptr)
    return 0;
  const std::size_t longest = std::min(pods.size(), limit);
  std::size_t run = 1;
  while (run < longest && pods[run].class_index == c) ++run;
  return static_cast<std::int64_t>(run) >= tuning.min_run_length(snapshot.node_count()) ? run : 0;
}

bool CpuBackend::State::place_run(std::span<const PodToPlace> pods, std::size_t run) {
  const std::int32_t c = pods.front().class_index;
  if (!table.pre_filter(c).passes() || !table.score_error(c).empty()) return false;
  const TileCache::Place place = tiles.find(c, pods, snapshot, log);
  std::int64_t feasible = place.tile->feasible_count(place.slot);
  if (feasible == 0 || !place.tile->judged_in_lanes()) return false;

  const bool scores = scores_anything(pods.front());
  const std::vector<RunPick> picks =
      select_run(*place.tile, place.slot, snapshot, table[c], static_cast<std::int64_t>(run));
  for (std::size_t i = 0; i < picks.size(); ++i) {
    const std::int64_t total = scores ? picks[i].total : 1;
    result->outcomes.push_back({OutcomeKind::kPlaced, {picks[i].node}, feasible == 1 ? 0 : total, -1});
    apply(pods[i], picks[i].node);
    if (picks[i].last_copy) --feasible;
  }
  return !picks.empty();
}

void CpuBackend::State::place_next(std::span<const PodToPlace> pods) {
  const PodToPlace& pod = pods.front();
  if (snapshot.node_count() == 0) return fail(pod, OutcomeKind::kUnschedulable, std::string(kNoNodesText));
  if (ClassTable::is_error(pod.class_index)) return fail(pod, OutcomeKind::kError, table.error(pod.class_index));
  if (pod.class_index < 0) throw std::logic_error("commit_batch: a pod was not compiled");
  const PreFilterAnswer pre_filter = table.pre_filter(pod.class_index);
  if (!pre_filter.error.empty()) return fail(pod, OutcomeKind::kError, pre_filter.error);
  if (!pre_filter.message.empty())
    return fail(pod, OutcomeKind::kUnschedulable, fit_error_text({snapshot.node_count(), {}, pre_filter.message}));
  std::int32_t own_nomination = -1;
  if (try_nominated_node(pod, own_nomination)) return;
  select_and_place(pods, own_nomination);
}

/// The node that the pod is nominated to, before all others. @return true when it took the pod; otherwise `refused_own`
/// is the node that refused, or -1.
bool CpuBackend::State::try_nominated_node(const PodToPlace& pod, std::int32_t& refused_own) {
  const std::int32_t node = nominations.node_of(*pod.pod);
  if (node < 0) return false;
  const Status status = nominations.judge_own(*pod.pod, table[pod.class_index], table.profile_of(pod.class_index),
                                              table.node_side(pod.class_index), snapshot, node);
  if (!status.ok()) {
    refused_own = node;
    return false;
  }
  place(pod, node, 0);
  return true;
}

/// Nodes that the pods nominated there keep this one from.
std::vector<std::int32_t> CpuBackend::State::refused_by_nominations(const PodToPlace& pod) {
  if (nominations.empty()) return {};
  std::vector<std::int32_t> refused;
  for (const std::int32_t node : nominations.nodes_against(*pod.pod))
    if (!nominations
             .judge_with(*pod.pod, table[pod.class_index], table.profile_of(pod.class_index),
                         table.node_side(pod.class_index), snapshot, node)
             .ok())
      refused.push_back(node);
  return refused;
}

void CpuBackend::State::select_and_place(std::span<const PodToPlace> pods, std::int32_t own_nomination) {
  const PodToPlace& pod = pods.front();
  const TileCache::Place at = tiles.find(pod.class_index, pods, snapshot, log);
  std::vector<std::int32_t> refused = refused_by_nominations(pod);
  std::erase_if(refused, [&](std::int32_t node) { return at.tile->key(at.slot, node) == 0; });

  if (!plain_mode() || !refused.empty() || scores_may_leave_range(table[pod.class_index], snapshot)) {
    const FeasibleList list = list_feasible(at, pod, refused, own_nomination);
    if (list.nodes.empty()) return fail_everywhere(pod, true, own_nomination);
    return answer_list(pod, at, list);
  }
  const bool in_groups = table[pod.class_index].topology != nullptr;
  answer(pod, in_groups ? select_in_groups(pod, at) : select_in_row(pod, at), own_nomination);
}

Selection CpuBackend::State::select_in_row(const PodToPlace& pod, const TileCache::Place& at) const {
  const RowTile::Best best = at.tile->best(at.slot);
  return {at.tile->feasible_count(at.slot), best.node, scores_anything(pod) ? total_of(best.key) : 1};
}

Selection CpuBackend::State::select_in_groups(const PodToPlace& pod, const TileCache::Place& at) {
  const SlotKeys keys{*at.tile, at.slot};
  GroupedRow& row = grouped_rows.find(pod.class_index, table, snapshot);
  row.catch_up(keys, table, snapshot.topology(), log);
  Selection selection = row.select(keys, snapshot.topology());
  if (!scores_anything(pod)) selection.total = 1;
  return selection;
}

void CpuBackend::State::answer(const PodToPlace& pod, const Selection& selection, std::int32_t own_nomination) {
  if (selection.feasible_count == 0) return fail_everywhere(pod, !nominations.empty(), own_nomination);
  // A single feasible node is taken without scoring.
  if (selection.feasible_count == 1) return place(pod, selection.node, 0);
  const std::string& score_error = table.score_error(pod.class_index);
  if (!score_error.empty()) return fail(pod, OutcomeKind::kError, score_error);
  place(pod, selection.node, selection.total);
}

FeasibleList CpuBackend::State::list_feasible(const TileCache::Place& at, const PodToPlace& pod,
                                              const std::vector<std::int32_t>& refused, std::int32_t own_nomination) {
  const auto feasible = [&](std::int32_t node) {
    return at.tile->key(at.slot, node) > 0 && !std::binary_search(refused.begin(), refused.end(), node) &&
           judge_topology(table[pod.class_index], snapshot, node).accepts();
  };
  const NodeSideRow& row = table.node_side(pod.class_index);
  const std::vector<std::int32_t> candidates = candidate_nodes(row, snapshot.node_count());
  list_evaluations += static_cast<std::int64_t>(candidates.size());
  if (engine.node_sampling == NodeSampling::kAll) return visit_all(candidates, feasible);
  const Profile& profile = *table.profile_of(pod.class_index).profile;
  const std::size_t wanted = wanted_feasible(profile, config, candidates.size());
  FeasibleList list = visit_sample(candidates, next_start, wanted, own_nomination, feasible);
  start_before[answered.size()] = next_start;
  next_start = (next_start + list.nodes.size() + list.recorded) % static_cast<std::size_t>(snapshot.node_count());
  return list;
}

void CpuBackend::State::answer_list(const PodToPlace& pod, const TileCache::Place& at, const FeasibleList& list) {
  if (list.nodes.size() == 1) return place(pod, list.nodes.front(), 0);
  const std::string& score_error = table.score_error(pod.class_index);
  if (!score_error.empty()) return fail(pod, OutcomeKind::kError, score_error);
  if (scores_may_leave_range(table[pod.class_index], snapshot))
    if (std::string error =
            score_range_error(table[pod.class_index], table.profile_of(pod.class_index), snapshot, list.nodes);
        !error.empty())
      return fail(pod, OutcomeKind::kError, error);
  const Selection selection =
      choose_from_list(list.nodes, *at.tile, at.slot, table[pod.class_index], table.node_side(pod.class_index),
                       table.profile_of(pod.class_index), snapshot, engine.tie_break);
  place(pod, selection.node, selection.total);
}

void CpuBackend::State::apply(const PodToPlace& pod, std::int32_t node) {
  const PodClass& pod_class = table[pod.class_index];
  snapshot.apply(node, pod_class.delta, 1);
  if (!pod_class.moves.empty()) snapshot.write_topology().add_all(pod_class.moves, node, 1);
  log.append({node, pod.class_index, 1});
  answered.push_back({pod.pod.get(), node, pod.class_index});
}

void CpuBackend::State::place(const PodToPlace& pod, std::int32_t node, std::int64_t score) {
  result->outcomes.push_back({OutcomeKind::kPlaced, {node}, score, -1});
  drop_nomination(pod);
  const std::vector<HostPort>& wanted = table[pod.class_index].ports;
  if (!wanted.empty()) {
    std::vector<HostPort>& used = snapshot.write_used_ports(node);
    ports_before[answered.size()] = used;
    used.insert(used.end(), wanted.begin(), wanted.end());
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
  }
  apply(pod, node);
}

void CpuBackend::State::fail(const PodToPlace& pod, OutcomeKind kind, const std::string& text) {
  const auto [at, is_new] = message_index.try_emplace(text, static_cast<std::int32_t>(result->messages.size()));
  if (is_new) result->messages.push_back(text);
  result->outcomes.push_back({kind, kNoNode, 0, at->second});
  drop_nomination(pod);
  answered.push_back({pod.pod.get(), -1, pod.class_index});
}

/// Taken up by the placement, or lost by the failure.
void CpuBackend::State::drop_nomination(const PodToPlace& pod) {
  if (pod.pod->rare_fields != nullptr && nominations.remove(*pod.pod)) nomination_lost[answered.size()] = pod.pod;
}

/// No node takes the pod.
void CpuBackend::State::fail_everywhere(const PodToPlace& pod, bool nominations_matter, std::int32_t own_nomination) {
  const DiagnosisRow::Answer answer = reasons.of(pod, nominations_matter, own_nomination);
  fail(pod, answer.is_error ? OutcomeKind::kError : OutcomeKind::kUnschedulable, answer.text);
}

}  // namespace berth
