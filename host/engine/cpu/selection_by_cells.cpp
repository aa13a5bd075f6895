// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/selection_by_cells.h"

#include <algorithm>
#include <utility>

#include "batching/node_topology.h"
#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

/// So many of the latest combinations are searched for one that is equal. A second one of the same is no error.
constexpr std::size_t kCombinationsSearched = 16;

}  // namespace

void SelectionByCells::grow(std::size_t slot_count) {
  listed_at_.resize(slot_count);
  domain_weights_.grow(slot_count);
}

// Listed nodes

/// The counts of a listed node, which is listed if it was not.
std::int64_t* SelectionByCells::counts_on(const CellsOfClass& cells, std::int32_t node) {
  const std::size_t tables = cells.reads.counted_tables.size();
  ListedAt& known = listed_at_[static_cast<std::size_t>(node)];
  if (known.selection != selection_) {
    known = {selection_, listed_.size()};
    listed_.push_back({node});
    fine_counts_.resize(listed_.size() * tables, 0);
  }
  return fine_counts_.data() + known.at * tables;
}

/// Lists all nodes that may be feasible, where they are few.
void SelectionByCells::list_only(const IndexQuery& query, const CellsOfClass& cells) {
  const TopologyCounts& counts = query.snapshot->topology();
  for (const std::int32_t node : *query.only) {
    std::int64_t* const of_node = counts_on(cells, node);
    for (std::size_t t = 0; t < cells.reads.counted_tables.size(); ++t)
      of_node[t] = counts.count_at(cells.reads.counted_tables[t], node);
  }
}

/// Lists the nodes for which no cell stands: those in whose domains of keys that are read by count something is
/// counted, and those that are in no tree. @return false: they are too many
bool SelectionByCells::list_counted(const IndexQuery& query, const CellsOfClass& cells) {
  for (const std::int32_t node : query.index->odd_nodes()) counts_on(cells, node);
  const TopologyCounts& counts = query.snapshot->topology();
  for (std::size_t t = 0; t < cells.reads.counted_tables.size(); ++t) {
    const std::int32_t table = cells.reads.counted_tables[t];
    const DomainColumn& column = counts.column(counts.column_of(table));
    counts.for_each_count(table, [&](std::int32_t domain, std::int64_t count) {
      if (listed_.size() > tuning_.index_listed_max) return;
      const auto first = static_cast<std::size_t>(column.first_of_domain[static_cast<std::size_t>(domain)]);
      const auto end = static_cast<std::size_t>(column.first_of_domain[static_cast<std::size_t>(domain) + 1]);
      for (std::size_t i = first; i < end; ++i) {
        const std::int32_t node = column.nodes_by_domain[i];
        query.index->prefetch(node);
        __builtin_prefetch(&query.row->total_of[static_cast<std::size_t>(node)]);
        counts_on(cells, node)[t] = count;
      }
    });
    if (listed_.size() > tuning_.index_listed_max) return false;
  }
  return true;
}

void SelectionByCells::read_coarse_counts(const IndexQuery& query, const CellsOfClass& cells) {
  const TopologyCounts& counts = query.snapshot->topology();
  coarse_counts_.resize(std::max(coarse_counts_.size(), cells.coarse_tables.size()));
  for (std::size_t t = 0; t < cells.coarse_tables.size(); ++t) {
    const std::int32_t table = cells.coarse_tables[t];
    std::vector<std::int64_t>& of_table = coarse_counts_[t];
    of_table.assign(static_cast<std::size_t>(counts.domain_count(counts.column_of(table))) + 1, 0);
    counts.for_each_count(
        table, [&](std::int32_t domain, std::int64_t count) { of_table[static_cast<std::size_t>(domain)] = count; });
  }
}

CellTopology SelectionByCells::topology_of(const CellsNow& now, const Combination& combination) const {
  return {now, now.of_class.on_groups->cells[static_cast<std::size_t>(combination.cell)], combination.live,
          fine_counts_.data() + combination.counts_at};
}

CellTopology SelectionByCells::cell_topology(const CellsNow& now, std::size_t cell) const {
  return {now, now.of_class.on_groups->cells[cell], states_[cell].live, nullptr};
}

/// @param counts_at  of a node of the cell, in fine_counts_
std::int32_t SelectionByCells::combination_of(const CellsNow& now, std::int32_t cell, std::size_t counts_at) {
  const auto tables = static_cast<std::ptrdiff_t>(now.of_class.reads.counted_tables.size());
  const auto counts = fine_counts_.cbegin() + static_cast<std::ptrdiff_t>(counts_at);
  const std::size_t first = combinations_.size() - std::min(combinations_.size(), kCombinationsSearched);
  for (std::size_t c = combinations_.size(); c-- > first;) {
    const Combination& known = combinations_[c];
    if (known.cell == cell &&
        std::equal(counts, counts + tables, fine_counts_.cbegin() + static_cast<std::ptrdiff_t>(known.counts_at)))
      return static_cast<std::int32_t>(c);
  }
  Combination& added = combinations_.emplace_back();
  added.cell = cell;
  added.counts_at = counts_at;
  added.accepts = !now.of_class.program->filters() || topology_accepts(topology_of(now, added));
  return static_cast<std::int32_t>(combinations_.size()) - 1;
}

