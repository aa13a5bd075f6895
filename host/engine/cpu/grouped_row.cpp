// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/grouped_row.h"

#include <algorithm>
#include <map>

#include "batching/topology_judge.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/normalize.h"
#include "plugins/pod_topology_spread/rule.h"

namespace berth {
namespace {

/// Heap order: the best key in front, the lower node among equal keys.
struct Worse {
  template <class Entry>
  bool operator()(const Entry& a, const Entry& b) const {
    return a.key != b.key ? a.key < b.key : a.node > b.node;
  }
};

/// A heap is sifted anew when so many of its entries are of nodes that have moved on.
constexpr std::size_t kStaleFactor = 2;
constexpr std::size_t kStaleSpare = 64;
/// Catching up with more changes than this share of the nodes is dearer than one look at every node.
constexpr std::size_t kReassignShare = 12;
/// What a row comes to: its groups' heaps, twice as long as their live nodes at most, and two columns.
constexpr std::uint64_t kBytesPerNode = 2 * 16 + 4 + 1;

std::uint64_t hash_of(std::int32_t cell, const std::vector<std::int64_t>& counts) {
  std::uint64_t hash = static_cast<std::uint64_t>(cell) + 1;
  for (const std::int64_t count : counts) hash = (hash ^ static_cast<std::uint64_t>(count)) * 0x9e3779b97f4a7c15u;
  return hash;
}

/// Tells the few nodes where some table counts something from the many where none does.
class NodesWithCounts {
 public:
  NodesWithCounts(const TopologyCounts& counts, const std::vector<std::int32_t>& tables) {
    for (const std::int32_t table : tables)
      if (counts.total(table) != 0)
        columns_.push_back({counts.column(counts.column_of(table)).domain_of.data(), &counts.pages(table)});
  }
  bool contains(std::int32_t node) const {
    for (const Column& column : columns_) {
      const std::int32_t domain = column.domain_of[node];
      if (column.counts->read(static_cast<std::size_t>(domain >> kPageNodesLog2))[domain & (kPageNodes - 1)] != 0)
        return true;
    }
    return false;
  }

