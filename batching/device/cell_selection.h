// SPDX-License-Identifier: Apache-2.0
#pragma once

// The node of the highest total for one pod, from the row of its class: the topology rules filter, weigh and normalise
// cells, and the best nodes of the accepted cells are compared. The counterpart of host/engine/cpu/grouped_row.h for
// parallel threads.

#include "batching/device/row_tournament.h"
#include "batching/device/views.h"
#include "batching/topology_rules.h"

namespace berth {

/// Up to this number of cells every warp selects for itself, without barriers between warps.
inline constexpr std::int32_t kSoloCellsMax = 128;

struct DeviceChoice {
  std::int64_t feasible_count = 0;
  NodeKey key = 0;         ///< with normalised scores
  std::int32_t node = -1;  ///< -1: no node is feasible
};

/// What raw scores are normalised by.
struct CellMeasure {
  RawScores node_side;      ///< the largest ones
  TopologyRanges topology;  ///< of classes with topology terms
};

struct CombineMeasures {
  BERTH_HD CellMeasure operator()(const CellMeasure& a, const CellMeasure& b) const {
    CellMeasure both = a;
    both.node_side.raise_to(b.node_side);
    both.topology.merge(b.topology);
    return both;
  }
};

struct Sum {
  BERTH_HD std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a + b; }
};

struct Minimum {
  BERTH_HD std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a < b ? a : b; }
};

/// The higher key, then the first node in node order.
struct BetterChoice {
  const std::uint32_t* rank;  ///< DeviceColumns::rank
  BERTH_HD DeviceChoice operator()(const DeviceChoice& a, const DeviceChoice& b) const {
    if (a.node < 0) return b;
    if (b.node < 0) return a;
    if (a.key != b.key) return a.key > b.key ? a : b;
    return rank[a.node] < rank[b.node] ? a : b;
  }
};

/// @tparam Row  what is known of the cells: RowView, or WindowRow
template <class Team, class Row = RowView>
class CellSelection {
 public:
  /// @param mark  for DeviceScratch::seen; higher than in every earlier selection
  BERTH_HD CellSelection(const Team& team, const DeviceState& state, const DeviceRow& row, std::int32_t mark)
      : CellSelection(team, state, Row(state, row), state.classes.classes[row.pod_class], mark) {}
  BERTH_HD CellSelection(const Team& team, const DeviceState& state, const Row& row, const DeviceClass& pod_class,
                         std::int32_t mark)
      : team_(team),
        state_(state),
        row_(row),
        pod_class_(pod_class),
        profile_(state.classes.profiles[pod_class_.profile]),
        mark_(mark) {}

  BERTH_HD DeviceChoice select() {
    if (is_plain()) return plain_choice();
    const std::int64_t feasible_count = prepare();
    if (feasible_count == 0) return {};
    DeviceChoice best;
    const BetterChoice better{state_.columns.rank};
    for_cells([&](std::int32_t cell) {
      const RowEntry top = row_.top(cell);
      const DeviceChoice here{0, top.key + make_node_key(normalized_total(cell, measure_), 0),
                              row_.node_at(top.position)};
      best = better(best, here);
    });
    best = reduce_cells(best, better);
    best.feasible_count = feasible_count;
    return best;
  }

  /// One cell, so that normalised scores are equal for all nodes, and only the key decides.
  BERTH_HD bool is_plain() const { return row_.layout.cell_count == 1 && !pod_class_.has_topology; }
  /// What normalised scores add to each key of a plain row.
  BERTH_HD NodeKey plain_addend() const {
    const CellMeasure measure{node_side_raws(0), {}};
    return make_node_key(normalized_total(0, measure), 0);
  }

  /// What single cells and nodes are filtered and normalised by. All threads call it. @return feasible nodes
  BERTH_HD std::int64_t prepare() {
    prepare_filter();
    const std::int64_t feasible_count = weigh_domains();
    if (feasible_count > 0) measure_ = reduce_cells(measure_cells(), CombineMeasures());
    return feasible_count;
  }

  /// One node, after prepare().
  BERTH_HD DeviceNodeScores scores_of(std::int32_t node) const {
    DeviceNodeScores scores;
    const std::int32_t cell = row_.cell_of(node);
    if (cell < 0 || row_.keys[row_.position_of(node)] <= 0 || !passes(cell)) return scores;
    scores.feasible = true;
    const DeviceNode read{state_.columns, node};
    scores.fit = fit_score(state_.classes, pod_class_, read);
    scores.balanced = balanced_score(state_.classes, pod_class_, read);
    scores.raws = node_side_raws(cell);
    scores.normalized = normalized_scores(scores.raws, measure_.node_side, pod_class_.node_side_weights);
    if (!pod_class_.has_topology) return scores;
    const RawTopologyScores topology = raw_scores(cell);
    scores.spread = topology.spread;
    scores.spread_normalized = spread_score(topology, measure_.topology);
    scores.pod_affinity = topology.affinity;
    scores.pod_affinity_normalized = affinity_score(topology, measure_.topology);
    return scores;
  }

