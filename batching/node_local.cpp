// SPDX-License-Identifier: Apache-2.0
#include "batching/node_local.h"

#include <algorithm>
#include <span>

#include "batching/prepared_pod.h"
#include "batching/topology_program.h"

namespace berth {
namespace {

/// What a placed copy changes is read on other nodes, or which nodes are feasible enters the scores.
bool reaches_others(const TopologyProgram& program, std::span<const CountMove> moves, const TopologyCounts& counts) {
  if (!program.soft.empty() || !program.scores.empty()) return true;  // normalised over feasible nodes
  return std::ranges::any_of(moves, [&](const CountMove& move) {
    const bool in_skew = std::ranges::find(program.hard, move.table, &HardSpread::table) != program.hard.end();
    if (in_skew || std::ranges::find(program.affinity, move.table) != program.affinity.end()) return true;
    const bool apart = std::ranges::find(program.anti, move.table, &OwnAntiTerm::table) != program.anti.end() ||
                       std::ranges::find(program.existing_anti, move.table) != program.existing_anti.end();
    return apart && !counts.column(counts.column_of(move.table)).one_node_each;
  });
}

}  // namespace

bool is_node_local(const PodToPlace& pod, const NodeSides& sides, const Nominations& nominations,
                   const Snapshot& snapshot) {
  const ClassTable& table = sides.table();
  if (pod.class_index < 0 || table.host_may_decide(pod.class_index)) return false;
  if (nominations.holds(*pod.pod) || nominations.any_against(*pod.pod)) return false;
  const PreparedPod prepared(pod, sides, nominations, snapshot);
  if (!prepared.error().empty() || prepared.row().raws_vary) return false;
  const PodClass& pod_class = prepared.pod_class();
  return pod_class.topology == nullptr || !reaches_others(*pod_class.topology, pod_class.moves, snapshot.topology());
}

}  // namespace berth
