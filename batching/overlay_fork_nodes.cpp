// SPDX-License-Identifier: Apache-2.0
// What an OverlayFork says of many nodes at once: which of them take a pod, and what they have and give.

#include <algorithm>
#include <iterator>
#include <utility>

#include "batching/answer_changes.h"
#include "batching/overlay_reading.h"
#include "batching/verdicts.h"

namespace berth {

/// Writes the entries of the nodes, which exist. @return false: the cycle ends with an error
bool OverlayFork::ask_nodes(const PodToPlace& pod, std::span<const NodeIndex> nodes,
                            std::vector<std::uint8_t>& accepts) const {
  const PodVerdicts verdicts = verdicts_of_pod_on(pod, nodes, state_->sides, state_->nominations, state_->snapshot);
  if (!verdicts.error.empty()) return false;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    accepts[static_cast<std::size_t>(nodes[i].value)] = verdicts.nodes[i].accepts() ? 1 : 0;
  return true;
}

/// The nodes that take the pod, with those asked again that changed since the last question about its class.
/// @return null: answers about the pod cannot be kept, or they end with an error
const KeptNodes* OverlayFork::accepting_now(const PodToPlace& pod) {
  const Snapshot& snapshot = state_->snapshot;
  KeptNodes* const kept = accepting_.find(pod);
  AnswerBasis basis = kept != nullptr ? kept->basis : AnswerBasis();
  const AnswerChanges changes =
      answer_changes(pod, basis, {state_->table, state_->nominations, snapshot, state_->log, 0});
  if (!changes.may_keep || changes.may_fail) return nullptr;
  const auto slots = static_cast<std::size_t>(snapshot.slot_count());
  std::vector<NodeIndex> asked;
  if (kept != nullptr && !changes.all && changes.nodes.size() < slots) {
    std::ranges::copy_if(changes.nodes, std::back_inserter(asked),
                         [&](NodeIndex node) { return snapshot.has_node(node.value); });
    if (!ask_nodes(pod, asked, kept->accepts)) return nullptr;
    kept->basis = basis;
    return kept;
  }
  KeptNodes now{basis, std::vector<std::uint8_t>(slots)};
  note_touched();
  const bool has_row = source_->live->mark_accepting_for_fork(pod, *state_, now.accepts);
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i) {
    if (!snapshot.has_node(i)) {
      now.accepts[static_cast<std::size_t>(i)] = 0;
    } else if (!has_row || i >= snapshot.engine_slot_count() || touched_.contains(i)) {
      asked.push_back({i});
    }
  }
  return ask_nodes(pod, asked, now.accepts) ? &accepting_.keep(pod, std::move(now)) : nullptr;
}

void OverlayFork::amounts_on(std::span<const std::string> resources, std::span<const NodeIndex> nodes,
                             std::span<std::int64_t> requested, std::span<std::int64_t> allocatable) {
  const bool done = on_overlay([&](Reading&) {
    const Snapshot& snapshot = state_->snapshot;
    const auto has_column = [&](const std::string& name) {
      return name == kPods || snapshot.find_resource(name) != kNoColumn;
    };
    if (!std::ranges::all_of(resources, has_column)) return false;
    const bool by_runs = !nodes.empty() && are_consecutive(nodes);
    for (std::size_t r = 0; r < resources.size(); ++r) {
      const std::int32_t column = snapshot.find_resource(resources[r]);  // kNoColumn: pods
      const auto write = [&](std::span<std::int64_t> out, auto read_pods, auto read_amount, auto copy) {
        if (out.empty()) return;
        const std::span<std::int64_t> of_resource = out.subspan(r * nodes.size(), nodes.size());
        if (column != kNoColumn && by_runs) return (snapshot.*copy)(column, nodes[0].value, of_resource);
        std::ranges::transform(nodes, of_resource.begin(), [&](NodeIndex node) {
          return column == kNoColumn ? (snapshot.*read_pods)(node.value) : (snapshot.*read_amount)(column, node.value);
        });
      };
      write(requested, &Snapshot::pod_count, &Snapshot::requested, &Snapshot::copy_requested);
      write(allocatable, &Snapshot::allowed_pods, &Snapshot::allocatable, &Snapshot::copy_allocatable);
    }
    return true;
  });
  if (!done) Fork::amounts_on(resources, nodes, requested, allocatable);
}

}  // namespace berth
