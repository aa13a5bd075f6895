// SPDX-License-Identifier: Apache-2.0
#include "batching/node_local.h"

#include "batching/copy_interplay.h"
#include "batching/prepared_pod.h"

namespace berth {
namespace {

/// What a placed copy changes is read on other nodes, or which nodes are feasible enters the scores.
bool reaches_others(const PodClass& pod_class, const TopologyCounts& counts) {
  const TopologyProgram& program = *pod_class.topology;
  if (!program.soft.empty() || !program.scores.empty()) return true;  // normalised over feasible nodes
  const CopyInterplay interplay = interplay_of(program, pod_class.moves, counts);
  if (interplay.kind == CopyInterplay::Kind::kApart) return !counts.column(interplay.apart_column).one_node_each;
  return interplay.kind != CopyInterplay::Kind::kNone;
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
  return pod_class.topology == nullptr || !reaches_others(pod_class, snapshot.topology());
}

}  // namespace berth
