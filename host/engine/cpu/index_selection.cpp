// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/index_selection.h"

#include <algorithm>

#include "batching/node_draw.h"
#include "batching/node_filter.h"
#include "batching/node_topology.h"
#include "host/engine/cpu/lone_row.h"
#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

/// The filter checks what the score adds, so that a share of a node where the pod fits is at most 1.
bool is_checked(const ClassOnLoads::Resource& resource) {
  return resource.balanced_request <= (resource.request > 0 ? resource.request : 0.0);
}

}  // namespace

void IndexSelection::clear() {
  partition_.clear();
  indexes_.clear();
  nominated_counts_.clear();
  sides_.clear();
  on_loads_.clear();
  cells_.clear();
}

/// Node objects that changed may lie in other groups.
void IndexSelection::follow_nodes(const Snapshot& snapshot) {
  if (!partition_.is_empty() && node_sides_version_ == table_.node_sides_version()) return;
  clear();
  node_sides_version_ = table_.node_sides_version();
  std::vector<std::int32_t> group_of(static_cast<std::size_t>(snapshot.slot_count()), -1);
  for (std::int32_t node = 0; node < snapshot.slot_count(); ++node)
    if (snapshot.has_node(node)) group_of[static_cast<std::size_t>(node)] = 0;
  listed_at_.resize(group_of.size());
  domain_weights_.grow(group_of.size());
  partition_.begin(std::move(group_of), tuning_.index_groups_max(snapshot.node_count()));
}

std::optional<IndexSelection::WhyNot> IndexSelection::describe(std::int32_t c, const ExcludedNodes& refused,
                                                               const Snapshot& snapshot, Asked& asked) {
  const PodClass& pod_class = table_[c];
  const CompiledProfile& profile = table_.profile_of(c);
  if (!LoadIndex::serves(profile)) return WhyNot::kProfile;
  const NodeSideRow& row = table_.node_side(c);
  follow_nodes(snapshot);
  const OnLoads& on_loads = on_loads_of(c);
  if (!on_loads.loads) return WhyNot::kRequests;
  asked = {&pod_class,      &profile,         &row, &side_of(c, row, snapshot), &snapshot, &refused,
           *on_loads.loads, on_loads.are_all, {}};
  return std::nullopt;
}

const IndexSelection::OnLoads& IndexSelection::on_loads_of(std::int32_t c) {
  const auto at = static_cast<std::size_t>(c);
  if (on_loads_.size() <= at) on_loads_.resize(static_cast<std::size_t>(table_.size()));
  OnLoads& known = on_loads_[at];
  if (known.is_known) return known;
  const PodClass& pod_class = table_[c];
  const auto is_boxed = [](const RequestedResource& request) {
    return request.amount <= 0 || request.column == kCpuColumn || request.column == kMemoryColumn;
  };
  known.are_all =
      pod_class.ports.empty() && std::all_of(pod_class.requested.begin(), pod_class.requested.end(), is_boxed);
  known.loads = describe_on_loads(pod_class, table_.profile_of(c));
  if (known.loads && !(is_checked(known.loads->cpu) && is_checked(known.loads->memory))) known.loads.reset();
  known.is_known = true;
  return known;
}

const SideOnGroups& IndexSelection::side_of(std::int32_t c, const NodeSideRow& row, const Snapshot& snapshot) {
  SideOnGroups& side = sides_[table_[c].node_side];
  if (side.partition_version != partition_.version()) side = side_on_groups(row, snapshot, partition_);
  return side;
}

/// null: too many domains
CellsOfClass* IndexSelection::cells_of(std::int32_t c, const Snapshot& snapshot) {
  const TopologyCounts& counts = snapshot.topology();
  if (cells_.size() <= static_cast<std::size_t>(c)) cells_.resize(static_cast<std::size_t>(table_.size()));
  std::unique_ptr<CellsOfClass>& cells = cells_[static_cast<std::size_t>(c)];
  if (cells == nullptr) cells = std::make_unique<CellsOfClass>(table_[c].topology, counts, tuning_.coarse_domains_max);
  if (cells->partition_version == partition_.version()) return cells.get();
  if (cells->has_too_many || !cells->split(counts, partition_)) return nullptr;
  cells->find_cells(counts, partition_);
  return cells.get();
}

