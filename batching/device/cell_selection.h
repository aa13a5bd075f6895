// SPDX-License-Identifier: Apache-2.0
#pragma once

// The node of the highest total for one pod, from the row of its class: cells are evaluated by the topology rules,
// weighed and normalised, and the best nodes of the cells that pass are compared. What host/engine/cpu/grouped_row.h
// does with groups, for threads side by side.

#include "batching/device/row_tournament.h"
#include "batching/device/views.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/node_affinity/rule.h"
#include "plugins/normalize.h"
#include "plugins/pod_topology_spread/rule.h"
#include "plugins/taint_toleration/rule.h"

namespace berth {

/// Cells up to this number are one warp's work; every warp selects for itself and none waits.
inline constexpr std::int32_t kSoloCellsMax = 128;

struct DeviceChoice {
  std::int64_t feasible_count = 0;
  NodeKey key = 0;         ///< normalised parts included
  std::int32_t node = -1;  ///< -1: no node is feasible
};

/// Smallest and largest raw scores, and how many nodes are feasible.
struct CellMeasure {
  std::int64_t feasible_count = 0;
  std::int64_t taint_max = 0;
  std::int64_t affinity_max = 0;
  std::int64_t spread_min = INT64_MAX;
  std::int64_t spread_max = 0;
  std::int64_t pod_affinity_min = INT64_MAX;
  std::int64_t pod_affinity_max = INT64_MIN;
};

struct CombineMeasures {
  BERTH_HD CellMeasure operator()(const CellMeasure& a, const CellMeasure& b) const {
    return {a.feasible_count + b.feasible_count,
            a.taint_max > b.taint_max ? a.taint_max : b.taint_max,
            a.affinity_max > b.affinity_max ? a.affinity_max : b.affinity_max,
            a.spread_min < b.spread_min ? a.spread_min : b.spread_min,
            a.spread_max > b.spread_max ? a.spread_max : b.spread_max,
            a.pod_affinity_min < b.pod_affinity_min ? a.pod_affinity_min : b.pod_affinity_min,
            a.pod_affinity_max > b.pod_affinity_max ? a.pod_affinity_max : b.pod_affinity_max};
  }
};

struct Sum {
  BERTH_HD std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a + b; }
};

struct Minimum {
  BERTH_HD std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a < b ? a : b; }
};

/// The higher key, then the lower node.
struct BetterChoice {
  BERTH_HD DeviceChoice operator()(const DeviceChoice& a, const DeviceChoice& b) const {
    if (a.node < 0) return b;
    if (b.node < 0) return a;
    if (a.key != b.key) return a.key > b.key ? a : b;
    return a.node < b.node ? a : b;
  }
};

template <class Team>
class CellSelection {
 public:
  /// @param mark  of DeviceScratch::seen: above every mark of an earlier selection
  BERTH_HD CellSelection(const Team& team, const DeviceState& state, const DeviceRow& row, std::int32_t mark)
      : team_(team),
        state_(state),
        row_(state.rows, row),
        pod_class_(state.classes.classes[row.pod_class]),
        profile_(state.classes.profiles[pod_class_.profile]),
        mark_(mark) {}

  BERTH_HD DeviceChoice select() {
    if (is_plain()) return plain_choice();
    prepare_filter();
    const std::int64_t feasible_count = weigh_domains();
    if (feasible_count == 0) return {};
    const CellMeasure measure = team_.reduce(measure_cells(), CombineMeasures());
    DeviceChoice best;
    for_cells([&](std::int32_t cell) {
      const RowEntry top = row_.top(cell);
      const DeviceChoice here{0, top.key + make_node_key(normalized_total(cell, measure), 0),
                              row_.node_at(top.position)};
      best = BetterChoice()(best, here);
    });
    best = team_.reduce(best, BetterChoice());
    best.feasible_count = feasible_count;
    return best;
  }

 private:
  /// One cell, so that every normaliser is the same for all nodes, and nobody but the key refuses any.
  BERTH_HD bool is_plain() const { return row_.layout.cell_count == 1 && !pod_class_.has_topology; }

  BERTH_HD DeviceChoice plain_choice() const {
    const std::int64_t feasible_count = row_.live_of(0);
    if (feasible_count == 0) return {};  // a row of no nodes has no top either
    const RowEntry top = row_.top(0);
    const CellMeasure measure{feasible_count, taint_raw(0), affinity_raw(0)};
    return {feasible_count, top.key + make_node_key(normalized_total(0, measure), 0), row_.node_at(top.position)};
  }

