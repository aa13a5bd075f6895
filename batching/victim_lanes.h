// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lists of victims side by side in lanes, as reprieve_lanes.h reads them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "batching/prepared_list.h"
#include "batching/reprieve_lanes.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// Which resources lie in lanes: row 0 counts pods, the others are those that classes asked for first.
class LaneColumns {
 public:
  static constexpr std::size_t kRowsMax = 9;

  /// Forgets all rows.
  void begin(std::int32_t column_count);
  /// Gives rows to the resources that the class requests, while there are some. @return false: nothing changed
  bool add(const PodClass& pod_class);
  /// The request of a class in lanes; size 0: the class has no room in lanes.
  LaneRequest request(const PodClass& pod_class) const;
  std::size_t rows() const { return columns_.size() + 1; }
  std::int32_t column(std::size_t row) const { return columns_[row - 1]; }
  /// 0: none.
  std::size_t row_of(std::int32_t column) const { return row_of_column_[static_cast<std::size_t>(column)]; }

 private:
  std::vector<std::size_t> row_of_column_;
  std::vector<std::int32_t> columns_;  ///< [row - 1]
};

/// The nodes of kListLanes lists, as they are now.
struct LaneNodes {
  std::array<ListLanes, LaneColumns::kRowsMax> free{};  ///< ListBlock::free
  std::array<ListLanes, LaneColumns::kRowsMax> allocatable{};
  std::array<bool, kListLanes> is_exact{};  ///< otherwise the lane must not be read
};

/// Lists from several blocks side by side, where few lists of a block are asked about.
struct GatheredLanes {
  std::vector<ListLanes> amounts;  ///< [victim x row]
  std::size_t victims = 0;         ///< of the longest list
};

/// Lists by position, kListLanes positions a block.
class LaneTable {
 public:
  static std::size_t block_of(std::size_t position) { return position / kListLanes; }
  static std::size_t lane_of(std::size_t position) { return position % kListLanes; }

  void resize(std::size_t positions) { blocks_.resize((positions + kListLanes - 1) / kListLanes); }
  std::size_t size() const { return blocks_.size() * kListLanes; }
  void clear() { blocks_.clear(); }
  /// put() has set a list of this version there.
  bool has(std::size_t position, std::uint64_t version) const {
    return position < size() && node_at(position) >= 0 &&
           blocks_[block_of(position)].versions[lane_of(position)] == version;
  }
  /// In place of the list that lies there.
  void put(std::size_t position, std::int32_t node, const PreparedList& list, const LaneColumns& columns);
  /// Reads what the node of a list offers and has in use.
  void read_node(std::size_t position, const LaneColumns& columns, const Snapshot& snapshot, std::size_t lane,
                 LaneNodes& nodes) const;
  /// @param nodes  of the lists of the block, which are read. Valid until put() and while `nodes` is
  ListBlock block(std::size_t block, const LaneColumns& columns, const LaneNodes& nodes) const {
    const Block& of = blocks_[block];
    return {nodes.free.data(), nodes.allocatable.data(), of.amounts.data(), columns.rows(), of.victims};
  }
  /// Puts the lists at these positions, kListLanes or fewer, into lanes in this order.
  void gather(std::span<const std::size_t> positions, const LaneColumns& columns, GatheredLanes& into) const;
  /// The node of the list at the position; -1: there is none.
  std::int32_t node_at(std::size_t position) const { return blocks_[block_of(position)].nodes[lane_of(position)]; }

 private:
  struct Block {
    Block() { nodes.fill(-1); }
    std::array<std::int32_t, kListLanes> nodes;  ///< -1: there is no list
    std::array<std::uint64_t, kListLanes> versions{};
    std::array<bool, kListLanes> is_exact{};
    std::vector<ListLanes> amounts;  ///< [victim x row]
    std::vector<ListLanes> sums;     ///< [row] of all victims
    std::size_t victims = 0;         ///< of the longest list
  };
  std::vector<Block> blocks_;
};

/// Takes what is nominated to the node, and counts against the pod, from what is left in a lane.
/// @return false, with the lane as it was: the amounts would not be exact
bool crowd_lane(const Pod& pod, std::int32_t node, std::size_t lane, const Nominations& nominations,
                const LaneColumns& columns, LaneNodes& nodes);

}  // namespace berth
