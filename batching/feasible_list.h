// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selection over an explicit list of nodes, where rows are not enough: kube-scheduler's node sampling, its heap order
// among ties, scores that may leave their range, and totals beyond what a key holds.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "batching/backend.h"
#include "batching/guest_sides.h"
#include "batching/node_side_view.h"
#include "batching/pod_class.h"
#include "batching/selection.h"
#include "host/config/engine_config.h"

namespace berth {

struct FeasibleList {
  std::vector<std::int32_t> nodes;  ///< in the order found
  std::size_t recorded = 0;         ///< nodes with an explicit refusal, which move the rotating start
};

using FeasibleTest = std::function<bool(std::int32_t)>;

/// Nodes of PreFilter's node set, in node order.
std::vector<std::int32_t> candidate_nodes(const PodClass& pod_class, const NodeSideView& row, const Snapshot& snapshot);

/// How many feasible nodes kube-scheduler looks for: docs/behaviour/plugins-node.md 2.4.
std::size_t wanted_feasible(const Profile& profile, const SchedulerConfig& config, std::size_t candidate_count);

FeasibleList visit_all(const std::vector<std::int32_t>& candidates, const FeasibleTest& feasible);

/// Visits nodes from position `start` on, past the end to the beginning, until one more than `wanted` is feasible; that
/// one is neither kept nor recorded: docs/behaviour/plugins-node.md 2.6. @param own_nomination a node that has refused
/// already, or -1
FeasibleList visit_sample(const std::vector<std::int32_t>& candidates, std::size_t start, std::size_t wanted,
                          std::int32_t own_nomination, const FeasibleTest& feasible);

/// One class on the nodes, without topology rules and normalisers: read from a backend's row, or evaluated on demand.
class ClassOnNodes {
 public:
  virtual ~ClassOnNodes() = default;
  virtual bool accepts(std::int32_t node) const = 0;
  /// Weighted sum of the scores that read the load; of an accepted node.
  virtual std::int64_t load_total(std::int32_t node) const = 0;
  virtual Draw draw(std::int32_t node) const = 0;
};

/// Evaluates the rules directly, in integers of any size.
class UncachedClass : public ClassOnNodes {
 public:
  /// The arguments must outlive this object.
  UncachedClass(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                const Snapshot& snapshot)
      : pod_class_(pod_class), profile_(profile), row_(row), snapshot_(snapshot) {}
  bool accepts(std::int32_t node) const override;
  std::int64_t load_total(std::int32_t node) const override;
  Draw draw(std::int32_t node) const override;

 private:
  const PodClass& pod_class_;
  const CompiledProfile& profile_;
  NodeSideView row_;
  const Snapshot& snapshot_;
};

/// Normalises over exactly the listed nodes and picks one. @param listed  at least one, all accepted
/// @param host  of the same nodes; null: no plugin on the host scores
Selection choose_from_list(const std::vector<std::int32_t>& listed, const ClassOnNodes& nodes,
                           const PodClass& pod_class, const NodeSideView& row, const CompiledProfile& profile,
                           const Snapshot& snapshot, TieBreak tie_break, const HostScores* host = nullptr);

/// Backend::totals_on(). The nodes may be guests of a what-if.
/// @param pod  compiled against the table of `sides`
PodTotals totals_of_pod_on(const PodToPlace& pod, std::span<const NodeIndex> nodes, const NodeSides& sides,
                           const Snapshot& snapshot);

/// All listed nodes in the order in which they would be chosen: the first one is that of choose_from_list(), and the
/// next one that of the list without it, by the same totals.
std::vector<Selection> rank_list(const std::vector<std::int32_t>& listed, const ClassOnNodes& nodes,
                                 const PodClass& pod_class, const NodeSideView& row, const CompiledProfile& profile,
                                 const Snapshot& snapshot, TieBreak tie_break, const HostScores* host = nullptr);

/// Index of v1.35's choice among `totals` in list order: the root of its heap, docs/behaviour/plugins-node.md 15.3.
std::size_t kube_heap_root(const std::vector<std::int64_t>& totals);

}  // namespace berth
