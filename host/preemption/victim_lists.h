// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/cluster/pod_footprint.h"
#include "host/preemption/candidate_cost.h"
#include "host/preemption/victim_bounds.h"
#include "host/preemption/victims.h"

namespace berth {

/// The nodes of a cluster in node order, as an engine numbers them, and whom preemptors of each priority may evict
/// there. Lists are made when they are asked for, and again when the pods of their node changed.
class VictimLists {
 public:
  /// All arguments outlive the object.
  VictimLists(const Backend& backend, const ClusterCache& cache, const DisruptionBudgets& budgets)
      : backend_(backend), cache_(cache), budgets_(budgets) {}

  /// Call before reading when the cache may have changed. Lists that were handed out are void then.
  void refresh();
  /// Call when budgets changed: all lists are made again. Those that were handed out are void.
  void forget_victims() {
    lists_.clear();
    change_all();
  }

  // What changed, for those who keep what they made from lists.

  /// Changes when any list, or position, may have: changed_positions() begins again.
  std::uint64_t changes_begin() const { return changes_begin_; }
  /// Positions whose lists changed since then, oldest first; one may be there several times.
  std::span<const std::uint32_t> changed_positions() const { return changed_positions_; }

  std::size_t size() const { return nodes_.size(); }
  const NodeInfo& node(std::size_t position) const { return *nodes_[position]; }
  NodeIndex index(std::size_t position) const { return indexes_[position]; }
  /// What the node has left.
  const NodeRoom& room(std::size_t position) const { return rooms_[position]; }
  /// Position of the node; size() when there is none.
  std::size_t find(std::string_view name) const;
  /// The same of a node by its index.
  std::size_t find(NodeIndex index) const {
    const auto slot = static_cast<std::size_t>(index.value);
    return slot < position_of_slot_.size() ? position_of_slot_[slot] : size();
  }
  /// The lists of one priority. Valid until refresh().
  class OfPriority;
  OfPriority of(std::int32_t priority);
  /// potential_victims() of the node. Valid until refresh().
  VictimList list(std::size_t position, std::int32_t priority);
  /// What is compared between candidates, for each victim of the list: beside each other, so that comparing them does
  /// not visit the pods. Valid until refresh().
  const VictimRanks& ranks(std::size_t position, std::int32_t priority);

 private:
  struct List {
    std::vector<Victim> victims;
    VictimRanks ranks;
    VictimBounds bounds;
    std::uint64_t version = 0;  ///< VictimList::version; 0: not made
  };

  struct Series {
    std::uint64_t series = 0;  ///< VictimList::series
    std::vector<List> lists;   ///< [position]
  };

  bool has_moved_slots() const;
  void number_nodes();
  void change_all() noexcept {
    ++changes_begin_;
    changed_positions_.clear();
  }
  Series& series_of(std::int32_t priority);
  List& kept_list(std::size_t position, std::int32_t priority, Series& of) {
    List& list = of.lists[position];
    if (list.version == 0) make(position, priority, list);
    return list;
  }
  void make(std::size_t position, std::int32_t priority, List& list);

  const Backend& backend_;
  const ClusterCache& cache_;
  const DisruptionBudgets& budgets_;
  std::uint64_t generation_ = 0;  ///< of the cache
  std::uint64_t order_generation_ = 0;
  bool is_numbered_ = false;
  std::vector<const NodeInfo*> nodes_;
  std::vector<NodeIndex> indexes_;
  std::vector<NodeRoom> rooms_;
  FootprintMemo footprints_;
  std::vector<std::size_t> position_of_slot_;  ///< size() where the slot has no node
  std::unordered_map<std::string_view, std::size_t> position_of_;
  std::map<std::int32_t, Series> lists_;  ///< [priority]
  std::uint64_t changes_begin_ = 1;
  std::vector<std::uint32_t> changed_positions_;
};

class VictimLists::OfPriority {
 public:
  OfPriority(VictimLists& lists, std::int32_t priority)
      : lists_(lists), priority_(priority), series_(lists.series_of(priority)) {}

  VictimList list(std::size_t position) {
    const List& list = lists_.kept_list(position, priority_, series_);
    return {lists_.indexes_[position], list.victims, series_.series, list.version};
  }
  const VictimRanks& ranks(std::size_t position) { return lists_.kept_list(position, priority_, series_).ranks; }
  const VictimBounds& bounds(std::size_t position) { return lists_.kept_list(position, priority_, series_).bounds; }

 private:
  VictimLists& lists_;
  std::int32_t priority_;
  Series& series_;
};

inline VictimLists::OfPriority VictimLists::of(std::int32_t priority) { return {*this, priority}; }
inline VictimList VictimLists::list(std::size_t position, std::int32_t priority) { return of(priority).list(position); }
inline const VictimRanks& VictimLists::ranks(std::size_t position, std::int32_t priority) {
  return of(priority).ranks(position);
}

}  // namespace berth