void SelectionByCells::filter_listed(const IndexQuery& query, const CellsNow& now) {
  const std::size_t tables = now.of_class.reads.counted_tables.size();
  const std::vector<std::int32_t>& cell_of = now.of_class.on_groups->cell_of;
  combinations_.clear();
  evaluations_ += static_cast<std::int64_t>(listed_.size());
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    Listed& listed = listed_[i];
    const auto group = static_cast<std::size_t>(group_of(query, listed.node));
    const std::int32_t cell = cell_of[group];
    if (cell < 0) continue;
    if (query.index->is_odd(listed.node)) {
      if (!query.fits(listed.node)) continue;
    } else {
      if (!query.index->fits(query.on_loads, listed.node)) continue;
      if (is_counted(query, group, listed.node)) ++states_[static_cast<std::size_t>(cell)].not_counted;
      if (query.side_total(listed.node) < 0 || query.refuses_other_loads(listed.node) ||
          query.refused->contains(listed.node))
        continue;
    }
    const std::int32_t combination = combination_of(now, cell, i * tables);
    Combination& found = combinations_[static_cast<std::size_t>(combination)];
    if (!found.accepts) continue;
    listed.combination = combination;
    ++found.live;
  }
}

// Cells

/// The index counts the node if its load accepts.
bool SelectionByCells::is_counted(const IndexQuery& query, std::size_t group, std::int32_t node) const {
  return query.side->base[group] >= 0 && (query.side->is_mixed[group] == 0 || query.side_total(node) >= 0);
}

/// Notes a node that is refused and not listed, if it is among those that the index counts.
void SelectionByCells::note_if_counted(const IndexQuery& query, const CellsOfClass& cells, std::int32_t node) {
  const auto group = static_cast<std::size_t>(group_of(query, node));
  const std::int32_t cell = cells.on_groups->cell_of[group];
  if (cell >= 0 && is_counted(query, group, node) && query.index->fits(query.on_loads, node))
    ++states_[static_cast<std::size_t>(cell)].not_counted;
}

/// Notes the refused nodes that are not listed, each once.
void SelectionByCells::leave_out(const IndexQuery& query, const CellsOfClass& cells) {
  for (const std::int32_t node : query.refused->members())
    if (group_of(query, node) >= 0 && !is_listed(node)) note_if_counted(query, cells, node);
  for (const std::int32_t node : query.side->refused)
    if (!is_listed(node) && !query.refused->contains(node)) note_if_counted(query, cells, node);
  for (const std::int32_t node : query.refusing_other_loads)
    if (query.side_total(node) >= 0 && !is_listed(node) && !query.refused->contains(node))
      note_if_counted(query, cells, node);
}

/// How many nodes are feasible matters where one of them counts for a constraint that is weighed by it.
bool SelectionByCells::needs_node_count(const CellsOfClass& cells) const {
  return std::any_of(cells.program->soft.begin(), cells.program->soft.end(),
                     [](const SoftSpread& soft) { return soft.counts_nodes; }) &&
         std::any_of(combinations_.begin(), combinations_.end(), [](const Combination& c) { return c.live > 0; });
}

void SelectionByCells::filter_cells(const IndexQuery& query, const CellsNow& now) {
  const bool counts_all = needs_node_count(now.of_class);
  const CellsOnGroups& on_groups = *now.of_class.on_groups;
  for (std::size_t cell = 0; cell < states_.size(); ++cell)
    states_[cell].live = topology_accepts(cell_topology(now, cell)) ? -states_[cell].not_counted : INT64_MIN;
  for (std::size_t g = 0; g < on_groups.cell_of.size(); ++g) {
    if (on_groups.cell_of[g] < 0 || query.side->base[g] < 0) continue;
    CellState& state = states_[static_cast<std::size_t>(on_groups.cell_of[g])];
    if (state.live == INT64_MIN || (state.live >= 2 && !counts_all)) continue;
    const std::int64_t enough = counts_all ? INT64_MAX : 2 - state.live;
    const auto group = static_cast<std::int32_t>(g);
    const bool is_mixed = query.side->is_mixed[g] != 0;
    state.live += query.index->count_fitting(query.on_loads, group, enough,
                                             is_mixed ? query.row->total_of : std::span<const std::int32_t>());
  }
  for (CellState& state : states_) state.live = std::max<std::int64_t>(state.live, 0);
}

