// SPDX-License-Identifier: Apache-2.0
#pragma once

// The node for a pod from the index by load, without a row for its class. docs/decisions/0011-an-index-by-load.md

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "batching/answer_ways.h"
#include "batching/commit_log.h"
#include "batching/excluded_nodes.h"
#include "batching/pod_class.h"
#include "batching/reasons.h"
#include "batching/selection.h"
#include "host/engine/cpu/class_on_groups.h"
#include "host/engine/cpu/index_query.h"
#include "host/engine/cpu/load_index.h"
#include "host/engine/cpu/node_partition.h"
#include "host/engine/cpu/nominated_loads.h"
#include "host/engine/cpu/selection_by_cells.h"
#include "host/engine/cpu/tuning.h"

namespace berth {

/// Selects nodes by an index for each profile. What it finds is what the rows of the classes say.
class IndexSelection {
 public:
  IndexSelection(ClassTable& table, const Nominations& nominations, const CpuTuning& tuning)
      : table_(table), nominations_(nominations), tuning_(tuning), nominated_counts_(nominations), by_cells_(tuning) {}

  /// The best node for a class whose profile has keys, and on which no plugin on the host decides.
  /// Selection::feasible_count is exact up to 1, and at least 2 otherwise.
  /// @param refused  nodes that are not feasible for a reason that neither their side nor their load tells
  /// @param log  its end is the state of the snapshot
  /// @return nullopt: the index does not serve the class as things are, and why_not() says why
  std::optional<Selection> select(std::int32_t pod_class, const ExcludedNodes& refused, const Snapshot& snapshot,
                                  const CommitLog& log);
  /// The same for a pod that is not nominated, where nominated pods concern its class by their loads alone: searches
  /// never look at the nodes that refuse because of them.
  /// @return nullopt: it does not serve the class, or nominated pods concern more than loads, or too many priorities
  std::optional<Selection> select_beside_nominated(const PodToPlace& pod, const Snapshot& snapshot,
                                                   const CommitLog& log);
  AnswerWays::WhyNot why_not() const { return why_not_; }
  /// How many nodes refuse a class in each way, after select() found no node for it. Valid until the next call.
  /// @return empty: the index does not tell
  std::span<const LoadVerdicts> verdicts(std::int32_t pod_class, const Snapshot& snapshot, const CommitLog& log);
  /// The index for most classes of the profile exists, and has missed few changes.
  bool is_close(std::int32_t profile, const CommitLog& log) const;

  /// Numbers of classes, node sides or tables may mean something else, or slots.
  void clear();

  std::uint64_t bytes() const;
  /// Nodes that were evaluated, each for one class.
  std::int64_t evaluations() const { return evaluations_ + by_cells_.evaluations(); }

 private:
  using WhyNot = AnswerWays::WhyNot;

  /// A class as the index reads it.
  struct OnLoads {
    bool is_known = false;              ///< the rest is
    bool asks_for_others = false;       ///< asks_for_other_loads()
    std::optional<ClassOnLoads> loads;  ///< nullopt: the index does not serve it
  };
  /// An index, with the priority from which on it counts nominated pods.
  struct Laid {
    std::optional<std::int32_t> nominated_from;
    std::uint64_t laid_out_for = 0;  ///< version of the partition
    std::unique_ptr<LoadIndex> index;
  };
  /// Groups of nodes, and the trees of them.
  struct Trees {
    NodePartition partition;
    std::vector<std::vector<Laid>> indexes;                ///< [profile]
    std::unordered_map<std::int32_t, SideOnGroups> sides;  ///< by PodClass::node_side
    std::map<CellColumns, std::shared_ptr<const CellsOnGroups>> cells;
  };
  struct TopologyOfClass {
    std::unique_ptr<CellsOfClass> cells;  ///< null: not asked for
    Trees* trees = nullptr;
  };

  std::optional<Selection> refuse(WhyNot why) {
    why_not_ = why;
    return std::nullopt;
  }
  void follow_nodes(const Snapshot& snapshot);
  std::optional<WhyNot> describe(std::int32_t pod_class, const ExcludedNodes& refused, const Snapshot& snapshot,
                                 IndexQuery& query);
  void mark_other_loads(IndexQuery& query);
  const SideOnNodes& side_of(std::int32_t pod_class, const NodeSideRow& row, const Snapshot& snapshot);
  const SideOnGroups& side_on(Trees& trees, const IndexQuery& query);
  const OnLoads& on_loads_of(std::int32_t pod_class);
  const TopologyOfClass* topology_of(std::int32_t pod_class, const Snapshot& snapshot);
  Trees* trees_for(const CellsOfClass& cells, const Snapshot& snapshot);
  Trees& trees_by(const std::vector<std::int32_t>& wide_columns, const Snapshot& snapshot);
  static bool put_on_groups(CellsOfClass& cells, const TopologyCounts& counts, Trees& trees);
  std::optional<Selection> select(std::int32_t pod_class, IndexQuery& query, const CommitLog& log);
  const LoadIndex* index_of(const IndexQuery& query, Trees& trees, const CommitLog& log);
  const LoadIndex* usual_index(std::int32_t profile) const;
  bool holds_maxima(const IndexQuery& query) const;
  void add_verdict(std::uint8_t refusal, const LoadVerdict& load, std::int64_t nodes);

  std::optional<Selection> select_plain(const IndexQuery& query);
  std::optional<Selection> select_among(const IndexQuery& query);
  std::optional<std::int64_t> count_to_two(const IndexQuery& query);

  static constexpr std::size_t kPrioritiesMax = 4;  ///< of Laid, for each profile
  static constexpr std::size_t kTreesMax = 4;

  ClassTable& table_;
  const Nominations& nominations_;
  CpuTuning tuning_;
  NominatedCounts nominated_counts_;
  const ExcludedNodes none_refused_;
  std::uint64_t node_sides_version_ = 0;
  /// By the columns of more than CpuTuning::coarse_domains_max domains that nodes are grouped by; the first by none.
  std::map<std::vector<std::int32_t>, Trees> trees_;
  std::unordered_map<std::int32_t, SideOnNodes> sides_;  ///< by PodClass::node_side
  std::vector<OnLoads> on_loads_;                        ///< [class]
  std::vector<TopologyOfClass> topology_;                ///< [class]
  WhyNot why_not_ = WhyNot::kCount;
  std::int64_t evaluations_ = 0;

  std::int64_t blocks_seen_ = 0;  ///< LoadSearch::blocks_seen when that was looked at last

  // Of one selection, kept for their memory.
  LoadSearch search_;
  SelectionByCells by_cells_;
  std::vector<LoadVerdicts> verdicts_;
  std::vector<double> other_loads_;     ///< IndexQuery::other_loads
  std::vector<std::int32_t> refusing_;  ///< IndexQuery::refusing_other_loads
  std::vector<std::int32_t> only_;      ///< IndexQuery::only, of a class that asks for other loads
};

}  // namespace berth
