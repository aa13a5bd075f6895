// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/index_selection.h"

#include <algorithm>
#include <utility>

#include "batching/node_filter.h"
#include "host/engine/cpu/lone_row.h"
#include "host/engine/cpu/other_loads.h"
#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

/// Where at most one of so many nodes accepts a pod for what it asks beside cpu and memory, those nodes are listed.
constexpr std::size_t kNodesPerListed = 4;

/// The filter checks what the score adds, so that a share of a node where the pod fits is at most 1.
bool is_checked(const ClassOnLoads::Resource& resource) {
  return resource.balanced_request <= (resource.request > 0 ? resource.request : 0.0);
}

}  // namespace

void IndexSelection::clear() {
  trees_.clear();
  nominated_counts_.clear();
  sides_.clear();
  on_loads_.clear();
  topology_.clear();
}

/// Node objects that changed may lie in other groups.
void IndexSelection::follow_nodes(const Snapshot& snapshot) {
  if (!trees_.empty() && node_sides_version_ == table_.node_sides_version()) return;
  clear();
  node_sides_version_ = table_.node_sides_version();
  by_cells_.grow(static_cast<std::size_t>(snapshot.slot_count()));
  trees_by({}, snapshot);
}

/// All nodes in one group, if there are no trees for these columns yet.
IndexSelection::Trees& IndexSelection::trees_by(const std::vector<std::int32_t>& wide_columns,
                                                const Snapshot& snapshot) {
  if (const auto known = trees_.find(wide_columns); known != trees_.end()) return known->second;
  std::vector<std::int32_t> group_of(static_cast<std::size_t>(snapshot.slot_count()), -1);
  for (std::int32_t node = 0; node < snapshot.slot_count(); ++node)
    if (snapshot.has_node(node)) group_of[static_cast<std::size_t>(node)] = 0;
  Trees trees;
  trees.partition.begin(std::move(group_of), wide_columns.empty()
                                                 ? tuning_.index_groups_max(snapshot.node_count())
                                                 : tuning_.index_wide_groups_max(snapshot.node_count()));
  return trees_.emplace(wide_columns, std::move(trees)).first->second;
}

/// The one of most classes, laid out for the groups as they are. null: there is none
const LoadIndex* IndexSelection::usual_index(std::int32_t profile) const {
  const auto trees = trees_.find({});
  const auto p = static_cast<std::size_t>(profile);
  if (trees == trees_.end() || trees->second.indexes.size() <= p || node_sides_version_ != table_.node_sides_version())
    return nullptr;
  const std::vector<Laid>& of_profile = trees->second.indexes[p];
  const auto laid = std::find_if(of_profile.begin(), of_profile.end(), [&](const Laid& l) {
    return !l.nominated_from && l.laid_out_for == trees->second.partition.version();
  });
  return laid == of_profile.end() ? nullptr : laid->index.get();
}

bool IndexSelection::is_close(std::int32_t profile, const CommitLog& log) const {
  const LoadIndex* const index = usual_index(profile);
  return index != nullptr && index->is_close(log);
}

std::optional<IndexSelection::WhyNot> IndexSelection::describe(std::int32_t c, const ExcludedNodes& refused,
                                                               const Snapshot& snapshot, IndexQuery& query) {
  const CompiledProfile& profile = table_.profile_of(c);
  if (!LoadIndex::serves(profile)) return WhyNot::kProfile;
  query.row = &table_.node_side(c);
  follow_nodes(snapshot);
  const OnLoads& on_loads = on_loads_of(c);
  if (!on_loads.loads) return WhyNot::kRequests;
  query.pod_class = &table_[c];
  query.profile = &profile;
  query.snapshot = &snapshot;
  query.refused = &refused;
  query.on_loads = *on_loads.loads;
  query.side_on_nodes = &side_of(c, *query.row, snapshot);
  query.only = query.side_on_nodes->few ? &*query.side_on_nodes->few : nullptr;
  if (on_loads.asks_for_others) mark_other_loads(query);
  return std::nullopt;
}