// Scores

/// The node is feasible and not ignored. Call after filter_cells().
bool SelectionByCells::is_feasible(const IndexQuery& query, const CellsNow& now, std::int32_t node) const {
  if (group_of(query, node) < 0) return false;
  const std::int32_t cell = cell_of(query, now.of_class, node);
  if (cell < 0 || now.of_class.on_groups->cells[static_cast<std::size_t>(cell)].ignored) return false;
  if (is_listed(node)) return listed_[listed_at_[static_cast<std::size_t>(node)].at].combination >= 0;
  return states_[static_cast<std::size_t>(cell)].live > 0 && query.fits(node);
}

/// Domains of a soft constraint that is read by count with a feasible node that is not ignored.
std::int64_t SelectionByCells::feasible_domains(const IndexQuery& query, const CellsNow& now, std::int32_t soft) {
  const TopologyCounts& counts = query.snapshot->topology();
  const std::int32_t c = counts.column_of(now.of_class.program->soft[static_cast<std::size_t>(soft)].table);
  const DomainColumn& column = counts.column(c);
  if (witnesses_.size() <= static_cast<std::size_t>(c)) witnesses_.resize(static_cast<std::size_t>(c) + 1);
  std::vector<std::int32_t>& witnesses = witnesses_[static_cast<std::size_t>(c)];
  const auto domains = static_cast<std::size_t>(column.domain_count) + 1;
  witnesses.resize(domains, -1);
  std::int64_t count = 0;
  for (std::size_t domain = 0; domain < domains; ++domain) {
    std::int32_t& witness = witnesses[domain];
    const auto lies_here = [&](std::int32_t node) {
      return node >= 0 && node < query.snapshot->slot_count() && static_cast<std::size_t>(column[node]) == domain;
    };
    if (lies_here(witness) && is_feasible(query, now, witness)) {
      ++count;
      continue;
    }
    const auto first = column.nodes_by_domain.begin() + column.first_of_domain[domain];
    const auto end = column.nodes_by_domain.begin() + column.first_of_domain[domain + 1];
    const auto found = std::find_if(first, end, [&](std::int32_t node) { return is_feasible(query, now, node); });
    if (found == end) continue;
    witness = *found;
    ++count;
  }
  return count;
}

/// Weighs each soft constraint by the number of its domains with a feasible node that is not ignored.
void SelectionByCells::weigh_domains(const IndexQuery& query, const CellsNow& now) {
  const std::vector<SoftSpread>& soft = now.of_class.program->soft;
  if (soft.empty()) return;
  domain_counts_.assign(soft.size(), 0);
  found_at_.resize(std::max(found_at_.size(), soft.size()));
  for (std::size_t s = 0; s < soft.size(); ++s) {
    const auto size = static_cast<std::size_t>(now.counts.domain_count(now.counts.column_of(soft[s].table))) + 1;
    if (!soft[s].counts_nodes && found_at_[s].size() < size) found_at_[s].resize(size, 0);
  }
  const auto mark = [&](std::int32_t s, std::int32_t domain) {
    if (domain < 0) return;
    std::uint64_t& found = found_at_[static_cast<std::size_t>(s)][static_cast<std::size_t>(domain)];
    domain_counts_[static_cast<std::size_t>(s)] += std::exchange(found, selection_) != selection_ ? 1 : 0;
  };
  std::int64_t nodes = 0;
  for (std::size_t cell = 0; cell < states_.size(); ++cell)
    if (states_[cell].live > 0) nodes += mark_soft_domains(cell_topology(now, cell), mark);
  for (const Combination& combination : combinations_)
    if (combination.live > 0) nodes += mark_soft_domains(topology_of(now, combination), mark);
  for (const std::int32_t s : now.of_class.soft_by_count)
    domain_counts_[static_cast<std::size_t>(s)] = feasible_domains(query, now, s);
  weights_.resize(soft.size());
  for (std::size_t s = 0; s < soft.size(); ++s)
    weights_[s] = domain_weights_.of(static_cast<std::size_t>(soft[s].counts_nodes ? nodes : domain_counts_[s]));
}

std::int64_t SelectionByCells::total_of_raw(const IndexQuery& query, const RawTopologyScores& raw) const {
  return topology_total(raw, ranges_, query.profile->weight<PodTopologySpread>(),
                        query.profile->weight<InterPodAffinity>());
}

