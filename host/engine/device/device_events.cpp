// SPDX-License-Identifier: Apache-2.0
// Events of node objects: the device takes them in before the next call that it answers, in one transfer and one
// launch.

#include <new>

#include "batching/device/device_errors.h"
#include "host/engine/device/device_state.h"

namespace berth {

/// Call before anything else of a batch. @param pod_count  of the batch
void DeviceBackend::State::begin_batch(std::size_t pod_count) {
  const bool order_changed = begin_cycle(pod_count);
  follow_node_events();
  // The places of nodes in node order are part of all keys.
  if (order_changed && engine.tie_break == TieBreak::kFirst) rows.clear();
}

/// For follow_node_events(). Where memory runs out, everything is uploaded again instead.
void DeviceBackend::State::note_changed_nodes(std::span<const ChangedNode> nodes) {
  try {
    for (const ChangedNode& node : nodes) changed_nodes[node.slot].insert(node.parts);
  } catch (const std::bad_alloc&) {
    reset_device();
  }
}

/// Everything that classes were compiled from is where it was, and there is room for what is new.
bool DeviceBackend::State::can_follow_node_events() const {
  const TopologyCounts& counts = snapshot.topology();
  return !columns.is_empty() && changed_nodes.size() <= tuning.changed_nodes_max(snapshot.slot_count()) &&
         known_resources == snapshot.resources_built() && !columns.has_replaced_table(counts) &&
         columns.has_room_for(counts) && classes.can_follow(counts);
}

void DeviceBackend::State::follow_node_events() {
  accelerator->use_in_this_thread();  // every call that uses the device begins here, except those of forks
  if (has_failed_for_forks) reset_device();
  if (changed_nodes.empty()) return;
  if (!can_follow_node_events()) return reset_device();
  try {
    NodeEventDelta delta(changed_nodes);
    for (const std::int32_t pod_class : classes.drop_classes_of_other_sides(table)) rows.drop_row_of(pod_class);
    classes.follow(table, snapshot, delta);
    rows.add_vacancies(delta);
    if (!delta.vacancies.empty()) delta.layouts = classes.layouts();
    columns.update(snapshot, log, delta);
    for (const std::int32_t layout : delta.to_rebuild) {
      classes.rebuild_layout(layout, table, snapshot);
      rows.drop_rows_of(layout);
    }
    changed_nodes.clear();
    // Rows contain which of equal keys is first in node order.
    if (order_moves != snapshot.order_moves()) rows.clear();
    order_moves = snapshot.order_moves();
  } catch (const DeviceOutOfMemory&) {
    reset_device();  // uploading everything needs no memory beside that of the columns
  }
}

}  // namespace berth