  /// Calls `use` with every cell that holds feasible nodes and passes the topology rules.
  template <class Use>
  BERTH_HD void for_cells(Use use) const {
    for (std::int32_t cell = team_.index(); cell < row_.layout.cell_count; cell += team_.size())
      if (row_.live_of(cell) > 0 && passes(cell)) use(cell);
  }

  BERTH_HD const DeviceRead& read(std::int32_t at) const { return state_.classes.reads[at]; }
  BERTH_HD const DeviceTable& table_of(const DeviceRead& read) const { return state_.counts.tables[read.table]; }
  BERTH_HD std::int32_t domain_at(std::int32_t column, std::int32_t node) const {
    return state_.counts.domain_of[column * state_.counts.stride + node];
  }
  /// 0: the nodes of the cell lie in no domain.
  BERTH_HD std::int32_t domain_of(const DeviceRead& read, std::int32_t cell) const {
    if (row_.layout.by_node) return domain_at(table_of(read).column, cell);
    return row_.layout.domains[static_cast<std::int64_t>(read.attribute) * row_.layout.cell_count + cell];
  }
  BERTH_HD std::int64_t count_of(const DeviceRead& read, std::int32_t cell) const {
    return state_.counts.counts[table_of(read).first + domain_of(read, cell)];
  }
  BERTH_HD bool holds(const DeviceRead& read, std::int32_t cell) const {
    return read.attribute != DeviceRead::kFoldedIn && count_of(read, cell) > 0;
  }
  BERTH_HD bool has_label(std::int32_t soft, std::int32_t cell) const {
    if (row_.layout.by_node) return domain_at(read(pod_class_.soft.first + soft).label_column, cell) != 0;
    return (row_.layout.soft_labels[cell] >> soft & 1u) != 0;
  }
  /// Left out of PodTopologySpread's scores.
  BERTH_HD bool is_ignored(std::int32_t cell) const {
    if (!row_.layout.ignores_incomplete) return false;
    for (std::int32_t s = 0; s < pod_class_.soft.count; ++s)
      if (!has_label(s, cell)) return true;
    return false;
  }
  BERTH_HD std::int64_t taint_raw(std::int32_t cell) const {
    return row_.layout.taint_raw == nullptr ? 0 : row_.layout.taint_raw[cell];
  }
  BERTH_HD std::int64_t affinity_raw(std::int32_t cell) const {
    return row_.layout.affinity_raw == nullptr ? 0 : row_.layout.affinity_raw[cell];
  }

  BERTH_HD void prepare_filter() {
    for (std::int32_t h = 0; h < pod_class_.hard.count; ++h)
      minima_[h] = global_minimum(read(pod_class_.hard.first + h));
    first_of_series_ = true;
    for (std::int32_t t = 0; t < pod_class_.affinity.count; ++t)
      first_of_series_ = first_of_series_ && state_.counts.totals[read(pod_class_.affinity.first + t).table] == 0;
  }
  /// 0 while there are fewer domains than the constraint wants.
  BERTH_HD std::int64_t global_minimum(const DeviceRead& hard) const {
    const DeviceTable& table = table_of(hard);
    if (table.existing_domains < hard.min_domains) return 0;
    std::int64_t minimum = INT32_MAX;
    for (std::int32_t d = 1 + team_.index(); d <= table.domain_count; d += team_.size())
      if (state_.counts.exists[table.first + d] != 0 && state_.counts.counts[table.first + d] < minimum)
        minimum = state_.counts.counts[table.first + d];
    return team_.reduce(minimum, Minimum());
  }

  BERTH_HD bool passes(std::int32_t cell) const {
    if (!pod_class_.has_topology) return true;
    for (std::int32_t h = 0; h < pod_class_.hard.count; ++h) {
      const DeviceRead& hard = read(pod_class_.hard.first + h);
      if (domain_of(hard, cell) == 0 ||
          PodTopologySpread::exceeds_skew(count_of(hard, cell), hard.self, minima_[h], hard.max_skew))
        return false;
    }
    for (std::int32_t t = 0; t < pod_class_.anti.count; ++t)
      if (holds(read(pod_class_.anti.first + t), cell)) return false;
    for (std::int32_t t = 0; t < pod_class_.existing_anti.count; ++t)
      if (holds(read(pod_class_.existing_anti.first + t), cell)) return false;
    return affinity_accepts(cell);
  }
  BERTH_HD bool affinity_accepts(std::int32_t cell) const {
    if (pod_class_.affinity.count == 0) return true;
    bool every_term_held = true;
    for (std::int32_t t = 0; t < pod_class_.affinity.count; ++t) {
      const DeviceRead& term = read(pod_class_.affinity.first + t);
      if (domain_of(term, cell) == 0) return false;
      every_term_held = every_term_held && count_of(term, cell) > 0;
    }
    return InterPodAffinity::affinity_holds(every_term_held, first_of_series_, pod_class_.matches_itself);
  }