/// Finds the nodes that refuse what the class asks for beside cpu and memory.
void IndexSelection::mark_other_loads(IndexQuery& query) {
  other_loads_.assign(static_cast<std::size_t>(query.snapshot->slot_count()), 0.0);
  mark_refusing_other_loads(*query.pod_class, *query.profile, *query.snapshot, other_loads_);
  query.other_loads = other_loads_;
  refusing_.clear();
  only_.clear();
  const std::size_t only_max = other_loads_.size() / kNodesPerListed;
  for (std::int32_t node = 0; node < query.snapshot->slot_count(); ++node) {
    if (query.refuses_other_loads(node)) {
      refusing_.push_back(node);
    } else if (only_.size() <= only_max && query.side_total(node) >= 0) {
      only_.push_back(node);
    }
  }
  query.refusing_other_loads = refusing_;
  if (query.only == nullptr && only_.size() <= only_max) query.only = &only_;
}

const IndexSelection::OnLoads& IndexSelection::on_loads_of(std::int32_t c) {
  const auto at = static_cast<std::size_t>(c);
  if (on_loads_.size() <= at) on_loads_.resize(static_cast<std::size_t>(table_.size()));
  OnLoads& known = on_loads_[at];
  if (known.is_known) return known;
  const PodClass& pod_class = table_[c];
  known.asks_for_others = asks_for_other_loads(pod_class, table_.profile_of(c));
  known.loads = describe_on_loads(pod_class, table_.profile_of(c));
  if (known.loads && !(is_checked(known.loads->cpu) && is_checked(known.loads->memory))) known.loads.reset();
  known.is_known = true;
  return known;
}

const SideOnNodes& IndexSelection::side_of(std::int32_t c, const NodeSideRow& row, const Snapshot& snapshot) {
  const auto known = sides_.find(table_[c].node_side);
  if (known != sides_.end()) return known->second;
  return sides_.emplace(table_[c].node_side, side_on_nodes(row, snapshot)).first->second;
}

const SideOnGroups& IndexSelection::side_on(Trees& trees, const IndexQuery& query) {
  SideOnGroups& side = trees.sides[query.pod_class->node_side];
  if (side.partition_version != trees.partition.version())
    side = side_on_groups(*query.row, query.side_on_nodes->few.has_value(), trees.partition);
  return side;
}

/// null: too many domains
const IndexSelection::TopologyOfClass* IndexSelection::topology_of(std::int32_t c, const Snapshot& snapshot) {
  const TopologyCounts& counts = snapshot.topology();
  if (topology_.size() <= static_cast<std::size_t>(c)) topology_.resize(static_cast<std::size_t>(table_.size()));
  TopologyOfClass& known = topology_[static_cast<std::size_t>(c)];
  if (known.cells != nullptr && put_on_groups(*known.cells, counts, *known.trees)) return &known;
  known = {};
  // Keys whose domains would make too many groups are read by count.
  for (std::int32_t domains_max = tuning_.index_wide_groups_max(snapshot.node_count());; domains_max /= 4) {
    auto cells = std::make_unique<CellsOfClass>(table_[c].topology, counts, domains_max);
    Trees* const trees = trees_for(*cells, snapshot);
    if (trees != nullptr && put_on_groups(*cells, counts, *trees)) {
      known = {std::move(cells), trees};
      return &known;
    }
    if (domains_max == 0) return nullptr;
  }
}

/// The trees whose groups are split by the class's keys with many domains. null: there would be too many
IndexSelection::Trees* IndexSelection::trees_for(const CellsOfClass& cells, const Snapshot& snapshot) {
  std::vector<std::int32_t> wide;
  for (const std::int32_t c : cells.reads.columns.coarse)
    if (snapshot.topology().column(c).domain_count > tuning_.coarse_domains_max) wide.push_back(c);
  std::sort(wide.begin(), wide.end());
  if (trees_.size() >= kTreesMax && !trees_.contains(wide)) return nullptr;
  return &trees_by(wide, snapshot);
}

/// @return false: there would be too many groups
bool IndexSelection::put_on_groups(CellsOfClass& cells, const TopologyCounts& counts, Trees& trees) {
  if (cells.on_groups != nullptr && cells.on_groups->partition_version == trees.partition.version()) return true;
  if (!cells.split(counts, trees.partition)) return false;
  std::shared_ptr<const CellsOnGroups>& shared = trees.cells[cells.reads.columns];
  if (shared == nullptr || shared->partition_version != trees.partition.version())
    shared = std::make_shared<const CellsOnGroups>(cells_on_groups(cells.reads.columns, counts, trees.partition));
  cells.on_groups = shared;
  return true;
}