 private:
  struct Column {
    const std::int32_t* domain_of;
    const Pages<std::int64_t>* counts;
  };
  std::vector<Column> columns_;
};

NodeCells make_cells(const CellColumns& columns, const NodeSideRow& node_side, const CompiledProfile& profile,
                     const Snapshot& snapshot) {
  const TopologyCounts& counts = snapshot.topology();
  const std::size_t soft_count = columns.soft_labels.size();
  const std::uint64_t all_labels = soft_count == 0 ? 0 : ~std::uint64_t{0} >> (64 - soft_count);
  NodeCells made;
  made.cell_of.assign(static_cast<std::size_t>(snapshot.node_count()), -1);
  std::map<std::vector<std::int64_t>, std::int32_t> known;
  std::vector<std::int64_t> key;
  for (std::int32_t i = 0; i < snapshot.node_count(); ++i) {
    const auto lacks = [&](std::int32_t column) { return counts.column(column)[i] == 0; };
    if (node_side.refusal(i) != NodeSideRow::kAccepted ||
        std::any_of(columns.required.begin(), columns.required.end(), lacks))
      continue;
    NodeCells::Cell cell;
    for (std::size_t s = 0; s < soft_count; ++s)
      if (!lacks(columns.soft_labels[s])) cell.soft_labels |= std::uint64_t{1} << s;
    cell.ignored = columns.ignores_incomplete && cell.soft_labels != all_labels;
    cell.taint_raw = profile.weight_taint_toleration != 0 ? node_side.taint_raw(snapshot, i) : 0;
    cell.affinity_raw = node_side.affinity(i);
    key.assign({static_cast<std::int64_t>(cell.soft_labels), cell.taint_raw, cell.affinity_raw});
    for (const std::int32_t column : columns.coarse) key.push_back(counts.column(column)[i]);
    const auto [at, is_new] = known.try_emplace(key, static_cast<std::int32_t>(made.cells.size()));
    if (is_new) {
      cell.domains.assign(key.begin() + 3, key.end());
      made.cells.push_back(std::move(cell));
    }
    made.cell_of[static_cast<std::size_t>(i)] = at->second;
  }
  return made;
}

}  // namespace

// What is static

GroupedRow::GroupedRow(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& node_side,
                       const Snapshot& snapshot, std::int32_t coarse_domains_max, const DomainWeights& weights)
    : program_(pod_class.topology),
      profile_(profile),
      scores_affinity_(node_side.scores_affinity),
      domain_weights_(weights) {
  choose_columns(snapshot.topology(), coarse_domains_max);
  minima_.resize(program_->hard.size());
  weights_.resize(program_->soft.size());
  const TopologyCounts& counts = snapshot.topology();
  for (const SoftSpread& soft : program_->soft) {
    const std::int32_t domains = counts.column(counts.column_of(soft.table)).domain_count;
    seen_at_.emplace_back(soft.counts_nodes ? 0u : static_cast<std::size_t>(domains) + 1);
  }
}

void GroupedRow::choose_columns(const TopologyCounts& counts, std::int32_t coarse_domains_max) {
  const auto add_coarse = [&](std::int32_t column) {
    if (std::find(columns_.coarse.begin(), columns_.coarse.end(), column) == columns_.coarse.end())
      columns_.coarse.push_back(column);
  };
  // How many domains hold a feasible node is asked of the soft keys, so these are told apart by domain.
  for (const SoftSpread& soft : program_->soft)
    if (!soft.counts_nodes) add_coarse(counts.column_of(soft.table));
  const auto add_small = [&](std::int32_t table) {
    if (counts.column(counts.column_of(table)).domain_count <= coarse_domains_max) add_coarse(counts.column_of(table));
  };
  for (const HardSpread& hard : program_->hard) add_small(hard.table);
  for (const std::int32_t table : program_->affinity) add_small(table);
  for (const OwnAntiTerm& anti : program_->anti) add_small(anti.table);
  for (const std::int32_t table : program_->existing_anti) add_small(table);
  for (const ScoredTable& score : program_->scores) add_small(score.table);

  for (const HardSpread& hard : program_->hard) hard_.push_back(read_of(hard.table, counts));
  for (const SoftSpread& soft : program_->soft) soft_.push_back(read_of(soft.table, counts));
  for (const std::int32_t table : program_->affinity) affinity_.push_back(read_of(table, counts));
  for (const OwnAntiTerm& anti : program_->anti) anti_.push_back(read_of(anti.table, counts));
  for (const std::int32_t table : program_->existing_anti) existing_anti_.push_back(read_of(table, counts));
  for (const ScoredTable& score : program_->scores) scores_.push_back(read_of(score.table, counts));
  number_counts();

  for (const HardSpread& hard : program_->hard) columns_.required.push_back(counts.column_of(hard.table));
  for (const std::int32_t table : program_->affinity) columns_.required.push_back(counts.column_of(table));
  for (const SoftSpread& soft : program_->soft) columns_.soft_labels.push_back(soft.label_column);
  columns_.ignores_incomplete = program_->ignores_incomplete;
}

void GroupedRow::set_cells(std::shared_ptr<const NodeCells> cells) { cells_ = std::move(cells); }

void GroupedRow::number_counts() {
  std::size_t next = 0;
  for (std::vector<Read>* reads : {&hard_, &soft_})
    for (Read& read : *reads)
      if (read.coarse < 0) read.count_index = next++;
  const auto by_count = [](const Read& read) { return read.coarse < 0; };
  if (std::any_of(affinity_.begin(), affinity_.end(), by_count)) affinity_index_ = next++;
  if (std::any_of(scores_.begin(), scores_.end(), by_count)) score_index_ = next++;
}

GroupedRow::Read GroupedRow::read_of(std::int32_t table, const TopologyCounts& counts) {
  const std::int32_t column = counts.column_of(table);
  const auto at = std::find(columns_.coarse.begin(), columns_.coarse.end(), column);
  if (at != columns_.coarse.end()) return {table, static_cast<std::int32_t>(at - columns_.coarse.begin()), 0};
  by_count_ = true;
  if (std::find(counted_tables_.begin(), counted_tables_.end(), table) == counted_tables_.end())
    counted_tables_.push_back(table);
  if (!counts.column(column).one_node_each &&
      std::find(mate_columns_.begin(), mate_columns_.end(), column) == mate_columns_.end())
    mate_columns_.push_back(column);
  return {table, -1, 0};
}

// Which group a node lies in

bool GroupedRow::counts_of_node(const TopologyCounts& counts, std::int32_t node, std::vector<std::int64_t>& out) const {
  out.clear();
  const auto held = [&](const Read& read) { return read.coarse < 0 && counts.count_at(read.table, node) > 0; };
  if (std::any_of(anti_.begin(), anti_.end(), held) || std::any_of(existing_anti_.begin(), existing_anti_.end(), held))
    return false;
  for (const std::vector<Read>* reads : {&hard_, &soft_})
    for (const Read& read : *reads)
      if (read.coarse < 0) out.push_back(counts.count_at(read.table, node));
  if (affinity_index_ != kNone)
    out.push_back(std::all_of(affinity_.begin(), affinity_.end(),
                              [&](const Read& read) { return read.coarse >= 0 || held(read); })
                      ? 1
                      : 0);
  if (score_index_ == kNone) return true;
  std::int64_t score = 0;
  for (std::size_t s = 0; s < scores_.size(); ++s)
    if (scores_[s].coarse < 0) score += program_->scores[s].multiplier * counts.count_at(scores_[s].table, node);
  out.push_back(score);
  return true;
}

std::int32_t GroupedRow::add_group(std::int32_t cell) {
  groups_.emplace_back().cell = cell;
  return static_cast<std::int32_t>(groups_.size()) - 1;
}

std::int32_t GroupedRow::find_group(const TopologyCounts& counts, std::int32_t node) {
  const std::int32_t cell = cells_->cell_of[static_cast<std::size_t>(node)];
  if (cell < 0) return -1;
  if (!by_count_) {
    std::int32_t& group = group_of_cell_[static_cast<std::size_t>(cell)];
    if (group < 0) group = add_group(cell);
    return group;
  }
  if (!counts_of_node(counts, node, scratch_)) return -1;
  const auto [at, is_new] = group_of_hash_.try_emplace(hash_of(cell, scratch_), -1);
  for (std::int32_t g = at->second; g >= 0; g = groups_[static_cast<std::size_t>(g)].next_alike) {
    const Group& group = groups_[static_cast<std::size_t>(g)];
    if (group.cell == cell && group.counts == scratch_) return g;
  }
  const std::int32_t added = add_group(cell);
  groups_.back().counts = scratch_;
  groups_.back().next_alike = at->second;
  at->second = added;
  return added;
}

void GroupedRow::set_live(std::int32_t node, bool live) {
  std::uint8_t& now = live_[static_cast<std::size_t>(node)];
  if ((now != 0) == live) return;
  now = live ? 1 : 0;
  const std::int32_t index = group_of_[static_cast<std::size_t>(node)];
  Group& group = groups_[static_cast<std::size_t>(index)];
  group.live += live ? 1 : -1;
  if (live && group.live == 1) {
    group.active_at = static_cast<std::int32_t>(active_.size());
    active_.push_back(index);
  } else if (group.live == 0) {
    const std::int32_t last = active_.back();
    groups_[static_cast<std::size_t>(last)].active_at = group.active_at;
    active_[static_cast<std::size_t>(group.active_at)] = last;
    active_.pop_back();
    group.active_at = -1;
    group.heap.clear();
  }
}

bool GroupedRow::is_current(const Entry& entry, std::int32_t group, const RowTile& tile, int slot) const {
  return group_of_[static_cast<std::size_t>(entry.node)] == group && tile.key(slot, entry.node) == entry.key;
}

void GroupedRow::push(std::int32_t index, Entry entry, const RowTile& tile, int slot) {
  Group& group = groups_[static_cast<std::size_t>(index)];
  std::vector<Entry>& heap = group.heap;
  heap.push_back(entry);
  if (heap.size() <= kStaleFactor * static_cast<std::size_t>(group.live) + kStaleSpare) {
    std::push_heap(heap.begin(), heap.end(), Worse());
    return;
  }
  std::erase_if(heap, [&](const Entry& e) { return !is_current(e, index, tile, slot); });
  std::make_heap(heap.begin(), heap.end(), Worse());
}

void GroupedRow::assign(const RowTile& tile, int slot, std::int32_t node) {
  const std::int32_t group = group_of_[static_cast<std::size_t>(node)];
  if (group < 0) return;
  const NodeKey key = tile.key(slot, node);
  set_live(node, key > 0);
  if (key > 0) push(group, {key, node}, tile, slot);
}

void GroupedRow::regroup(const RowTile& tile, int slot, const TopologyCounts& counts, std::int32_t node) {
  const std::int32_t group = find_group(counts, node);
  std::int32_t& now = group_of_[static_cast<std::size_t>(node)];
  if (group != now) {
    if (now >= 0) set_live(node, false);
    now = group;
  }
  assign(tile, slot, node);
}

void GroupedRow::regroup_with_mates(const RowTile& tile, int slot, const TopologyCounts& counts, std::int32_t node) {
  regroup(tile, slot, counts, node);
  for (const std::int32_t c : mate_columns_) {
    const DomainColumn& column = counts.column(c);
    const auto domain = static_cast<std::size_t>(column[node]);
    if (domain == 0) continue;
    for (std::int32_t i = column.first_of_domain[domain]; i < column.first_of_domain[domain + 1]; ++i)
      regroup(tile, slot, counts, column.nodes_by_domain[static_cast<std::size_t>(i)]);
  }
}

void GroupedRow::begin_anew() {
  groups_.clear();
  active_.clear();
  group_of_hash_.clear();
  group_of_cell_.assign(cells_->cells.size(), -1);
}

/// find_group() of a node where every count is 0, as is the case for most.
std::int32_t GroupedRow::group_without_counts(const TopologyCounts& counts, std::int32_t node) {
  const std::int32_t cell = cells_->cell_of[static_cast<std::size_t>(node)];
  if (cell < 0) return -1;
  std::int32_t& group = group_of_cell_[static_cast<std::size_t>(cell)];
  if (group < 0) group = by_count_ ? find_group(counts, node) : add_group(cell);
  return group;
}

/// For a class that is asked seldom: one pass, and no heap that would be out of date before it is looked at again.
void GroupedRow::assign_flat(const RowTile& tile, int slot, const TopologyCounts& counts) {
  begin_anew();
  const NodesWithCounts counted(counts, counted_tables_);
  const auto node_count = static_cast<std::int32_t>(cells_->cell_of.size());
  for (std::int32_t i = 0; i < node_count; ++i) {
    const Entry entry{tile.key(slot, i), i};
    if (entry.key <= 0) continue;
    const std::int32_t index = counted.contains(i) ? find_group(counts, i) : group_without_counts(counts, i);
    if (index < 0) continue;
    Group& group = groups_[static_cast<std::size_t>(index)];
    if (group.live++ == 0) {
      group.active_at = static_cast<std::int32_t>(active_.size());
      active_.push_back(index);
      group.best = entry;
    } else if (entry.key > group.best.key) {
      group.best = entry;
    }
  }
}

void GroupedRow::assign_all(const RowTile& tile, int slot, const TopologyCounts& counts) {
  begin_anew();
  const NodesWithCounts counted(counts, counted_tables_);
  group_of_.resize(cells_->cell_of.size());
  live_.assign(cells_->cell_of.size(), 0);
  for (std::size_t i = 0; i < group_of_.size(); ++i) {
    const auto node = static_cast<std::int32_t>(i);
    const std::int32_t group = group_of_[i] =
        counted.contains(node) ? find_group(counts, node) : group_without_counts(counts, node);
    const NodeKey key = group < 0 ? 0 : tile.key(slot, node);
    if (key <= 0) continue;
    set_live(node, true);
    groups_[static_cast<std::size_t>(group)].heap.push_back({key, node});
  }
  for (Group& group : groups_) std::make_heap(group.heap.begin(), group.heap.end(), Worse());
}

bool GroupedRow::moves_groups(const LogEntry& entry, const ClassTable& table) {
  if (!by_count_) return false;
  // From outside, or undone: tables that are younger than the class may have moved with it.
  if (entry.sign <= 0) return true;
  const std::int32_t pod_class = entry.pod_class;
  if (moved_by_.size() <= static_cast<std::size_t>(pod_class)) moved_by_.resize(static_cast<std::size_t>(table.size()));
  Moves& known = moved_by_[static_cast<std::size_t>(pod_class)];
  if (known == Moves::kUnknown) {
    known = Moves::kNo;
    for (const std::vector<Read>* reads : {&hard_, &soft_, &affinity_, &anti_, &existing_anti_, &scores_})
      for (const Read& read : *reads)
        for (const CountMove& move : table[pod_class].moves)
          if (read.coarse < 0 && read.table == move.table) known = Moves::kYes;
  }
  return known == Moves::kYes;
}

void GroupedRow::catch_up(const RowTile& tile, int slot, const ClassTable& table, const TopologyCounts& counts,
                          const CommitLog& log) {
  const bool seldom =
      position_ == UINT64_MAX || log.position() - position_ > cells_->cell_of.size() / kReassignShare + 1;
  if (seldom) {
    assign_flat(tile, slot, counts);
  } else if (flat_ && log.position() != position_) {
    assign_all(tile, slot, counts);
  } else {
    for (const LogEntry& entry : log.since(position_)) {
      if (moves_groups(entry, table)) {
        regroup_with_mates(tile, slot, counts, entry.node);
      } else {
        assign(tile, slot, entry.node);
      }
    }
  }
  flat_ = seldom || (flat_ && log.position() == position_);
  position_ = log.position();
}

// Selection

std::int64_t GroupedRow::count_in(const Read& read, const Group& group, const TopologyCounts& counts) const {
  if (read.coarse < 0) return group.counts[read.count_index];
  const NodeCells::Cell& cell = cell_of(group);
  return counts.count(read.table, cell.domains[static_cast<std::size_t>(read.coarse)]);
}

bool GroupedRow::passes(const Group& group, const TopologyCounts& counts) const {
  for (std::size_t h = 0; h < hard_.size(); ++h) {
    const HardSpread& hard = program_->hard[h];
    if (PodTopologySpread::exceeds_skew(count_in(hard_[h], group, counts), hard.self, minima_[h], hard.max_skew))
      return false;
  }
  const auto held = [&](const Read& read) { return read.coarse >= 0 && count_in(read, group, counts) > 0; };
  if (std::any_of(anti_.begin(), anti_.end(), held) || std::any_of(existing_anti_.begin(), existing_anti_.end(), held))
    return false;
  if (affinity_.empty()) return true;
  bool every_term_held = affinity_index_ == kNone || group.counts[affinity_index_] != 0;
  for (const Read& read : affinity_) every_term_held = every_term_held && (read.coarse < 0 || held(read));
  return InterPodAffinity::affinity_holds(every_term_held, first_of_series_, program_->matches_itself);
}

std::int64_t GroupedRow::mark_passing(const TopologyCounts& counts) {
  for (std::size_t h = 0; h < hard_.size(); ++h) minima_[h] = global_minimum(program_->hard[h], counts);
  first_of_series_ = nothing_meets_affinity(*program_, counts);
  std::int64_t feasible_count = 0;
  for (const std::int32_t g : active_) {
    Group& group = groups_[static_cast<std::size_t>(g)];
    group.passes = passes(group, counts);
    if (group.passes) feasible_count += group.live;
  }
  return feasible_count;
}

void GroupedRow::weigh_domains(std::int64_t feasible_count) {
  ++selection_;
  for (std::size_t s = 0; s < soft_.size(); ++s) {
    std::int64_t domains = program_->soft[s].counts_nodes ? feasible_count : 0;
    for (const std::int32_t g : active_) {
      const Group& group = groups_[static_cast<std::size_t>(g)];
      if (!group.passes) continue;
      const NodeCells::Cell& cell = cell_of(group);
      if (program_->soft[s].counts_nodes) {
        domains -= cell.ignored ? group.live : 0;
      } else if (!cell.ignored) {
        const auto domain = static_cast<std::size_t>(cell.domains[static_cast<std::size_t>(soft_[s].coarse)]);
        domains += seen_at_[s][domain] != selection_ ? 1 : 0;
        seen_at_[s][domain] = selection_;
      }
    }
    weights_[s] = domain_weights_.of(static_cast<std::size_t>(domains));
  }
}

std::int64_t GroupedRow::spread_raw(const Group& group, const TopologyCounts& counts) const {
  const NodeCells::Cell& cell = cell_of(group);
  if (cell.ignored) return 0;
  double cost = 0;
  for (std::size_t s = 0; s < soft_.size(); ++s)
    if ((cell.soft_labels >> s & 1u) != 0)
      cost =
          PodTopologySpread::add_cost(cost, count_in(soft_[s], group, counts), weights_[s], program_->soft[s].max_skew);
  return PodTopologySpread::raw_score(cost);
}

std::int64_t GroupedRow::pod_affinity_raw(const Group& group, const TopologyCounts& counts) const {
  std::int64_t raw = score_index_ == kNone ? 0 : group.counts[score_index_];
  for (std::size_t s = 0; s < scores_.size(); ++s)
    if (scores_[s].coarse >= 0) raw += program_->scores[s].multiplier * count_in(scores_[s], group, counts);
  return raw;
}

void GroupedRow::measure(const TopologyCounts& counts) {
  spread_range_ = {};
  spread_range_.max = 0;
  pod_affinity_range_ = {};
  maxima_ = {};
  for (const std::int32_t g : active_) {
    Group& group = groups_[static_cast<std::size_t>(g)];
    if (!group.passes) continue;
    const NodeCells::Cell& cell = cell_of(group);
    maxima_.taint = std::max(maxima_.taint, cell.taint_raw);
    maxima_.affinity = std::max(maxima_.affinity, cell.affinity_raw);
    if (!soft_.empty()) {
      group.spread_raw = spread_raw(group, counts);
      if (!cell.ignored) spread_range_.add(group.spread_raw);
    }
    if (!scores_.empty()) {
      group.pod_affinity_raw = pod_affinity_raw(group, counts);
      pod_affinity_range_.add(group.pod_affinity_raw);
    }
  }
}

std::int64_t GroupedRow::normalized_total(const Group& group) const {
  const NodeCells::Cell& cell = cell_of(group);
  std::int64_t total = 0;
  if (profile_.weight_taint_toleration != 0)
    total +=
        profile_.weight_taint_toleration * default_normalize(cell.taint_raw, maxima_.taint, TaintToleration::reverse);
  if (scores_affinity_)
    total += profile_.weight_node_affinity *
             default_normalize(cell.affinity_raw, maxima_.affinity, NodeAffinityRule::reverse);
  if (!soft_.empty() && !cell.ignored)
    total +=
        profile_.weight_spread * PodTopologySpread::normalize(group.spread_raw, spread_range_.min, spread_range_.max);
  if (!scores_.empty())
    total += profile_.weight_pod_affinity *
             InterPodAffinity::normalize(group.pod_affinity_raw, pod_affinity_range_.min, pod_affinity_range_.max);
  return total;
}

const GroupedRow::Entry& GroupedRow::top(Group& group, const RowTile& tile, int slot) const {
  if (flat_) return group.best;
  const std::int32_t self = active_[static_cast<std::size_t>(group.active_at)];
  std::vector<Entry>& heap = group.heap;
  while (!is_current(heap.front(), self, tile, slot)) {
    std::pop_heap(heap.begin(), heap.end(), Worse());
    heap.pop_back();
  }
  return heap.front();
}

GroupedRow::Choice GroupedRow::select(const RowTile& tile, int slot, const TopologyCounts& counts) {
  Choice choice;
  choice.feasible_count = mark_passing(counts);
  if (choice.feasible_count == 0) return choice;
  weigh_domains(choice.feasible_count);
  measure(counts);
  Entry best{0, -1};
  for (const std::int32_t g : active_) {
    Group& group = groups_[static_cast<std::size_t>(g)];
    if (!group.passes) continue;
    Entry entry = top(group, tile, slot);
    entry.key += normalized_total(group) << 32;
    if (best.node < 0 || Worse()(best, entry)) best = entry;
  }
  choice.node = best.node;
  choice.total = total_of(best.key);
  return choice;
}

std::uint64_t GroupedRow::bytes() const {
  std::uint64_t bytes = group_of_.size() * 5 + groups_.size() * sizeof(Group) + moved_by_.size();
  for (const Group& group : groups_) bytes += group.heap.capacity() * sizeof(Entry);
  for (const auto& seen : seen_at_) bytes += seen.size() * sizeof(std::uint32_t);
  return bytes;
}

// The cache of rows

GroupedRow& GroupedRows::find(std::int32_t pod_class, ClassTable& table, const Snapshot& snapshot) {
  auto at = rows_.find(pod_class);
  if (at == rows_.end()) {
    make_room(snapshot.node_count());
    weights_.grow(static_cast<std::size_t>(snapshot.node_count()));
    at = rows_
             .try_emplace(pod_class, table[pod_class], table.profile_of(pod_class), table.node_side(pod_class),
                          snapshot, coarse_domains_max_, weights_)
             .first;
    at->second.set_cells(
        cells_for(at->second.cell_columns(), table.node_side(pod_class), table.profile_of(pod_class), snapshot));
  }
  at->second.last_used = ++clock_;
  return at->second;
}

const std::shared_ptr<const NodeCells>& GroupedRows::cells_for(const CellColumns& columns, const NodeSideRow& node_side,
                                                               const CompiledProfile& profile,
                                                               const Snapshot& snapshot) {
  std::shared_ptr<const NodeCells>& cells = cells_[{&node_side, columns}];
  if (cells == nullptr) cells = std::make_shared<const NodeCells>(make_cells(columns, node_side, profile, snapshot));
  return cells;
}

void GroupedRows::make_room(std::int32_t node_count) {
  const std::uint64_t rows_max = bytes_max_ / (kBytesPerNode * static_cast<std::uint64_t>(std::max(node_count, 1)));
  while (!rows_.empty() && rows_.size() >= rows_max)
    rows_.erase(std::min_element(rows_.begin(), rows_.end(),
                                 [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; }));
}

std::uint64_t GroupedRows::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [pod_class, row] : rows_) bytes += row.bytes();
  return bytes;
}

}  // namespace berth
