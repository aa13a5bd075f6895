// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "batching/commit_log.h"
#include "batching/diagnosis_row.h"
#include "batching/guest_sides.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// Why pods find no node: one diagnosis per class, updated through the log. For a pod that nominations concern, the
/// verdicts of the nominated nodes replace those in the diagnosis of its class.
class Reasons {
 public:
  /// The arguments must outlive this object.
  Reasons(const NodeSides& sides, const Nominations& nominations, const Snapshot& snapshot, const CommitLog& log)
      : table_(sides.table()), sides_(sides), nominations_(nominations), snapshot_(snapshot), log_(log) {}

  /// Why the pods of a class find no node, nominations aside. Valid until the next call.
  const DiagnosisRow::Answer& of_class(std::int32_t pod_class);
  /// The same for one pod, with nodes filtered together with the pods nominated to them.
  /// @param own_nomination  the node that the pod itself is nominated to and that refused it, or -1
  DiagnosisRow::Answer with_nominations(const PodToPlace& pod, std::int32_t own_nomination);
  /// Call when node objects changed.
  void clear() { of_class_.clear(); }

 private:
  /// Nodes of one verdict.
  struct RefusedNodes {
    std::uint8_t refusal = 0;
    LoadVerdict load;
    TopologyVerdict topology;
    std::int64_t count = 0;
  };
  void note_refusal(const PodToPlace& pod, const CompiledProfile& profile, const NodeSideView& row, std::int32_t node,
                    Nominations::CrowdedNode& crowded, std::vector<RefusedNodes>& refused);

  const ClassTable& table_;
  NodeSides sides_;
  const Nominations& nominations_;
  const Snapshot& snapshot_;
  const CommitLog& log_;
  std::unordered_map<std::int32_t, DiagnosisRow> of_class_;
};

}  // namespace berth
