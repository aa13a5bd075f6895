// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/victim_lists.h"

#include <algorithm>

namespace berth {
namespace {

/// Priorities whose lists are kept from call to call: few clusters have more PriorityClasses that preempt.
constexpr std::size_t kPrioritiesMax = 16;
/// Changed positions that are remembered one by one.
constexpr std::size_t kChangesKept = 4096;

}  // namespace

void VictimLists::refresh() {
  const std::span<const NodeInfo* const> in_order = cache_.nodes_in_order();
  if (!is_numbered_ || cache_.order_generation() != order_generation_ || has_moved_slots()) {
    is_numbered_ = false;
    nodes_.assign(in_order.begin(), in_order.end());
    lists_.clear();
    change_all();
    number_nodes();
  } else {
    if (lists_.size() > kPrioritiesMax) lists_.clear();
    const std::vector<const NodeInfo*> changed = cache_.changed_since(generation_);
    if (changed_positions_.size() + changed.size() > kChangesKept) change_all();
    for (const NodeInfo* const node : changed) {
      const std::size_t position = find(node->name);
      changed_positions_.push_back(static_cast<std::uint32_t>(position));
      rooms_[position] = NodeRoom::of(*node);
      for (auto& [priority, of] : lists_) of.lists[position] = {};
    }
  }
  generation_ = cache_.generation();
}

/// Nodes that went and came back since the last call keep their place in the order, but the engine may have given them
/// other slots. They are among those that changed.
bool VictimLists::has_moved_slots() const {
  const std::vector<const NodeInfo*> changed = cache_.changed_since(generation_);
  return std::any_of(changed.begin(), changed.end(), [this](const NodeInfo* node) {
    const std::size_t position = find(node->name);
    return position == size() || backend_.node_name(indexes_[position]) != node->name;
  });
}

void VictimLists::number_nodes() {
  std::unordered_map<std::string_view, std::int32_t> slots;
  for (std::int32_t slot = 0; slot < backend_.slot_count(); ++slot)
    if (const std::string_view name = backend_.node_name({slot}); !name.empty()) slots.emplace(name, slot);
  indexes_.clear();
  rooms_.clear();
  position_of_.clear();
  position_of_slot_.assign(static_cast<std::size_t>(backend_.slot_count()), size());
  for (const NodeInfo* const node : nodes_) {
    const std::int32_t slot = slots.at(node->name);
    position_of_.emplace(node->name, indexes_.size());
    position_of_slot_[static_cast<std::size_t>(slot)] = indexes_.size();
    indexes_.push_back({slot});
    rooms_.push_back(NodeRoom::of(*node));
  }
  order_generation_ = cache_.order_generation();
  is_numbered_ = true;
}

std::size_t VictimLists::find(std::string_view name) const {
  const auto at = position_of_.find(name);
  return at == position_of_.end() ? size() : at->second;
}

VictimLists::Series& VictimLists::series_of(std::int32_t priority) {
  Series& of = lists_[priority];
  if (of.lists.size() != size()) of = {next_victim_list_version(), std::vector<List>(size())};
  return of;
}

void VictimLists::make(std::size_t position, std::int32_t priority, List& list) {
  List made{potential_victims(*nodes_[position], priority, budgets_), {}, {}, next_victim_list_version()};
  made.ranks.reserve(made.victims.size());
  for (const Victim& victim : made.victims) made.ranks.add(*victim.pod);
  made.bounds = {made.victims, made.ranks, footprints_};
  list = std::move(made);
}

}  // namespace berth
