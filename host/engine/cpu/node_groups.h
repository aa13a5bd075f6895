// SPDX-License-Identifier: Apache-2.0
#pragma once

// The nodes of a class in groups whose members are equal in all that topology rules and normalisers read: their cell,
// and the counts of keys that are read by count. A group keeps its feasible nodes in a heap by key, so that a moved
// count re-weighs groups and never nodes. docs/decisions/0003-groups-by-domain.md

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "batching/commit_log.h"
#include "batching/excluded_nodes.h"
#include "batching/node_cells.h"
#include "batching/pod_class.h"
#include "batching/table_reads.h"
#include "batching/topology_rules.h"
#include "host/engine/cpu/row_tile.h"

namespace berth {

/// The keys of one class, without what depends on other nodes.
class SlotKeys {
 public:
  /// Those of a slot of a tile.
  SlotKeys(const RowTile& tile, int slot, NodeOrder order) : tile_(&tile), slot_(slot), order_(order) {}
  /// @param keys  [node]
  SlotKeys(const NodeKey* keys, NodeOrder order) : keys_(keys), order_(order) {}
  NodeKey operator[](std::int32_t node) const { return keys_ != nullptr ? keys_[node] : tile_->key(slot_, node); }
  std::int32_t rank(std::int32_t node) const { return order_.rank(node); }
  /// Whether an entry of a node is better than another one. @param other  its node is below 0: of no node
  template <class Entry>
  bool is_better(const Entry& entry, const Entry& other) const {
    if (other.node < 0 || entry.key != other.key) return other.node < 0 || entry.key > other.key;
    return order_.is_before(entry.node, other.node);
  }
  /// Calls body(key_of), where key_of(node) is the key: for loops over all nodes.
  template <class Body>
  void visit(Body body) const {
    if (keys_ != nullptr) return body([keys = keys_](std::int32_t node) { return keys[node]; });
    body([tile = tile_, slot = slot_](std::int32_t node) { return tile->key(slot, node); });
  }

 private:
  const NodeKey* keys_ = nullptr;  ///< null: the tile's
  const RowTile* tile_ = nullptr;
  int slot_ = 0;
  NodeOrder order_;
};

class NodeGroups {
 public:
  struct Entry {
    NodeKey key = 0;
    std::int32_t node = -1;
    std::int32_t rank = 0;  ///< in node order, which does not change while there are groups
    /// Heap order: the best key in front, the first node among equal keys.
    static bool is_worse(const Entry& a, const Entry& b) { return a.key != b.key ? a.key < b.key : a.rank > b.rank; }
  };
  struct Group {
    std::int32_t cell = 0;
    std::vector<std::int64_t> counts;  ///< as TableReads::counts_of_node() gives them
    std::int64_t live = 0;             ///< feasible nodes, without topology rules

   private:
    friend class NodeGroups;
    std::int32_t next_alike_ = -1;  ///< another group with the same hash
    std::int32_t active_at_ = -1;   ///< index into active_, -1 without live nodes
    std::vector<Entry> heap_;       ///< best first; outdated entries stay until they are at the top, which is current
    Entry best_;                    ///< of flat groups, which have no heap
  };

  /// The arguments must outlive the groups.
  NodeGroups(const TopologyProgram& program, const TableReads& reads) : program_(program), reads_(reads) {}

  void set_cells(std::shared_ptr<const NodeCells> cells) { cells_ = std::move(cells); }
  const NodeCells& cells() const { return *cells_; }
  const NodeCells::Cell& cell_of(const Group& group) const {
    return cells_->cells[static_cast<std::size_t>(group.cell)];
  }

  /// Keys of these nodes changed without an entry in the log. The next catch_up() takes that in.
  void note_key_changes(std::span<const std::int32_t> nodes) {
    changed_keys_.insert(changed_keys_.end(), nodes.begin(), nodes.end());
    ++version_;
  }
  /// Changes whenever groups, or the keys of their nodes, may have.
  std::uint64_t version() const { return version_; }

  /// What a group knows of its nodes: the best one alone is enough to select from all nodes, and cheaper where most
  /// keys have changed since the last selection. A selection outside a set needs all nodes in order.
  enum class Knows : std::uint8_t { kBestNode, kAllNodes };
  /// Applies the log entries since the last call. The keys must be current to the end of the log.
  void catch_up(const SlotKeys& keys, const ClassTable& table, const TopologyCounts& counts, const CommitLog& log,
                Knows needed = Knows::kBestNode);

  bool is_current(const CommitLog& log) const { return position_ == log.position(); }