 private:
  /// One cell as batching/topology_rules.h reads it.
  class CellTopology {
   public:
    BERTH_HD CellTopology(const CellSelection& selection, std::int32_t cell) : selection_(selection), cell_(cell) {}

    BERTH_HD std::int32_t hard_size() const { return terms().hard.count; }
    BERTH_HD const DeviceRead& hard(std::int32_t h) const { return read(terms().hard, h); }
    BERTH_HD bool lacks_hard_key(std::int32_t h) const { return domain(hard(h)) == 0; }
    BERTH_HD std::int64_t hard_count(std::int32_t h) const { return count(hard(h)); }
    BERTH_HD std::int64_t hard_minimum(std::int32_t h) const { return selection_.minima_[h]; }

    BERTH_HD std::int32_t affinity_size() const { return terms().affinity.count; }
    BERTH_HD bool lacks_affinity_key(std::int32_t t) const { return domain(read(terms().affinity, t)) == 0; }
    BERTH_HD std::int64_t affinity_count(std::int32_t t) const { return count(read(terms().affinity, t)); }
    BERTH_HD bool no_pod_matches_affinity() const { return selection_.no_pod_matches_affinity_; }
    BERTH_HD bool matches_itself() const { return terms().matches_itself; }
    BERTH_HD std::int32_t anti_size() const { return terms().anti.count; }
    BERTH_HD std::int64_t anti_count(std::int32_t t) const { return count_unless_folded_in(read(terms().anti, t)); }
    BERTH_HD std::int32_t existing_anti_size() const { return terms().existing_anti.count; }
    BERTH_HD std::int64_t existing_anti_count(std::int32_t t) const {
      return count_unless_folded_in(read(terms().existing_anti, t));
    }

    BERTH_HD std::int32_t soft_size() const { return terms().soft.count; }
    BERTH_HD const DeviceRead& soft(std::int32_t s) const { return read(terms().soft, s); }
    BERTH_HD bool has_soft_label(std::int32_t s) const {
      if (layout().by_node) return selection_.domain_at(soft(s).label_column, cell_) != 0;
      return (layout().soft_labels[cell_] >> s & 1u) != 0;
    }
    BERTH_HD std::int32_t soft_domain(std::int32_t s) const { return domain(soft(s)); }
    BERTH_HD std::int64_t soft_count(std::int32_t s) const { return count(soft(s)); }
    BERTH_HD bool is_ignored() const { return layout().ignores_incomplete && lacks_soft_label(*this); }
    BERTH_HD std::int64_t node_count() const { return selection_.row_.live_of(cell_); }

    BERTH_HD std::int32_t preferred_size() const { return terms().preferred.count; }
    BERTH_HD std::int64_t preferred_multiplier(std::int32_t t) const { return read(terms().preferred, t).multiplier; }
    BERTH_HD std::int64_t preferred_count(std::int32_t t) const { return count(read(terms().preferred, t)); }
    BERTH_HD std::int64_t folded_score() const { return 0; }

   private:
    BERTH_HD const DeviceClass& terms() const { return selection_.pod_class_; }
    BERTH_HD const DeviceLayout& layout() const { return selection_.row_.layout; }
    BERTH_HD const DeviceRead& read(const DeviceList& list, std::int32_t index) const {
      return selection_.read(list.first + index);
    }
    /// 0: the nodes of the cell lie in no domain.
    BERTH_HD std::int32_t domain(const DeviceRead& read) const {
      if (layout().by_node) return selection_.domain_at(selection_.table_of(read).column, cell_);
      return layout().domains[static_cast<std::int64_t>(read.attribute) * layout().cell_count + cell_];
    }
    BERTH_HD std::int64_t count(const DeviceRead& read) const {
      return selection_.state_.counts.counts[selection_.table_of(read).first + domain(read)];
    }
    BERTH_HD std::int64_t count_unless_folded_in(const DeviceRead& read) const {
      return read.attribute == DeviceRead::kFoldedIn ? 0 : count(read);
    }

    const CellSelection& selection_;
    std::int32_t cell_;
  };

  BERTH_HD DeviceChoice plain_choice() const {
    const std::int64_t feasible_count = row_.live_of(0);
    if (feasible_count == 0) return {};  // a row without nodes has no top entry
    const RowEntry top = row_.top(0);
    return {feasible_count, top.key + plain_addend(), row_.node_at(top.position)};
  }

  /// Calls `use` with every cell that holds feasible nodes and passes the topology rules.
  template <class Use>
  BERTH_HD void for_cells(Use use) const {
    for (std::int32_t cell = team_.index(); cell < row_.layout.cell_count; cell += team_.size())
      if (row_.live_of(cell) > 0 && passes(cell)) use(cell);
  }

  /// Over the values that threads have of their cells.
  template <class T, class Op>
  BERTH_HD T reduce_cells(const T& value, Op op) const {
    return team_.reduce_first(value, row_.layout.cell_count, op);
  }

