// SPDX-License-Identifier: Apache-2.0
#pragma once

// The node for a pod from the index by load, without a row for its class. docs/decisions/0011-an-index-by-load.md

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "batching/answer_ways.h"
#include "batching/commit_log.h"
#include "batching/excluded_nodes.h"
#include "batching/pod_class.h"
#include "batching/selection.h"
#include "host/engine/cpu/class_on_groups.h"
#include "host/engine/cpu/load_index.h"
#include "host/engine/cpu/node_partition.h"
#include "host/engine/cpu/nominated_loads.h"
#include "host/engine/cpu/tuning.h"
#include "plugins/pod_topology_spread/domain_weights.h"

namespace berth {

/// Selects nodes by an index for each profile. What it finds is what the rows of the classes say.
class IndexSelection {
 public:
  IndexSelection(ClassTable& table, const Nominations& nominations, const CpuTuning& tuning)
      : table_(table), nominations_(nominations), tuning_(tuning), nominated_counts_(nominations) {}

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

  /// Numbers of classes, node sides or tables may mean something else, or slots.
  void clear();

  std::uint64_t bytes() const;
  /// Nodes that were evaluated, each for one class.
  std::int64_t evaluations() const { return evaluations_; }

 private:
  using WhyNot = AnswerWays::WhyNot;

  /// The class that is being selected for.
  struct Asked {
    const PodClass* pod_class;
    const CompiledProfile* profile;
    const NodeSideRow* row;
    const SideOnGroups* side;
    const Snapshot* snapshot;
    const ExcludedNodes* refused;
    ClassOnLoads on_loads;
    bool load_is_known;  ///< cpu, memory and the number of pods are all that it asks of a node's load
    std::optional<std::int32_t> nominated_from;  ///< the index counts nominated pods from this priority on
  };
  /// A class as the index reads it.
  struct OnLoads {
    bool is_known = false;              ///< the rest is
    bool are_all = false;               ///< Asked::load_is_known
    std::optional<ClassOnLoads> loads;  ///< nullopt: the index does not serve it
  };
  /// An index, with the priority from which on it counts nominated pods.
  struct Laid {
    std::optional<std::int32_t> nominated_from;
    std::uint64_t laid_out_for = 0;  ///< version of the partition
    std::unique_ptr<LoadIndex> index;
  };
  struct Best {
    NodeKey key = 0;
    std::int32_t node = -1;
    void add(NodeKey other, std::int32_t other_node, NodeOrder order) {
      if (other > key || (other == key && other > 0 && order.is_before(other_node, node))) *this = {other, other_node};
    }
  };
  /// A node that is evaluated by itself, since more is counted in its domains than in those of its cell.
  struct Listed {
    std::int32_t node;
    std::int32_t cell = -1;  ///< below 0: not feasible
    RawTopologyScores raw = {};
  };
  struct CellState {
    std::int64_t not_counted = 0;  ///< nodes in the trees with room for the pod that are listed or refused
    std::int64_t live = 0;         ///< other feasible nodes; at least 2 where they need not be counted
    RawTopologyScores raw;
    std::int32_t total = -1;  ///< below 0: not feasible
  };

  std::optional<Selection> refuse(WhyNot why) {
    why_not_ = why;
    return std::nullopt;
  }
  void follow_nodes(const Snapshot& snapshot);
  std::optional<WhyNot> describe(std::int32_t pod_class, const ExcludedNodes& refused, const Snapshot& snapshot,
                                 Asked& asked);
  const SideOnGroups& side_of(std::int32_t pod_class, const NodeSideRow& row, const Snapshot& snapshot);
  const OnLoads& on_loads_of(std::int32_t pod_class);
  CellsOfClass* cells_of(std::int32_t pod_class, const Snapshot& snapshot);
  std::optional<Selection> select(std::int32_t pod_class, Asked& asked, const CommitLog& log);
  LoadIndex* index_of(const Asked& asked, const Snapshot& snapshot, const CommitLog& log);
  bool fits(const Asked& asked, const LoadIndex& index, std::int32_t node);
  bool holds_maxima(const Asked& asked, const LoadIndex& index);
  NodeKey key_on(const Asked& asked, std::int32_t node, std::int64_t topology_total) const;

  std::optional<Selection> select_plain(const Asked& asked, const LoadIndex& index);
  std::optional<std::int64_t> count_to_two(const Asked& asked, const LoadIndex& index);

  std::optional<Selection> select_by_cells(const Asked& asked, CellsOfClass& cells, const LoadIndex& index);
  bool list_nodes(const Asked& asked, const CellsOfClass& cells, const LoadIndex& index);
  std::int64_t* counts_on(const CellsOfClass& cells, std::int32_t node);
  const std::int64_t* counts_of_listed(const CellsNow& now, std::size_t listed) const {
    return fine_counts_.data() + listed * now.of_class.reads.counted_tables.size();
  }
  CellTopology listed_topology(const CellsNow& now, std::size_t listed) const {
    const auto cell = static_cast<std::size_t>(listed_[listed].cell);
    return {now, now.of_class.cells[cell], 1, counts_of_listed(now, listed)};
  }
  CellTopology cell_topology(const CellsNow& now, std::size_t cell) const {
    return {now, now.of_class.cells[cell], states_[cell].live, nullptr};
  }
  void count_refused(const Asked& asked, const CellsOfClass& cells, const LoadIndex& index);
  void filter_listed(const Asked& asked, const CellsNow& now, const LoadIndex& index);
  void filter_cells(const Asked& asked, const CellsNow& now, const LoadIndex& index);
  bool needs_node_count(const CellsOfClass& cells) const;
  void weigh_domains(const CellsNow& now);
  void score_cells(const Asked& asked, const CellsNow& now);
  Best best_in_cells(const Asked& asked, const CellsOfClass& cells, const LoadIndex& index);
  std::int64_t topology_total_of(const Asked& asked, const RawTopologyScores& raw) const;

  static constexpr std::size_t kPrioritiesMax = 4;  ///< of Laid, for each profile

  ClassTable& table_;
  const Nominations& nominations_;
  CpuTuning tuning_;
  NominatedCounts nominated_counts_;
  const ExcludedNodes none_refused_;
  NodePartition partition_;
  std::uint64_t node_sides_version_ = 0;
  std::vector<std::vector<Laid>> indexes_;                ///< [profile]
  std::unordered_map<std::int32_t, SideOnGroups> sides_;  ///< by PodClass::node_side
  std::vector<OnLoads> on_loads_;                         ///< [class]
  std::vector<std::unique_ptr<CellsOfClass>> cells_;      ///< [class] null: not asked for
  DomainWeights domain_weights_;
  WhyNot why_not_ = WhyNot::kCount;
  std::int64_t evaluations_ = 0;

  // Of one selection, kept for their memory.
  LoadSearch search_;
  std::vector<Listed> listed_;
  std::vector<std::int64_t> fine_counts_;  ///< [listed][CellsOfClass::Fine]
  /// [node] latest selection in which it was listed, and where.
  struct ListedAt {
    std::uint64_t selection = 0;
    std::size_t at = 0;
  };
  std::vector<ListedAt> listed_at_;
  std::uint64_t selection_ = 0;
  std::vector<CellState> states_;
  std::vector<std::int64_t> minima_;
  std::vector<std::int64_t> domain_counts_;           ///< [soft constraint]
  std::vector<std::vector<std::uint64_t>> found_at_;  ///< [soft constraint][domain] latest selection
  std::vector<double> weights_;
  TopologyRanges ranges_;
  std::vector<std::int32_t> base_;  ///< [group]
};

}  // namespace berth