  // Selection. Many threads may read one row at once; the keys are those of the last catch_up().

  /// Groups with live nodes, for group().
  const std::vector<std::int32_t>& active() const { return active_; }
  const Group& group(std::int32_t g) const { return groups_[static_cast<std::size_t>(g)]; }
  /// The number of a live node's group; -1 of any other node.
  std::int32_t group_of_live(std::int32_t node) const {
    return is_live(node) ? group_of_[static_cast<std::size_t>(node)] : -1;
  }
  std::int32_t group_count() const { return static_cast<std::int32_t>(groups_.size()); }
  /// The best node of an active group.
  const Entry& best(const Group& group) const { return flat_ ? group.best_ : group.heap_.front(); }

  // The same of the nodes outside a set, where knows_all_nodes().

  bool knows_all_nodes() const { return !flat_; }
  /// Live nodes of an active group.
  std::int64_t live_outside(const Group& group, const ExcludedNodes& excluded) const;
  /// The same of all active groups, in one pass over the set. @param live  [index into active()]
  void live_outside(const ExcludedNodes& excluded, std::vector<std::int64_t>& live) const;
  /// The best node of an active group; node -1 when the set holds all its live nodes. Costs a few steps in the heap for
  /// each entry that is better than the answer.
  Entry best_outside(const Group& group, const SlotKeys& keys, const ExcludedNodes& excluded) const;

  std::uint64_t bytes() const;

 private:
  Group& group(std::int32_t g) { return groups_[static_cast<std::size_t>(g)]; }
  std::int32_t find_group(const TopologyCounts& counts, std::int32_t node);
  std::int32_t add_group(std::int32_t cell);
  std::int32_t group_without_counts(const TopologyCounts& counts, std::int32_t node);
  void reset();
  /// Live nodes and the best of them.
  struct FlatGroup {
    std::int64_t live = 0;
    Entry best;
    void add(const FlatGroup& more) {
      if (live == 0 || Entry::is_worse(best, more.best)) best = more.best;
      live += more.live;
    }
  };
  void assign_flat(const SlotKeys& keys, const TopologyCounts& counts);
  void add_flat(std::int32_t g, const FlatGroup& nodes);
  void assign_all(const SlotKeys& keys, const TopologyCounts& counts);
  bool moves_groups(const LogEntry& entry, const ClassTable& table);
  void replay(const SlotKeys& keys, const ClassTable& table, const TopologyCounts& counts, const CommitLog& log);
  void assign(const SlotKeys& keys, std::int32_t node);
  void regroup(const SlotKeys& keys, const TopologyCounts& counts, std::int32_t node);
  void regroup_with_mates(const SlotKeys& keys, const TopologyCounts& counts, std::int32_t node);
  void activate(std::int32_t group);
  void set_live(std::int32_t node, bool live);
  void push(std::int32_t group, Entry entry, const SlotKeys& keys);
  void drop_outdated_top(std::int32_t group, const SlotKeys& keys);
  bool is_live(std::int32_t node) const {
    return static_cast<std::size_t>(node) < live_.size() && live_[static_cast<std::size_t>(node)] != 0;
  }
  bool is_current(const Entry& entry, std::int32_t group, const SlotKeys& keys) const {
    return group_of_[static_cast<std::size_t>(entry.node)] == group && keys[entry.node] == entry.key;
  }

  const TopologyProgram& program_;
  const TableReads& reads_;
  std::shared_ptr<const NodeCells> cells_;
  std::vector<Group> groups_;
  std::vector<std::int32_t> active_;
  std::vector<std::int32_t> group_of_cell_;  ///< the group of the cell's nodes whose counts are all 0; -1: none yet
  std::unordered_map<std::uint64_t, std::int32_t> group_of_hash_;
  std::vector<std::int32_t> group_of_;  ///< [node] -1: never feasible, or refused by a count of the node
  std::vector<std::uint8_t> live_;      ///< [node] in a group, and feasible by its key
  enum class Moves : std::uint8_t { kUnknown, kNo, kYes };
  std::vector<Moves> moved_by_;          ///< [class] of placements: moves_groups()
  std::uint64_t position_ = UINT64_MAX;  ///< in the log; UINT64_MAX: nothing assigned yet
  std::uint64_t version_ = 0;
  bool flat_ = true;                        ///< groups have their best node only, as of position_
  std::vector<std::int32_t> changed_keys_;  ///< besides those of the log
  std::vector<std::int64_t> scratch_;
  std::vector<FlatGroup> best_of_cell_;  ///< [cell] of nodes without counts, while groups are assigned
};

}  // namespace berth