/// Current, for the groups as they are. null: nominations of too many priorities are counted
const LoadIndex* IndexSelection::index_of(const IndexQuery& query, Trees& trees, const CommitLog& log) {
  trees.indexes.resize(static_cast<std::size_t>(table_.profile_count()));
  std::vector<Laid>& of_profile = trees.indexes[static_cast<std::size_t>(query.pod_class->profile)];
  auto laid = std::find_if(of_profile.begin(), of_profile.end(),
                           [&](const Laid& l) { return l.nominated_from == query.nominated_from; });
  if (laid == of_profile.end()) {
    if (of_profile.size() >= kPrioritiesMax)
      std::erase_if(of_profile, [&](const Laid& l) {
        return l.nominated_from && nominations_.lowest_against(*l.nominated_from) != l.nominated_from;
      });
    if (of_profile.size() >= kPrioritiesMax && query.nominated_from) return nullptr;
    const CountedNominations counted =
        query.nominated_from ? CountedNominations{&nominations_, *query.nominated_from} : CountedNominations();
    laid = of_profile.insert(of_profile.end(), {query.nominated_from, 0,
                                                std::make_unique<LoadIndex>(*query.profile, tuning_.index_changes_min,
                                                                            tuning_.index_nodes_per_change,
                                                                            tuning_.index_moving_nodes_min, counted)});
  }
  if (laid->laid_out_for != trees.partition.version()) laid->index->clear();
  laid->laid_out_for = trees.partition.version();
  // Those of the pods before, of which most took this index.
  laid->index->note_searches(1, search_.blocks_seen - std::exchange(blocks_seen_, search_.blocks_seen));
  laid->index->catch_up(*query.snapshot, log, trees.partition.group_of(), trees.partition.group_count());
  return laid->index.get();
}

/// Each largest raw score of the node side has a feasible node.
bool IndexSelection::holds_maxima(const IndexQuery& query) const {
  const auto is_feasible = [&](std::int32_t node) {
    return query.fits(node) && filter_topology(*query.pod_class, *query.snapshot, node).accepts();
  };
  const std::vector<std::vector<std::int32_t>>& holders = query.side_on_nodes->holders;
  return std::all_of(holders.begin(), holders.end(), [&](const std::vector<std::int32_t>& nodes) {
    return std::any_of(nodes.begin(), nodes.end(), is_feasible);
  });
}

std::optional<Selection> IndexSelection::select(std::int32_t c, const ExcludedNodes& refused, const Snapshot& snapshot,
                                                const CommitLog& log) {
  IndexQuery query;
  if (const std::optional<WhyNot> why = describe(c, refused, snapshot, query)) return refuse(*why);
  return select(c, query, log);
}

std::optional<Selection> IndexSelection::select_beside_nominated(const PodToPlace& pod, const Snapshot& snapshot,
                                                                 const CommitLog& log) {
  const std::int32_t c = pod.class_index;
  IndexQuery query;
  if (const std::optional<WhyNot> why = describe(c, none_refused_, snapshot, query)) return refuse(*why);
  query.nominated_from = nominations_.lowest_against(pod.pod->priority);
  if (query.nominated_from && (!query.other_loads.empty() || nominated_counts_.concern(c, *query.pod_class)))
    return std::nullopt;
  return select(c, query, log);
}

std::optional<Selection> IndexSelection::select(std::int32_t c, IndexQuery& query, const CommitLog& log) {
  const TopologyOfClass* topology = nullptr;
  if (query.pod_class->topology != nullptr) {
    topology = topology_of(c, *query.snapshot);
    if (topology == nullptr) return refuse(WhyNot::kManyDomains);
  }
  Trees& trees = topology != nullptr ? *topology->trees : trees_.at({});
  query.side = &side_on(trees, query);
  query.partition = &trees.partition;
  if (topology != nullptr) topology = topology_of(c, *query.snapshot);  // the groups may be other ones now
  query.index = index_of(query, trees, log);
  // What is nominated to nodes that are in no box is not counted.
  if (query.index == nullptr || (query.nominated_from && !query.index->odd_nodes().empty())) return std::nullopt;
  if (query.index->odd_nodes().size() > tuning_.index_listed_max) return refuse(WhyNot::kManyListed);
  if (!holds_maxima(query)) return refuse(WhyNot::kNormalizer);
  if (topology == nullptr) return query.only != nullptr ? select_among(query) : select_plain(query);
  const std::optional<Selection> found = by_cells_.select(query, *topology->cells, search_);
  if (!found)
    return refuse(by_cells_.failure() == SelectionByCells::Failure::kManyListed ? WhyNot::kManyListed
                                                                                : WhyNot::kManyRefused);
  return found;
}

