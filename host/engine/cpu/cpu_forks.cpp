// SPDX-License-Identifier: Apache-2.0
// Finds nodes for pods of forks, from the rows of the engine: nodes that differ between the two are left out of the row
// and join as extra nodes, filtered and scored in the state of the fork.

#include "batching/node_filter.h"
#include "batching/node_topology.h"
#include "host/engine/cpu/cpu_state.h"
#include "host/engine/cpu/grouped_selection.h"

namespace berth {
namespace {

/// The nodes of the engine in a domain; none of a domain that only guests lie in.
void exclude_domain(const DomainColumn& column, std::int32_t number, ExcludedNodes& excluded) {
  if (number == 0 || number > column.domain_count) return;
  const auto domain = static_cast<std::size_t>(number);
  for (std::int32_t i = column.first_of_domain[domain]; i < column.first_of_domain[domain + 1]; ++i)
    excluded.insert(column.nodes_by_domain[static_cast<std::size_t>(i)]);
}

/// The nodes of the engine that share a domain with the node, or did before it became a guest.
void exclude_mates(std::int32_t node, std::int32_t c, const Snapshot& fork, ExcludedNodes& excluded) {
  const DomainColumn& column = fork.topology().column(c);
  const std::int32_t now = fork.topology().domain_of(c, node);
  exclude_domain(column, now, excluded);
  if (node < fork.engine_slot_count() && column[node] != now) exclude_domain(column, column[node], excluded);
}

/// The touched nodes of the engine, and those that lie in other groups because they share a domain with a touched one.
/// @param row  null: nodes are in no groups, or counts are those of the engine
void exclude(const ExcludedNodes& touched, const GroupedRow* row, const Snapshot& fork, ExcludedNodes& excluded) {
  excluded.clear();
  for (const std::int32_t node : touched.members())
    if (node < fork.engine_slot_count()) excluded.insert(node);
  if (row == nullptr) return;
  for (const std::int32_t c : row->reads().mate_columns)
    for (const std::int32_t node : touched.members()) exclude_mates(node, c, fork, excluded);
  // Guests may join domains of one node, which have no mates among the nodes of the engine.
  for (const GuestNode& guest : fork.guests().all())
    for (const std::int32_t table : row->reads().counted_tables)
      exclude_mates(guest.slot, fork.topology().column_of(table), fork, excluded);
}

/// Calls use(node) for the nodes that are filtered outside the row: those left out of it, and those that it does not
/// have.
template <class Use>
void for_each_extra(const ExcludedNodes& excluded, const Snapshot& fork, Use use) {
  for (const std::int32_t node : excluded.members()) use(node);
  for (std::int32_t node = fork.engine_slot_count(); node < fork.slot_count(); ++node) use(node);
}

using Place = NodeTopology<TopologyCounts>;

/// Memory that selections of a thread use again.
struct ForkScratch {
  ExcludedNodes excluded;
  std::vector<ExtraNode> extras;
  std::vector<ExtraPlace<Place>> places;
  SelectionScratch selection;
};

/// A feasible node in the state of the fork.
ExtraNode extra_node(const UncachedClass& nodes, const NodeSideView& node_side, const Snapshot& snapshot,
                     std::int32_t node) {
  const std::int64_t total = nodes.load_total(node) + node_side.fixed_total(snapshot, node);
  return {node, make_node_key(total, nodes.draw(node)), node_side.raws(snapshot, node)};
}

}  // namespace

void CpuBackend::State::make_ready_for_forks(std::span<const PodToPlace> pods) {
  clear_rows_of_old_order(0);
  tiles.begin_batch(pods);
  const std::vector<std::int32_t> expected = prepared_classes();  // the next forks are about others of these
  arena->execute([&] {
    for (const PodToPlace& pod : pods) {
      if (!has_rows(pod)) continue;
      const TileCache::Place at = tiles.find(pod.class_index, pods, snapshot, log, expected);
      // Forks filter for themselves what nominations of the engine leave out of the row.
      const std::vector<std::int32_t> left_out = nomination_answers.forget(pod.class_index);
      at.tile->leave_out(snapshot, at.slot, {}, 0);
      if (table[pod.class_index].topology == nullptr) continue;
      GroupedRow& row = grouped_rows.find(pod.class_index, table, snapshot);
      row.note_key_changes(left_out);
      const SlotKeys keys{*at.tile, at.slot, snapshot.node_order()};
      row.catch_up(keys, table, snapshot.topology(), log, NodeGroups::Knows::kAllNodes);
      if (!row.is_settled()) row.settle(keys, snapshot.topology(), scratch);
    }
  });
}

bool CpuBackend::State::is_ready_for_forks(std::span<const PodToPlace> pods) const {
  for (const PodToPlace& pod : pods) {
    if (!has_rows(pod)) continue;
    const TileCache::Place at = tiles.find_current(pod.class_index, log);
    if (at.tile == nullptr || !at.tile->is_whole(at.slot) || nomination_answers.knows(pod.class_index)) return false;
    if (table[pod.class_index].topology == nullptr) continue;
    const GroupedRow* row = grouped_rows.find_existing(pod.class_index);
    if (row == nullptr || !row->is_current(log) || !row->is_settled()) return false;
  }
  return true;
}

/// Rows can answer for the class at all.
bool CpuBackend::State::has_rows(const PodToPlace& pod) const {
  return plain_mode() && pod.class_index >= 0 && table.profile_of(pod.class_index).has_keys &&
         !table.host_decides(pod.class_index);
}

/// The row of the class is current, and tells of the fork's nodes that do not differ from those of the engine.
bool CpuBackend::State::has_row_for_fork(const PodToPlace& pod, const CommitState& fork) const {
  return has_rows(pod) && is_ready_for_forks({&pod, 1}) && fork.plain_mode() &&
         !fork.nominations.any_against(*pod.pod) && !scores_may_leave_range(table[pod.class_index], fork.snapshot);
}

bool CpuBackend::State::mark_accepting_for_fork(const PodToPlace& pod, const CommitState& fork,
                                                std::span<std::uint8_t> accepts) const {
  const std::int32_t c = pod.class_index;
  if (!has_row_for_fork(pod, fork) || table[c].topology != nullptr ||
      !table.pre_filter(c, *table.built_node_side(c)).passes())
    return false;
  const TileCache::Place at = tiles.find_current(c, log);
  for (std::int32_t node = 0; node < fork.snapshot.engine_slot_count(); ++node)
    accepts[static_cast<std::size_t>(node)] = at.tile->key(at.slot, node) > 0 ? 1 : 0;
  return true;
}

std::optional<Selection> CpuBackend::State::select_for_fork(const PodToPlace& pod, const CommitState& fork,
                                                            const ExcludedNodes& touched) const {
  const std::int32_t c = pod.class_index;
  const PodClass& pod_class = table[c];
  // Guests move other nodes in node order, and keys of this mode contain their places there.
  const bool is_order_moved = !fork.snapshot.guests().empty() && engine.tie_break == TieBreak::kFirst;
  if (!has_row_for_fork(pod, fork) || is_order_moved) return std::nullopt;
  const TileCache::Place at = tiles.find_current(c, log);
  const GroupedRow* row = pod_class.topology != nullptr ? grouped_rows.find_existing(c) : nullptr;
  const TopologyCounts& counts = fork.snapshot.topology();
  // Guests may change the order of others. It is computed where equal keys ask for it.
  bool is_order_asked = false;
  const NodeOrder order =
      fork.snapshot.guests().empty() ? fork.snapshot.node_order() : NodeOrder::unknown(is_order_asked);
  const NodeSideView node_side = fork.sides.view(*table.built_node_side(c), c);
  const UncachedClass nodes(pod_class, table.profile_of(c), node_side, fork.snapshot);
  thread_local ForkScratch own;
  const bool is_settled = row != nullptr && row->counts_are_settled(counts);
  exclude(touched, is_settled ? nullptr : row, fork.snapshot, own.excluded);
  own.extras.clear();
  own.places.clear();
  for_each_extra(own.excluded, fork.snapshot, [&](std::int32_t node) {
    if (!nodes.accepts(node) || !filter_topology(pod_class, fork.snapshot, node).accepts()) return;
    const ExtraNode extra = extra_node(nodes, node_side, fork.snapshot, node);
    if (row == nullptr) {
      own.extras.push_back(extra);
    } else {
      own.places.push_back({extra, Place(*pod_class.topology, counts, node)});
    }
  });
  std::optional<Selection> selection;
  if (row == nullptr) {
    selection = berth::select_in_row(*at.tile, at.slot, fork.snapshot, order, own.excluded, own.extras);
  } else {
    const SlotKeys keys{*at.tile, at.slot, order};
    const std::span<const ExtraPlace<Place>> places = own.places;
    if (is_settled) selection = row->select_settled(keys, counts, own.excluded, places, own.selection);
    if (!selection) selection = row->select(keys, counts, own.excluded, places, own.selection);
  }
  if (is_order_asked) return std::nullopt;
  if (selection && !scores_anything(c)) selection->total = 1;
  return selection;
}

}  // namespace berth
