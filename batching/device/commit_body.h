// SPDX-License-Identifier: Apache-2.0
#pragma once

// The body of the kernel that commits a whole batch. For each pod it chooses a node, updates the node's columns and
// counters, and refreshes that node in every row that a later pod needs, without the host.

#include <type_traits>

#include "batching/device/cell_selection.h"
#include "batching/device/row_tournament.h"
#include "batching/device/views.h"

namespace berth {

/// Adds one pod of the class to a node's columns and to the counters of its domains. The threads of the team share the
/// work; no two of them write the same address. Nothing waits for what was there before.
template <class Team>
BERTH_HD void place_on_node(const Team& team, const DeviceState& state, const DeviceClass& pod_class,
                            std::int32_t node) {
  const DeviceColumns& columns = state.columns;
  for (std::int32_t r = team.index(); r < pod_class.delta.count; r += team.size()) {
    const DeviceRequest& added = state.classes.requests[pod_class.delta.first + r];
    team.add(columns.requested + added.column * columns.stride + node, added.amount);
  }
  for (std::int32_t m = team.index(); m < pod_class.moves.count; m += team.size()) {
    const DeviceMove& move = state.classes.moves[pod_class.moves.first + m];
    if (std::int64_t* count = moved_count(state.counts, move, node)) {
      team.add(count, std::int64_t{move.amount});
      team.add(state.counts.totals + move.table, std::int64_t{move.amount});
    }
  }
  for (std::int32_t s = team.index(); pod_class.port_set >= 0 && s < state.classes.port_set_count; s += team.size())
    if (state.classes.port_conflicts[std::int64_t{pod_class.port_set} * state.classes.port_set_count + s] != 0)
      columns.port_taken[s * columns.stride + node] = 1;
  if (team.index() != 0) return;
  team.add(columns.non_zero_milli_cpu + node, pod_class.delta_milli_cpu);
  team.add(columns.non_zero_memory_bytes + node, pod_class.delta_memory_bytes);
  team.add(columns.pod_count + node, std::int64_t{1});
}

template <class Team>
BERTH_HD DeviceChoice choose_node(const Team& team, const DeviceState& state, const DeviceRow& row, std::int32_t mark) {
  if (state.rows.layouts[row.layout].cell_count > kSoloCellsMax)
    return CellSelection<Team>(team, state, row, mark).select();
  const auto solo = team.solo();
  return CellSelection<std::remove_const_t<decltype(solo)>>(solo, state, row, mark).select();
}

BERTH_HD DeviceOutcome outcome_of(const DeviceChoice& choice, const DeviceClass& pod_class,
                                  const DeviceProfile& profile) {
  if (choice.feasible_count == 0) return {};
  // A single feasible node is taken without scoring.
  if (choice.feasible_count == 1) return {DeviceOutcomeKind::kPlaced, choice.node, 0};
  if (pod_class.fails_scoring) return {DeviceOutcomeKind::kScoringFails, -1, 0};
  return {DeviceOutcomeKind::kPlaced, choice.node, profile.scores_anything ? total_of(choice.key) : 1};
}

/// Whether the batch ends with this outcome of its pod.
BERTH_HD bool ends_behind(const DeviceBatch& batch, const DeviceOutcome& outcome) {
  if (outcome.kind != DeviceOutcomeKind::kPlaced) return batch.stops_at_failure;
  return batch.stops_at != nullptr && is_in_node_set(batch.stops_at, outcome.node);
}

/// Places the pods of the batch in order, each as the serial algorithm would after all before it.
template <class Team>
BERTH_HD void commit_batch(const Team& team, const DeviceState& state, const DeviceBatch& batch) {
  std::int32_t pod = 0;
  while (pod < batch.pod_count) {
    const DeviceRow& row = state.rows.rows[batch.row_of_pod[pod]];
    const DeviceClass& pod_class = state.classes.classes[row.pod_class];
    const DeviceChoice choice = choose_node(team, state, row, state.scratch.first_mark + pod);
    const DeviceOutcome outcome = outcome_of(choice, pod_class, state.classes.profiles[pod_class.profile]);
    team.barrier();  // all threads have read what is about to change
    if (team.index() == 0) batch.outcomes[pod] = outcome;
    if (outcome.kind == DeviceOutcomeKind::kPlaced) {
      place_on_node(team, state, pod_class, outcome.node);
      team.barrier();
      for (std::int32_t r = team.index(); r < batch.row_count; r += team.size())
        if (batch.last_pod[r] > pod) refresh_node(state, state.rows.rows[r], outcome.node);
      team.barrier();
    }
    ++pod;
    if (ends_behind(batch, outcome)) break;
  }
  if (team.index() == 0) *batch.committed_count = pod;
}

}  // namespace berth
