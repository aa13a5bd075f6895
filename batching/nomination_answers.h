// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "batching/commit_log.h"
#include "batching/excluded_nodes.h"
#include "batching/guest_sides.h"
#include "batching/node_overlay.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// Which nodes refuse the pods of a class because of the pods that are nominated to them: kube-scheduler's first pass,
/// docs/behaviour/plugins-node.md 2.5. An answer of a node is kept until its load, its nominations or a count that the
/// class reads may have changed, so that a pod costs what changed since the last pod of its class.
class NominationAnswers {
 public:
  /// The arguments must outlive this object.
  NominationAnswers(const NodeSides& sides, const Nominations& nominations, const Snapshot& snapshot,
                    const CommitLog& log)
      : table_(sides.table()),
        sides_(sides),
        nominations_(nominations),
        snapshot_(snapshot),
        log_(log),
        overlay_(snapshot) {}

  struct Refused {
    /// Nodes that refuse in the first pass. Nodes that refuse the pod without nominations may be among them.
    const ExcludedNodes& nodes;
    std::uint64_t version;                  ///< changes with `nodes`; no two classes have the same, except 0: none
    std::span<const std::int32_t> changed;  ///< that came or went since the last call for the class
    bool follows_counts;                    ///< of topology domains: any placement may change the answer of a node
  };
  /// Valid until the next call.
  Refused of(const PodToPlace& pod);

  /// Some answer is kept for the class.
  bool knows(std::int32_t pod_class) const {
    return static_cast<std::size_t>(pod_class) < of_class_.size() &&
           of_class_[static_cast<std::size_t>(pod_class)] != nullptr;
  }
  void forget_all() { of_class_.clear(); }
  /// Forgets the answers of a class. @return the nodes that refused
  std::vector<std::int32_t> forget(std::int32_t pod_class);

  /// The node refuses the pod in the first pass once `copies` further pods of its class were placed there. Of a class
  /// that reads no topology tables and requests no ports.
  bool refuses_after(const PodToPlace& pod, std::int32_t node, std::int64_t copies);

 private:
  /// Of the latest pod of a class.
  struct ClassAnswers {
    std::int32_t priority = 0;     ///< of that pod
    std::int32_t own_node = -1;    ///< that it was nominated to: its answer is for that pod alone
    std::uint64_t generation = 0;  ///< of the nominations; 0: nothing was asked yet
    std::size_t nominations_seen = 0;
    std::uint64_t log_seen = 0;
    ExcludedNodes refused;
    std::uint64_t version = 0;
    std::vector<std::int32_t> changed;
    ExcludedNodes reads_counts;  ///< nodes whose nominated pods change counts that the class reads
  };

  ClassAnswers* find(const PodToPlace& pod);
  void ask_all(const PodToPlace& pod, ClassAnswers& answers);
  void ask_changed(const PodToPlace& pod, ClassAnswers& answers);
  void ask_once(const PodToPlace& pod, std::int32_t node, ClassAnswers& answers);
  bool refuses(const PodToPlace& pod, std::int32_t node, bool reads_counts);
  void note_counts(const PodToPlace& pod, std::int32_t node, ClassAnswers& answers) const;

  const ClassTable& table_;
  NodeSides sides_;
  const Nominations& nominations_;
  const Snapshot& snapshot_;
  const CommitLog& log_;
  NodeOverlay overlay_;
  std::vector<std::unique_ptr<ClassAnswers>>
      of_class_;  ///< null: no pod was nominated when one of the class was placed
  std::uint64_t last_version_ = 0;
  ExcludedNodes none_;
  // Of the call under way:
  bool affinity_skips_ = false;
  std::vector<std::uint64_t> asked_at_;  ///< [slot] the latest call that asked the node
  std::uint64_t call_ = 0;
};

}  // namespace berth
