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
  void forget_victims() { lists_.clear(); }

  std::size_t size() const { return nodes_.size(); }
  const NodeInfo& node(std::size_t position) const { return *nodes_[position]; }
  NodeIndex index(std::size_t position) const { return indexes_[position]; }
  /// Position of the node; size() when there is none.
  std::size_t find(std::string_view name) const;
  /// potential_victims() of the node. Valid until refresh().
  VictimList list(std::size_t position, std::int32_t priority);

 private:
  struct List {
    std::vector<Victim> victims;
    std::uint64_t version = 0;  ///< VictimList::version; 0: not made
  };

  void number_nodes();

  const Backend& backend_;
  const ClusterCache& cache_;
  const DisruptionBudgets& budgets_;
  std::uint64_t generation_ = 0;  ///< of the cache
  std::uint64_t order_generation_ = 0;
  bool is_numbered_ = false;
  std::vector<const NodeInfo*> nodes_;
  std::vector<NodeIndex> indexes_;
  std::unordered_map<std::string_view, std::size_t> position_of_;
  std::map<std::int32_t, std::vector<List>> lists_;  ///< [priority][position]
};

}  // namespace berth