/// Current, for the groups as they are. null: nominations of too many priorities are counted
LoadIndex* IndexSelection::index_of(const Asked& asked, const Snapshot& snapshot, const CommitLog& log) {
  indexes_.resize(static_cast<std::size_t>(table_.profile_count()));
  std::vector<Laid>& of_profile = indexes_[static_cast<std::size_t>(asked.pod_class->profile)];
  auto laid = std::find_if(of_profile.begin(), of_profile.end(),
                           [&](const Laid& l) { return l.nominated_from == asked.nominated_from; });
  if (laid == of_profile.end()) {
    if (of_profile.size() >= kPrioritiesMax)
      std::erase_if(of_profile, [&](const Laid& l) {
        return l.nominated_from && nominations_.lowest_against(*l.nominated_from) != l.nominated_from;
      });
    if (of_profile.size() >= kPrioritiesMax && asked.nominated_from) return nullptr;
    const CountedNominations counted =
        asked.nominated_from ? CountedNominations{&nominations_, *asked.nominated_from} : CountedNominations();
    laid = of_profile.insert(of_profile.end(), {asked.nominated_from, 0,
                                                std::make_unique<LoadIndex>(*asked.profile, tuning_.index_changes_min,
                                                                            tuning_.index_nodes_per_change, counted)});
  }
  if (laid->laid_out_for != partition_.version()) laid->index->clear();
  laid->laid_out_for = partition_.version();
  laid->index->catch_up(snapshot, log, partition_.group_of(), partition_.group_count());
  return laid->index.get();
}

/// Node side, load and nominations accept the pod.
bool IndexSelection::fits(const Asked& asked, const LoadIndex& index, std::int32_t node) {
  ++evaluations_;
  if (asked.row->total_of[static_cast<std::size_t>(node)] < 0 || asked.refused->contains(node)) return false;
  return asked.load_is_known && !index.is_odd(node)
             ? index.fits(asked.on_loads, node)
             : load_accepts(*asked.pod_class, *asked.profile, *asked.snapshot, node);
}

/// Of a node that fits.
NodeKey IndexSelection::key_on(const Asked& asked, std::int32_t node, std::int64_t topology_total) const {
  const std::int64_t total = load_total(*asked.pod_class, *asked.profile, *asked.snapshot, node) +
                             asked.row->total_of[static_cast<std::size_t>(node)] + topology_total;
  return make_node_key(total, node_draw(asked.profile->draw, *asked.snapshot, node).bits);
}

/// Each largest raw score of the node side has a feasible node.
bool IndexSelection::holds_maxima(const Asked& asked, const LoadIndex& index) {
  const auto is_feasible = [&](std::int32_t node) {
    return fits(asked, index, node) && filter_topology(*asked.pod_class, *asked.snapshot, node).accepts();
  };
  return std::all_of(
      asked.side->holders.begin(), asked.side->holders.end(),
      [&](const std::vector<std::int32_t>& nodes) { return std::any_of(nodes.begin(), nodes.end(), is_feasible); });
}

std::optional<Selection> IndexSelection::select(std::int32_t c, const ExcludedNodes& refused, const Snapshot& snapshot,
                                                const CommitLog& log) {
  Asked asked;
  if (const std::optional<WhyNot> why = describe(c, refused, snapshot, asked)) return refuse(*why);
  return select(c, asked, log);
}

std::optional<Selection> IndexSelection::select_beside_nominated(const PodToPlace& pod, const Snapshot& snapshot,
                                                                 const CommitLog& log) {
  const std::int32_t c = pod.class_index;
  Asked asked;
  if (const std::optional<WhyNot> why = describe(c, none_refused_, snapshot, asked)) return refuse(*why);
  asked.nominated_from = nominations_.lowest_against(pod.pod->priority);
  if (asked.nominated_from && (!asked.load_is_known || nominated_counts_.concern(c, *asked.pod_class)))
    return std::nullopt;
  return select(c, asked, log);
}

std::optional<Selection> IndexSelection::select(std::int32_t c, Asked& asked, const CommitLog& log) {
  const Snapshot& snapshot = *asked.snapshot;
  CellsOfClass* cells = nullptr;
  if (asked.pod_class->topology != nullptr) {
    if (!asked.load_is_known) return refuse(WhyNot::kMixedGroups);
    cells = cells_of(c, snapshot);
    if (cells == nullptr) return refuse(WhyNot::kManyDomains);
    asked.side = &side_of(c, *asked.row, snapshot);  // the groups may be other ones now
    if (cells->partition_version != partition_.version()) cells = cells_of(c, snapshot);
    if (!asked.side->is_uniform) return refuse(WhyNot::kMixedGroups);
  }
  const LoadIndex* const index = index_of(asked, snapshot, log);
  // What is nominated to nodes that are in no box is not counted.
  if (index == nullptr || (asked.nominated_from && !index->odd_nodes().empty())) return std::nullopt;
  if (index->odd_nodes().size() > tuning_.index_listed_max) return refuse(WhyNot::kManyListed);
  if (!holds_maxima(asked, *index)) return refuse(WhyNot::kNormalizer);
  return cells == nullptr ? select_plain(asked, *index) : select_by_cells(asked, *cells, *index);
}