  /// Counts, for every soft constraint, the domains that hold a feasible node that is not ignored (where every node is
  /// a domain of its own, such nodes), and all feasible nodes.
  BERTH_HD std::int64_t weigh_domains() {
    std::int64_t feasible = 0;
    std::int64_t not_ignored = 0;
    for_cells([&](std::int32_t cell) {
      feasible += row_.live_of(cell);
      if (pod_class_.soft.count == 0 || is_ignored(cell)) return;
      not_ignored += row_.live_of(cell);
      for (std::int32_t s = 0; s < pod_class_.soft.count; ++s) {
        const DeviceRead& soft = read(pod_class_.soft.first + s);
        if (!soft.counts_nodes) team_.mark(seen(s, domain_of(soft, cell)), mark_);
      }
    });
    feasible = team_.reduce(feasible, Sum());
    if (pod_class_.soft.count == 0 || feasible == 0) return feasible;
    not_ignored = team_.reduce(not_ignored, Sum());
    for (std::int32_t s = 0; s < pod_class_.soft.count; ++s) {
      const DeviceRead& soft = read(pod_class_.soft.first + s);
      weights_[s] = state_.counts.weight_of_size[soft.counts_nodes ? not_ignored : marked_domains(s, soft)];
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

  BERTH_HD std::int64_t spread_raw(std::int32_t cell) const {
    double cost = 0;
    for (std::int32_t s = 0; s < pod_class_.soft.count; ++s) {
      if (!has_label(s, cell)) continue;
      const DeviceRead& soft = read(pod_class_.soft.first + s);
      cost = PodTopologySpread::add_cost(cost, count_of(soft, cell), weights_[s], soft.max_skew);
    }
    return PodTopologySpread::raw_score(cost);
  }
  BERTH_HD std::int64_t pod_affinity_raw(std::int32_t cell) const {
    std::int64_t raw = 0;
    for (std::int32_t t = 0; t < pod_class_.preferred.count; ++t) {
      const DeviceRead& term = read(pod_class_.preferred.first + t);
      raw += term.multiplier * count_of(term, cell);
    }
    return raw;
  }

  BERTH_HD CellMeasure measure_cells() const {
    CellMeasure measure;
    for_cells([&](std::int32_t cell) {
      const bool spreads = pod_class_.soft.count > 0 && !is_ignored(cell);
      const std::int64_t spread = spreads ? spread_raw(cell) : 0;
      const std::int64_t pods = pod_class_.preferred.count > 0 ? pod_affinity_raw(cell) : 0;
      measure = CombineMeasures()(
          measure, {0, taint_raw(cell), affinity_raw(cell), spreads ? spread : INT64_MAX, spread, pods, pods});
    });
    return measure;
  }

  BERTH_HD std::int64_t normalized_total(std::int32_t cell, const CellMeasure& measure) const {
    std::int64_t total = 0;
    if (profile_.weight_taint_toleration != 0)
      total += profile_.weight_taint_toleration *
               default_normalize(taint_raw(cell), measure.taint_max, TaintToleration::reverse);
    if (pod_class_.scores_affinity)
      total += profile_.weight_node_affinity *
               default_normalize(affinity_raw(cell), measure.affinity_max, NodeAffinityRule::reverse);
    if (pod_class_.soft.count > 0 && !is_ignored(cell))
      total += profile_.weight_spread *
               PodTopologySpread::normalize(spread_raw(cell), measure.spread_min, measure.spread_max);
    if (pod_class_.preferred.count > 0)
      total += profile_.weight_pod_affinity *
               InterPodAffinity::normalize(pod_affinity_raw(cell), measure.pod_affinity_min, measure.pod_affinity_max);
    return total;
  }

  const Team& team_;
  const DeviceState& state_;
  RowView row_;
  const DeviceClass& pod_class_;
  const DeviceProfile& profile_;
  std::int32_t mark_;
  std::int64_t minima_[kDeviceConstraintsMax] = {};  ///< [hard constraint]
  double weights_[kDeviceConstraintsMax] = {};       ///< [soft constraint]
  bool first_of_series_ = false;                     ///< no pod anywhere meets the required affinity
};

}  // namespace berth
