// SPDX-License-Identifier: Apache-2.0
#pragma once

// One pod on every node, for explanations: Backend::evaluate().

#include "batching/device/cell_selection.h"
#include "batching/device/views.h"

namespace berth {

/// @param state  its first row is of the pod's class
/// @param nodes  [node_count] overwritten
template <class Team>
BERTH_HD void evaluate_pod(const Team& team, const DeviceState& state, DeviceNodeScores* nodes) {
  CellSelection<Team> selection(team, state, state.rows.rows[0], state.scratch.first_mark);
  selection.prepare();
  for (std::int32_t node = team.index(); node < state.columns.node_count; node += team.size())
    nodes[node] = selection.scores_of(node);
}

}  // namespace berth
