// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/victim_lists.h"

namespace berth {
namespace {

/// Priorities whose lists are kept from call to call: few clusters have more PriorityClasses that preempt.
constexpr std::size_t kPrioritiesMax = 16;

}  // namespace

void VictimLists::refresh() {
  const std::span<const NodeInfo* const> in_order = cache_.nodes_in_order();
  if (!is_numbered_ || cache_.order_generation() != order_generation_) {
    nodes_.assign(in_order.begin(), in_order.end());
    number_nodes();
    lists_.clear();
  } else if (lists_.size() > kPrioritiesMax) {
    lists_.clear();
  } else {
    for (const NodeInfo* const node : cache_.changed_since(generation_)) {
      const std::size_t position = find(node->name);
      for (auto& [priority, of_priority] : lists_) of_priority[position] = {};
    }
  }
  generation_ = cache_.generation();
}

void VictimLists::number_nodes() {
  std::unordered_map<std::string_view, std::int32_t> slots;
  for (std::int32_t slot = 0; slot < backend_.slot_count(); ++slot)
    if (const std::string_view name = backend_.node_name({slot}); !name.empty()) slots.emplace(name, slot);
  indexes_.clear();
  position_of_.clear();
  for (const NodeInfo* const node : nodes_) {
    position_of_.emplace(node->name, indexes_.size());
    indexes_.push_back({slots.at(node->name)});
  }
  order_generation_ = cache_.order_generation();
  is_numbered_ = true;
}

std::size_t VictimLists::find(std::string_view name) const {
  const auto at = position_of_.find(name);
  return at == position_of_.end() ? size() : at->second;
}

VictimList VictimLists::list(std::size_t position, std::int32_t priority) {
  std::vector<List>& of_priority = lists_[priority];
  of_priority.resize(size());
  List& list = of_priority[position];
  if (list.version == 0) list = {potential_victims(*nodes_[position], priority, budgets_), next_victim_list_version()};
  return {indexes_[position], list.victims, list.version};
}

}  // namespace berth