/// Normalises the topology scores of cells and listed nodes.
void SelectionByCells::score(const IndexQuery& query, const CellsNow& now) {
  weigh_domains(query, now);
  ranges_ = {};
  for (std::size_t cell = 0; cell < states_.size(); ++cell) {
    if (states_[cell].live == 0) continue;
    states_[cell].raw = raw_topology_scores(cell_topology(now, cell), weights_.data());
    ranges_.add(states_[cell].raw);
  }
  for (Combination& combination : combinations_) {
    if (combination.live == 0) continue;
    combination.raw = raw_topology_scores(topology_of(now, combination), weights_.data());
    ranges_.add(combination.raw);
  }
  for (CellState& state : states_)
    if (state.live > 0) state.total = static_cast<std::int32_t>(total_of_raw(query, state.raw));
  for (Combination& combination : combinations_)
    if (combination.live > 0) combination.total = total_of_raw(query, combination.raw);
}

// The best node

/// @return false: too many nodes refuse
bool SelectionByCells::add_unlisted(const IndexQuery& query, const CellsOfClass& cells, LoadSearch& search,
                                    BestNode& best) {
  const SideOnGroups& side = *query.side;
  for (std::size_t group = 0; group < base_.size(); ++group) {
    const std::int32_t cell = cells.on_groups->cell_of[group];
    beside_side_[group] = cell < 0 ? -1 : states_[static_cast<std::size_t>(cell)].total;
    base_[group] = beside_side_[group] < 0 || side.base[group] < 0 ? -1 : side.base[group] + beside_side_[group];
  }
  ListedByBound above(query, search, best);
  for (const std::int32_t node : side.above) {
    const std::int32_t topology = beside_side_[static_cast<std::size_t>(group_of(query, node))];
    if (topology >= 0 && !is_listed(node) && query.fits(node)) above.add(node, topology);
  }
  above.finish();
  for (std::size_t refused = 0;;) {
    const LoadSearch::Candidate candidate = search.next(best.key);
    if (candidate.node < 0) return true;
    ++evaluations_;
    if (is_listed(candidate.node)) continue;
    if (query.side_total(candidate.node) < 0 || query.refuses_other_loads(candidate.node)) {
      if (++refused > tuning_.index_refused_max) return false;
      continue;
    }
    const std::int32_t topology = beside_side_[static_cast<std::size_t>(candidate.group)];
    best.add(query.key_on(candidate.node, topology), candidate.node, query.snapshot->node_order());
  }
}

void SelectionByCells::add_listed(const IndexQuery& query, LoadSearch& search, BestNode& best) {
  const std::int64_t load_max =
      std::int64_t{kMaxNodeScore} *
      (query.profile->weight<NodeResourcesFit>() + query.profile->weight<NodeResourcesBalancedAllocation>());
  ListedByBound by_bound(query, search, best);
  for (const Listed& listed : listed_) {
    if (listed.combination < 0) continue;
    const std::int64_t topology = combinations_[static_cast<std::size_t>(listed.combination)].total;
    if (load_max + query.side_total(listed.node) + topology >= total_of(best.key)) by_bound.add(listed.node, topology);
  }
  by_bound.finish();
}

std::optional<Selection> SelectionByCells::select(const IndexQuery& query, const CellsOfClass& cells,
                                                  LoadSearch& search) {
  ++selection_;
  listed_.clear();
  fine_counts_.clear();
  states_.assign(cells.on_groups->cells.size(), {});
  if (query.only != nullptr) {
    list_only(query, cells);
  } else if (!list_counted(query, cells)) {
    failure_ = Failure::kManyListed;
    return std::nullopt;
  }
  const TopologyCounts& counts = query.snapshot->topology();
  minima_.clear();
  for (const HardSpread& hard : cells.program->hard) minima_.push_back(global_minimum(hard, counts));
  read_coarse_counts(query, cells);
  const CellsNow now{cells, counts, coarse_counts_, minima_, no_pod_matches_affinity(*cells.program, counts)};
  filter_listed(query, now);
  if (query.only == nullptr) {
    leave_out(query, cells);
    filter_cells(query, now);
  }
  score(query, now);
  base_.resize(cells.on_groups->cell_of.size());
  beside_side_.resize(base_.size());
  search.begin(*query.index, query.on_loads, {base_, query.side->differs, query.row->total_of, beside_side_},
               *query.refused);
  BestNode best;
  if (query.only == nullptr && !add_unlisted(query, cells, search, best)) {
    failure_ = Failure::kManyRefused;
    return std::nullopt;
  }
  add_listed(query, search, best);
  std::int64_t feasible = 0;
  for (const CellState& state : states_) feasible += state.live;
  for (const Combination& combination : combinations_) feasible += combination.live;
  return Selection{feasible, best.node, total_of(best.key)};
}

std::uint64_t SelectionByCells::bytes() const {
  std::uint64_t bytes = heap_bytes(listed_, fine_counts_, listed_at_, combinations_, states_, base_, beside_side_);
  for (const std::vector<std::uint64_t>& found : found_at_) bytes += heap_bytes(found);
  for (const std::vector<std::int32_t>& witnesses : witnesses_) bytes += heap_bytes(witnesses);
  return bytes;
}

}  // namespace berth