// Classes without topology terms

std::optional<Selection> IndexSelection::select_plain(const Asked& asked, const LoadIndex& index) {
  Best best;
  for (const std::int32_t node : index.odd_nodes())
    if (fits(asked, index, node)) best.add(key_on(asked, node, 0), node, asked.snapshot->node_order());
  search_.begin(index, asked.on_loads, asked.side->base, *asked.refused);
  std::size_t refused = 0;
  for (;;) {
    const LoadSearch::Candidate candidate = search_.next(best.key);
    if (candidate.node < 0) break;
    if (fits(asked, index, candidate.node)) {
      best.add(key_on(asked, candidate.node, 0), candidate.node, asked.snapshot->node_order());
    } else if (++refused > tuning_.index_refused_max) {
      return refuse(WhyNot::kManyRefused);
    }
  }
  if (best.node < 0) return Selection{};
  const std::optional<std::int64_t> feasible = count_to_two(asked, index);
  if (!feasible) return refuse(WhyNot::kManyRefused);
  return Selection{*feasible, best.node, total_of(best.key)};
}

/// Feasible nodes, as far as the second one. @return nullopt: too many nodes refuse
std::optional<std::int64_t> IndexSelection::count_to_two(const Asked& asked, const LoadIndex& index) {
  std::int64_t count = 0;
  for (const std::int32_t node : index.odd_nodes()) count += fits(asked, index, node) ? 1 : 0;
  if (asked.load_is_known && asked.side->is_uniform && asked.refused->empty()) {
    for (std::size_t group = 0; group < asked.side->base.size() && count < 2; ++group)
      if (asked.side->base[group] >= 0)
        count += index.count_fitting(asked.on_loads, static_cast<std::int32_t>(group), 2 - count);
    return count;
  }
  search_.begin(index, asked.on_loads, asked.side->base, *asked.refused);
  for (std::size_t refused = 0; count < 2;) {
    const LoadSearch::Candidate candidate = search_.next(1);
    if (candidate.node < 0) break;
    if (fits(asked, index, candidate.node)) {
      ++count;
    } else if (++refused > tuning_.index_refused_max) {
      return std::nullopt;
    }
  }
  return count;
}

// Classes with topology terms

/// The counts of a listed node, which is listed if it was not.
std::int64_t* IndexSelection::counts_on(const CellsOfClass& cells, std::int32_t node) {
  const std::size_t tables = cells.reads.counted_tables.size();
  ListedAt& known = listed_at_[static_cast<std::size_t>(node)];
  if (known.selection != selection_) {
    known = {selection_, listed_.size()};
    listed_.push_back({node});
    fine_counts_.resize(listed_.size() * tables, 0);
  }
  return fine_counts_.data() + known.at * tables;
}

/// Lists the nodes for which no cell stands: those in whose domains of keys that are read by count something is
/// counted, and those that are in no tree. @return false: they are too many
bool IndexSelection::list_nodes(const Asked& asked, const CellsOfClass& cells, const LoadIndex& index) {
  ++selection_;
  listed_.clear();
  fine_counts_.clear();
  for (const std::int32_t node : index.odd_nodes()) counts_on(cells, node);
  const TopologyCounts& counts = asked.snapshot->topology();
  for (std::size_t t = 0; t < cells.reads.counted_tables.size(); ++t) {
    const std::int32_t table = cells.reads.counted_tables[t];
    const DomainColumn& column = counts.column(counts.column_of(table));
    const bool are_few = counts.for_each_listed(table, [&](std::int32_t domain, std::int64_t count) {
      const auto first = static_cast<std::size_t>(column.first_of_domain[static_cast<std::size_t>(domain)]);
      const auto end = static_cast<std::size_t>(column.first_of_domain[static_cast<std::size_t>(domain) + 1]);
      for (std::size_t i = first; i < end; ++i) counts_on(cells, column.nodes_by_domain[i])[t] = count;
    });
    if (!are_few || listed_.size() > tuning_.index_listed_max) return false;
  }
  return true;
}