// Classes without topology terms

/// Looks at the only nodes that may be feasible.
std::optional<Selection> IndexSelection::select_among(const IndexQuery& query) {
  Selection selection;
  BestNode best;
  search_.begin(*query.index, query.on_loads, {query.side->base}, *query.refused);
  ListedByBound listed(query, search_, best);
  evaluations_ += static_cast<std::int64_t>(query.only->size());
  for (const std::int32_t node : *query.only) {
    if (!query.fits(node)) continue;
    ++selection.feasible_count;
    listed.add(node, 0);
  }
  listed.finish();
  if (best.node < 0) return Selection{};
  return Selection{selection.feasible_count, best.node, total_of(best.key)};
}

std::optional<Selection> IndexSelection::select_plain(const IndexQuery& query) {
  BestNode best;
  search_.begin(*query.index, query.on_loads, {query.side->base, query.side->differs, query.row->total_of},
                *query.refused);
  ListedByBound listed(query, search_, best);
  for (const std::span<const std::int32_t> nodes : {query.index->odd_nodes(), std::span(query.side->above)})
    for (const std::int32_t node : nodes)
      if (query.fits(node)) listed.add(node, 0);
  listed.finish();
  std::size_t refused = 0;
  for (;;) {
    const LoadSearch::Candidate candidate = search_.next(best.key);
    if (candidate.node < 0) break;
    ++evaluations_;
    if (query.fits(candidate.node)) {
      best.add(query.key_on(candidate.node, 0), candidate.node, query.snapshot->node_order());
    } else if (++refused > tuning_.index_refused_max) {
      return refuse(WhyNot::kManyRefused);
    }
  }
  if (best.node < 0) return Selection{};
  const std::optional<std::int64_t> feasible = count_to_two(query);
  if (!feasible) return refuse(WhyNot::kManyRefused);
  return Selection{*feasible, best.node, total_of(best.key)};
}

/// Feasible nodes, as far as the second one. @return nullopt: too many nodes refuse
std::optional<std::int64_t> IndexSelection::count_to_two(const IndexQuery& query) {
  std::int64_t count = 0;
  for (const std::int32_t node : query.index->odd_nodes()) count += query.fits(node) ? 1 : 0;
  const SideOnGroups& side = *query.side;
  if (query.other_loads.empty() && query.refused->empty()) {
    // Groups of which no node is refused by its side.
    for (std::size_t group = 0; group < side.base.size() && count < 2; ++group)
      if (side.base[group] >= 0 && side.refuses[group] == 0)
        count += query.index->count_fitting(query.on_loads, static_cast<std::int32_t>(group), 2 - count);
    if (count >= 2) return 2;
  }
  count = 0;
  for (const std::int32_t node : query.index->odd_nodes()) count += query.fits(node) ? 1 : 0;
  search_.begin(*query.index, query.on_loads, {side.base, side.differs, query.row->total_of}, *query.refused);
  for (std::size_t refused = 0; count < 2;) {
    const LoadSearch::Candidate candidate = search_.next(1);
    if (candidate.node < 0) break;
    if (query.fits(candidate.node)) {
      ++count;
    } else if (++refused > tuning_.index_refused_max) {
      return std::nullopt;
    }
  }
  return count;
}

std::uint64_t IndexSelection::bytes() const {
  std::uint64_t bytes =
      heap_bytes(on_loads_, topology_, other_loads_, refusing_, only_) + nominated_counts_.bytes() + by_cells_.bytes();
  for (const auto& [columns, trees] : trees_) {
    bytes += trees.partition.bytes();
    for (const std::vector<Laid>& of_profile : trees.indexes)
      for (const Laid& laid : of_profile) bytes += laid.index->bytes();
    for (const auto& [number, side] : trees.sides) bytes += sizeof(side) + side.bytes();
    for (const auto& [of_cells, cells] : trees.cells) bytes += heap_bytes(cells->cell_of, cells->cells);
  }
  for (const auto& [number, side] : sides_) {
    bytes += sizeof(side) + (side.few ? heap_bytes(*side.few) : 0);
    for (const std::vector<std::int32_t>& holders : side.holders) bytes += heap_bytes(holders);
  }
  for (const TopologyOfClass& topology : topology_)
    if (topology.cells != nullptr) bytes += sizeof(*topology.cells);
  return bytes;
}

}  // namespace berth
