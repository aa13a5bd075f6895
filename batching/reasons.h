// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/answer_changes.h"
#include "batching/commit_log.h"
#include "batching/diagnosis_row.h"
#include "batching/guest_sides.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// Nodes that the rules of a node's object and load refuse in one way.
struct LoadVerdicts {
  std::uint8_t refusal = 0;  ///< index into NodeSideRow::refusals
  LoadVerdict load;
  std::int64_t nodes = 0;
};

/// Why pods find no node: one diagnosis per class, updated through the log. For a pod that nominations concern, the
/// verdicts of the nominated nodes replace those in the diagnosis of its class; they are kept until answer_changes()
/// tells of the node.
class Reasons {
 public:
  /// The arguments must outlive this object.
  Reasons(const NodeSides& sides, const Nominations& nominations, const Snapshot& snapshot, const CommitLog& log)
      : table_(sides.table()), sides_(sides), nominations_(nominations), snapshot_(snapshot), log_(log) {}

  /// Why the pods of a class find no node, nominations aside. Valid until the next call.
  const DiagnosisRow::Answer& of_class(std::int32_t pod_class);
  /// The same, from how many nodes have each verdict. @param verdicts  each once, of a class that no topology term and
  /// no plugin on the host refuses, and whose PreFilter names no nodes
  const DiagnosisRow::Answer& of_counts(std::int32_t pod_class, std::span<const LoadVerdicts> verdicts);
  /// The same for one pod, with nodes filtered together with the pods nominated to them.
  /// @param own_nomination  the node that the pod itself is nominated to and that refused it, or -1
  DiagnosisRow::Answer with_nominations(const PodToPlace& pod, std::int32_t own_nomination);
  /// Call when node objects changed.
  void clear() {
    of_class_.clear();
    of_counts_.clear();
    forget_refusals();
  }

 private:
  /// Nodes of one verdict.
  struct RefusedNodes {
    std::uint8_t refusal = 0;
    bool is_outside = false;  ///< of PreFilter's node set; the rest is not set
    LoadVerdict load;
    TopologyVerdict topology;
    std::int64_t count = 0;
  };
  /// The nodes with nominated pods that count against pods of a class and priority, by verdict.
  struct Refusals {
    std::vector<RefusedNodes> verdicts;
    tsl::robin_map<std::int32_t, std::uint32_t> verdict_of;  ///< [slot] index
    AnswerBasis basis;
  };
  /// Refusals that are kept take a few dozen bytes a node.
  static constexpr std::size_t kRefusalsKeptMax = std::size_t{1} << 20;

  const Refusals& refusals_of(const PodToPlace& pod, std::int32_t own_nomination, Refusals& unkept);
  static std::uint32_t verdict_index(const RefusedNodes& now, Refusals& refusals);
  RefusedNodes refusal_of(const PodToPlace& pod, std::int32_t node, Nominations::CrowdedNode& crowded) const;
  void forget_refusals() {
    refusals_.clear();
    refusals_kept_ = 0;
  }

  /// Answers of of_counts() that are kept: few texts serve many classes.
  static constexpr std::size_t kAnswersKeptMax = 4096;
  /// Above those of DiagnosisRow.
  static constexpr std::uint64_t kVersionsOfCounts = std::uint64_t{1} << 63;

  const ClassTable& table_;
  NodeSides sides_;
  const Nominations& nominations_;
  const Snapshot& snapshot_;
  const CommitLog& log_;
  std::unordered_map<std::int32_t, DiagnosisRow> of_class_;
  std::map<std::vector<std::int64_t>, DiagnosisRow::Answer> of_counts_;  ///< by all that the text follows from
  std::uint64_t counted_ = 0;                                            ///< of those answers, so far
  std::map<std::pair<std::int32_t, std::int32_t>, Refusals> refusals_;   ///< by class and priority
  std::size_t refusals_kept_ = 0;                                        ///< nodes in all of them
};

}  // namespace berth