/// Notes the refused nodes that are not listed, for filter_cells().
void IndexSelection::count_refused(const Asked& asked, const CellsOfClass& cells, const LoadIndex& index) {
  for (const std::int32_t node : asked.refused->members()) {
    if (listed_at_[static_cast<std::size_t>(node)].selection == selection_) continue;
    const std::int32_t group = partition_.group_of()[static_cast<std::size_t>(node)];
    if (group < 0 || asked.side->base[static_cast<std::size_t>(group)] < 0) continue;
    const std::int32_t cell = cells.cell_of[static_cast<std::size_t>(group)];
    if (cell >= 0 && index.fits(asked.on_loads, node)) ++states_[static_cast<std::size_t>(cell)].not_counted;
  }
}

void IndexSelection::filter_listed(const Asked& asked, const CellsNow& now, const LoadIndex& index) {
  const std::size_t odd_count = index.odd_nodes().size();
  const bool filters = now.of_class.program->filters();
  evaluations_ += static_cast<std::int64_t>(listed_.size());
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    Listed& listed = listed_[i];
    const auto group = static_cast<std::size_t>(partition_.group_of()[static_cast<std::size_t>(listed.node)]);
    if (now.of_class.cell_of[group] < 0 || asked.side->base[group] < 0) continue;
    const bool is_odd = i < odd_count;
    if (!(is_odd ? fits(asked, index, listed.node) : index.fits(asked.on_loads, listed.node))) continue;
    listed.cell = now.of_class.cell_of[group];
    if (!is_odd) ++states_[static_cast<std::size_t>(listed.cell)].not_counted;
    if (asked.refused->contains(listed.node) || (filters && !topology_accepts(listed_topology(now, i))))
      listed.cell = -1;
  }
}

/// How many nodes are feasible matters where one of them counts for a constraint that is weighed by it.
bool IndexSelection::needs_node_count(const CellsOfClass& cells) const {
  return std::any_of(cells.program->soft.begin(), cells.program->soft.end(),
                     [](const SoftSpread& soft) { return soft.counts_nodes; }) &&
         std::any_of(listed_.begin(), listed_.end(), [](const Listed& listed) { return listed.cell >= 0; });
}

void IndexSelection::filter_cells(const Asked& asked, const CellsNow& now, const LoadIndex& index) {
  const bool counts_all = needs_node_count(now.of_class);
  for (std::size_t cell = 0; cell < states_.size(); ++cell)
    states_[cell].live = topology_accepts(cell_topology(now, cell)) ? -states_[cell].not_counted : INT64_MIN;
  for (std::size_t group = 0; group < now.of_class.cell_of.size(); ++group) {
    if (now.of_class.cell_of[group] < 0 || asked.side->base[group] < 0) continue;
    CellState& state = states_[static_cast<std::size_t>(now.of_class.cell_of[group])];
    if (state.live == INT64_MIN || (state.live >= 2 && !counts_all)) continue;
    const std::int64_t enough = counts_all ? INT64_MAX : 2 - state.live;
    state.live += index.count_fitting(asked.on_loads, static_cast<std::int32_t>(group), enough);
  }
  for (CellState& state : states_) state.live = std::max<std::int64_t>(state.live, 0);
}

/// Weighs each soft constraint by the number of its domains with a feasible node that is not ignored.
void IndexSelection::weigh_domains(const CellsNow& now) {
  const std::vector<SoftSpread>& soft = now.of_class.program->soft;
  if (soft.empty()) return;
  domain_counts_.assign(soft.size(), 0);
  found_at_.resize(std::max(found_at_.size(), soft.size()));
  for (std::size_t s = 0; s < soft.size(); ++s) {
    const auto size = static_cast<std::size_t>(now.counts.domain_count(now.counts.column_of(soft[s].table))) + 1;
    if (!soft[s].counts_nodes && found_at_[s].size() < size) found_at_[s].resize(size, 0);
  }
  const auto mark = [&](std::int32_t s, std::int32_t domain) {
    std::uint64_t& found = found_at_[static_cast<std::size_t>(s)][static_cast<std::size_t>(domain)];
    domain_counts_[static_cast<std::size_t>(s)] += std::exchange(found, selection_) != selection_ ? 1 : 0;
  };
  std::int64_t nodes = 0;
  for (std::size_t cell = 0; cell < states_.size(); ++cell)
    if (states_[cell].live > 0) nodes += mark_soft_domains(cell_topology(now, cell), mark);
  for (std::size_t i = 0; i < listed_.size(); ++i)
    if (listed_[i].cell >= 0) nodes += mark_soft_domains(listed_topology(now, i), mark);
  weights_.resize(soft.size());
  for (std::size_t s = 0; s < soft.size(); ++s)
    weights_[s] = domain_weights_.of(static_cast<std::size_t>(soft[s].counts_nodes ? nodes : domain_counts_[s]));
}

