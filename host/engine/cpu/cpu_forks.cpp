// SPDX-License-Identifier: Apache-2.0
// Finds nodes for pods of forks, from the rows of the engine: nodes that differ between the two are left out of the row
// and join as extra nodes, filtered and scored in the state of the fork.

#include "batching/node_filter.h"
#include "batching/node_topology.h"
#include "host/engine/cpu/cpu_state.h"
#include "host/engine/cpu/grouped_selection.h"

namespace berth {
namespace {

/// Some pod of the class reads rows at all.
bool reads_rows(const PodToPlace& pod, const ClassTable& table) {
  return pod.class_index >= 0 && table.profile_of(pod.class_index).has_keys;
}

/// The touched nodes, and those that lie in other groups because they share a domain with one.
void exclude(const ExcludedNodes& touched, const GroupedRow* row, const TopologyCounts& counts,
             ExcludedNodes& excluded) {
  excluded.clear();
  for (const std::int32_t node : touched.members()) excluded.insert(node);
  if (row == nullptr) return;
  for (const std::int32_t c : row->reads().mate_columns) {
    const DomainColumn& column = counts.column(c);
    for (const std::int32_t node : touched.members()) {
      const auto domain = static_cast<std::size_t>(column[node]);
      if (domain == 0) continue;
      for (std::int32_t i = column.first_of_domain[domain]; i < column.first_of_domain[domain + 1]; ++i)
        excluded.insert(column.nodes_by_domain[static_cast<std::size_t>(i)]);
    }
  }
}

/// Memory that selections of a thread use again.
struct ForkScratch {
  ExcludedNodes excluded;
  std::vector<ExtraNode> extras;
  SelectionScratch selection;
};

}  // namespace

void CpuBackend::State::make_ready_for_forks(std::span<const PodToPlace> pods) {
  clear_rows_of_old_order(0);
  tiles.begin_batch(pods);
  const std::vector<std::int32_t> expected = prepared_classes();  // the next forks are about others of these
  arena.execute([&] {
    for (const PodToPlace& pod : pods) {
      if (!reads_rows(pod, table)) continue;
      const TileCache::Place at = tiles.find(pod.class_index, pods, snapshot, log, expected);
      // What nominations of the engine leave out of the row, forks have to judge themselves.
      const std::vector<std::int32_t> left_out = nomination_answers.forget(pod.class_index);
      at.tile->leave_out(snapshot, at.slot, {}, 0);
      if (table[pod.class_index].topology == nullptr) continue;
      GroupedRow& row = grouped_rows.find(pod.class_index, table, snapshot);
      row.note_key_changes(left_out);
      row.catch_up({*at.tile, at.slot}, table, snapshot.topology(), log, NodeGroups::Knows::kAllNodes);
    }
  });
}

bool CpuBackend::State::is_ready_for_forks(std::span<const PodToPlace> pods) const {
  for (const PodToPlace& pod : pods) {
    if (!reads_rows(pod, table)) continue;
    const TileCache::Place at = tiles.find_current(pod.class_index, log);
    if (at.tile == nullptr || !at.tile->is_whole(at.slot) || nomination_answers.knows(pod.class_index)) return false;
    if (table[pod.class_index].topology == nullptr) continue;
    const GroupedRow* row = grouped_rows.find_existing(pod.class_index);
    if (row == nullptr || !row->is_current(log)) return false;
  }
  return true;
}

std::optional<Selection> CpuBackend::State::select_for_fork(const PodToPlace& pod, const CommitState& fork,
                                                            const ExcludedNodes& touched) const {
  const std::int32_t c = pod.class_index;
  const PodClass& pod_class = table[c];
  if (!is_ready_for_forks({&pod, 1}) || !plain_mode() || !fork.plain_mode() || !reads_rows(pod, table) ||
      fork.nominations.any_against(*pod.pod) || scores_may_leave_range(pod_class, fork.snapshot))
    return std::nullopt;
  const TileCache::Place at = tiles.find_current(c, log);
  thread_local ForkScratch own;
  const GroupedRow* row = pod_class.topology != nullptr ? grouped_rows.find_existing(c) : nullptr;
  const TopologyCounts& counts = fork.snapshot.topology();
  exclude(touched, row, counts, own.excluded);
  const NodeSideRow& node_side = *table.built_node_side(c);
  const UncachedClass nodes(pod_class, table.profile_of(c), node_side, fork.snapshot);
  const auto extra_of = [&](std::int32_t node) {
    const std::int64_t total = nodes.load_total(node) + node_side.fixed_total(fork.snapshot, node);
    return ExtraNode{node, make_node_key(total, nodes.draw(node)), node_side.raws(fork.snapshot, node)};
  };
  std::optional<Selection> selection;
  if (row == nullptr) {
    own.extras.clear();
    for (const std::int32_t node : own.excluded.members())
      if (nodes.accepts(node)) own.extras.push_back(extra_of(node));
    selection = berth::select_in_row(*at.tile, at.slot, fork.snapshot, own.excluded, own.extras);
  } else {
    using Place = NodeTopology<TopologyCounts>;
    std::vector<ExtraPlace<Place>> extras;
    for (const std::int32_t node : own.excluded.members())
      if (nodes.accepts(node) && filter_topology(pod_class, fork.snapshot, node).accepts())
        extras.push_back({extra_of(node), Place(*pod_class.topology, counts, node)});
    selection = row->select(SlotKeys{*at.tile, at.slot}, counts, own.excluded,
                            std::span<const ExtraPlace<Place>>(extras), own.selection);
  }
  if (selection && !table.profile_of(c).scores_anything) selection->total = 1;
  return selection;
}

}  // namespace berth