  BERTH_HD const DeviceRead& read(std::int32_t at) const { return state_.classes.reads[at]; }
  BERTH_HD const DeviceTable& table_of(const DeviceRead& read) const { return state_.counts.tables[read.table]; }
  BERTH_HD std::int32_t domain_at(std::int32_t column, std::int32_t node) const {
    return state_.counts.domain_of[column * state_.counts.stride + node];
  }
  BERTH_HD RawScores node_side_raws(std::int32_t cell) const {
    RawScores raws;
    if (row_.layout.raws == nullptr) return raws;
    for (std::size_t r = 0; r < RawScores::kRules; ++r)
      raws.of[r] = row_.layout.raws[static_cast<std::int64_t>(r) * row_.layout.cell_count + cell];
    return raws;
  }

  BERTH_HD void prepare_filter() {
    for (std::int32_t h = 0; h < pod_class_.hard.count; ++h) {
      const DeviceRead& hard = read(pod_class_.hard.first + h);
      minima_[h] = global_minimum(table_of(hard).existing_domains, hard.min_domains,
                                  [&] { return smallest_count(table_of(hard)); });
    }
    no_pod_matches_affinity_ = no_pod_matches_affinity(pod_class_.affinity.count, [&](std::int32_t t) {
      return state_.counts.totals[read(pod_class_.affinity.first + t).table];
    });
  }
  BERTH_HD std::int64_t smallest_count(const DeviceTable& table) const {
    std::int64_t minimum = INT32_MAX;
    for (std::int32_t d = 1 + team_.index(); d <= table.domain_count; d += team_.size())
      if (state_.counts.exists[table.first + d] != 0 && state_.counts.counts[table.first + d] < minimum)
        minimum = state_.counts.counts[table.first + d];
    return team_.reduce_first(minimum, table.domain_count, Minimum());
  }

  BERTH_HD bool passes(std::int32_t cell) const {
    return !pod_class_.has_topology || topology_accepts(CellTopology(*this, cell));
  }

  /// Weighs each soft constraint by the number of its domains with a feasible node that is not ignored.
  /// @return feasible nodes
  BERTH_HD std::int64_t weigh_domains() {
    std::int64_t feasible = 0;
    std::int64_t nodes = 0;
    for_cells([&](std::int32_t cell) {
      feasible += row_.live_of(cell);
      if (pod_class_.soft.count == 0) return;
      nodes += mark_soft_domains(CellTopology(*this, cell),
                                 [&](std::int32_t s, std::int32_t domain) { team_.mark(seen(s, domain), mark_); });
    });
    feasible = reduce_cells(feasible, Sum());
    if (pod_class_.soft.count == 0 || feasible == 0) return feasible;
    nodes = reduce_cells(nodes, Sum());
    for (std::int32_t s = 0; s < pod_class_.soft.count; ++s) {
      const DeviceRead& soft = read(pod_class_.soft.first + s);
      weights_[s] = state_.counts.weight_of_size[soft.counts_nodes ? nodes : marked_domains(s, soft)];
    }
    return feasible;
  }
  BERTH_HD std::int32_t* seen(std::int32_t soft, std::int32_t domain) const {
    return state_.scratch.seen + soft * (state_.scratch.domains_max + 1) + domain;
  }
  BERTH_HD std::int64_t marked_domains(std::int32_t soft, const DeviceRead& constraint) const {
    std::int64_t marked = 0;
    for (std::int32_t d = team_.index(); d <= table_of(constraint).domain_count; d += team_.size())
      marked += team_.is_marked(seen(soft, d), mark_) ? 1 : 0;
    return team_.reduce(marked, Sum());
  }

  BERTH_HD RawTopologyScores raw_scores(std::int32_t cell) const {
    return raw_topology_scores(CellTopology(*this, cell), weights_);
  }

  BERTH_HD CellMeasure measure_cells() const {
    CellMeasure measure;
    for_cells([&](std::int32_t cell) {
      CellMeasure here{node_side_raws(cell), {}};
      if (pod_class_.has_topology) here.topology.add(raw_scores(cell));
      measure = CombineMeasures()(measure, here);
    });
    return measure;
  }

  BERTH_HD std::int64_t normalized_total(std::int32_t cell, const CellMeasure& measure) const {
    std::int64_t total = berth::normalized_total(node_side_raws(cell), measure.node_side, pod_class_.node_side_weights);
    if (pod_class_.has_topology)
      total += topology_total(raw_scores(cell), measure.topology, profile_.weight_spread, profile_.weight_pod_affinity);
    return total;
  }

  const Team& team_;
  const DeviceState& state_;
  Row row_;
  const DeviceClass& pod_class_;
  const DeviceProfile& profile_;
  std::int32_t mark_;
  CellMeasure measure_;
  // Written by prepare() for as many constraints as there are: to zero all would cost more than most selections.
  std::int64_t minima_[kDeviceConstraintsMax];  ///< [hard constraint]
  double weights_[kDeviceConstraintsMax];       ///< [soft constraint]
  bool no_pod_matches_affinity_ = false;        ///< the function of that name
};

}  // namespace berth