std::int64_t IndexSelection::topology_total_of(const Asked& asked, const RawTopologyScores& raw) const {
  return topology_total(raw, ranges_, asked.profile->weight<PodTopologySpread>(),
                        asked.profile->weight<InterPodAffinity>());
}

/// Normalises the topology scores of cells and listed nodes.
void IndexSelection::score_cells(const Asked& asked, const CellsNow& now) {
  weigh_domains(now);
  ranges_ = {};
  for (std::size_t cell = 0; cell < states_.size(); ++cell) {
    if (states_[cell].live == 0) continue;
    states_[cell].raw = raw_topology_scores(cell_topology(now, cell), weights_.data());
    ranges_.add(states_[cell].raw);
  }
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    if (listed_[i].cell < 0) continue;
    listed_[i].raw = raw_topology_scores(listed_topology(now, i), weights_.data());
    ranges_.add(listed_[i].raw);
  }
  for (CellState& state : states_)
    if (state.live > 0) state.total = static_cast<std::int32_t>(topology_total_of(asked, state.raw));
}

IndexSelection::Best IndexSelection::best_in_cells(const Asked& asked, const CellsOfClass& cells,
                                                   const LoadIndex& index) {
  base_.assign(cells.cell_of.size(), -1);
  for (std::size_t group = 0; group < base_.size(); ++group) {
    const std::int32_t cell = cells.cell_of[group];
    const std::int32_t topology = cell < 0 ? -1 : states_[static_cast<std::size_t>(cell)].total;
    if (topology >= 0 && asked.side->base[group] >= 0) base_[group] = asked.side->base[group] + topology;
  }
  Best best;
  search_.begin(index, asked.on_loads, base_, *asked.refused);
  for (;;) {
    const LoadSearch::Candidate candidate = search_.next(best.key);
    if (candidate.node < 0) return best;
    ++evaluations_;
    if (listed_at_[static_cast<std::size_t>(candidate.node)].selection == selection_) continue;
    const auto cell = static_cast<std::size_t>(cells.cell_of[static_cast<std::size_t>(candidate.group)]);
    best.add(key_on(asked, candidate.node, states_[cell].total), candidate.node, asked.snapshot->node_order());
  }
}

std::optional<Selection> IndexSelection::select_by_cells(const Asked& asked, CellsOfClass& cells,
                                                         const LoadIndex& index) {
  states_.assign(cells.cells.size(), {});
  if (!list_nodes(asked, cells, index)) return refuse(WhyNot::kManyListed);
  const TopologyCounts& counts = asked.snapshot->topology();
  minima_.clear();
  for (const HardSpread& hard : cells.program->hard) minima_.push_back(global_minimum(hard, counts));
  const CellsNow now{cells, counts, minima_, no_pod_matches_affinity(*cells.program, counts)};
  filter_listed(asked, now, index);
  count_refused(asked, cells, index);
  filter_cells(asked, now, index);
  score_cells(asked, now);
  Best best = best_in_cells(asked, cells, index);
  const std::int64_t load_max =
      std::int64_t{kMaxNodeScore} *
      (asked.profile->weight<NodeResourcesFit>() + asked.profile->weight<NodeResourcesBalancedAllocation>());
  std::int64_t feasible = 0;
  for (const CellState& state : states_) feasible += state.live;
  for (const Listed& listed : listed_) {
    if (listed.cell < 0) continue;
    ++feasible;
    const std::int64_t topology = topology_total_of(asked, listed.raw);
    if (load_max + asked.row->total_of[static_cast<std::size_t>(listed.node)] + topology >= total_of(best.key))
      best.add(key_on(asked, listed.node, topology), listed.node, asked.snapshot->node_order());
  }
  return Selection{feasible, best.node, total_of(best.key)};
}

std::uint64_t IndexSelection::bytes() const {
  std::uint64_t bytes = heap_block_bytes(partition_.group_of().size_bytes()) + heap_bytes(listed_at_, on_loads_);
  for (const std::vector<Laid>& of_profile : indexes_)
    for (const Laid& laid : of_profile) bytes += laid.index->bytes();
  bytes += nominated_counts_.bytes();
  for (const auto& [number, side] : sides_) bytes += sizeof(side) + heap_bytes(side.base);
  for (const auto& cells : cells_)
    if (cells != nullptr) bytes += sizeof(*cells) + heap_bytes(cells->cell_of, cells->cells);
  return bytes;
}

}  // namespace berth
