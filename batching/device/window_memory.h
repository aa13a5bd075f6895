// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the threads that commit a window (window_body.h) keep of its pods and nodes, small enough for the shared memory
// of a block.

#include <cstddef>
#include <cstdint>

#include "batching/device/cell_selection.h"
#include "batching/device/row_tournament.h"
#include "batching/device/views.h"

namespace berth {

/// What is known of one cell at a pod's turn.
struct WindowCell {
  NodeKey key = 0;               ///< the best; 0: none is feasible
  std::int32_t node = -1;        ///< that has it; -1 likewise
  std::int32_t touched = -1;     ///< its number among the touched nodes; -1: it is none of them
  std::int32_t top = -1;         ///< its number in WindowPod::tops; -1: it is not listed there
  std::int32_t live_change = 0;  ///< feasible nodes, compared with the row
};

struct CombineWindowCells {
  const std::uint32_t* rank;  ///< DeviceColumns::rank
  BERTH_HD bool is_better(const WindowCell& a, const WindowCell& b) const {
    if (a.key != b.key || a.key == 0) return a.key > b.key;
    return rank[a.node] < rank[b.node];
  }
  BERTH_HD WindowCell operator()(const WindowCell& a, const WindowCell& b) const {
    const WindowCell& best = is_better(b, a) ? b : a;
    return {best.key, best.node, best.touched, best.top, a.live_change + b.live_change};
  }
};

/// The cells of a row at a pod's turn, as CellSelection reads them. A node is its own position.
struct WindowRow {
  const DeviceLayout& layout;
  const std::int32_t* live;  ///< of the row
  const WindowCell* cells;   ///< [layout.cell_count]

  BERTH_HD RowEntry top(std::int32_t cell) const { return {cells[cell].key, cells[cell].node}; }
  BERTH_HD std::int32_t node_at(std::int32_t position) const { return position; }
  /// Where counts_feasible() is false, not exact, but 0 where none is feasible, and above 1 where more are.
  BERTH_HD std::int32_t live_of(std::int32_t cell) const {
    return cells[cell].key > 0 ? live[cell] + cells[cell].live_change : 0;
  }
};

/// UsualNodes by the draw rule of the window's first pod, side by side.
template <std::size_t kCount>
struct UsualNodes {
  double values[8][kCount];
  Draw draws[kCount];
  std::uint32_t seeds[kCount];
  std::uint8_t applies[kCount];
  std::uint8_t has_room[kCount];

  BERTH_HD void store(std::int32_t index, const UsualNode& node) {
    store_offer(0, index, node.cpu);
    store_offer(4, index, node.memory);
    draws[index] = node.draw.bits;
    seeds[index] = node.draw.seed;
    applies[index] = node.applies ? 1 : 0;
    has_room[index] = node.has_room ? 1 : 0;
  }
  BERTH_HD UsualNode load(std::int32_t index) const {
    UsualNode node;
    node.cpu = load_offer(0, index);
    node.memory = load_offer(4, index);
    node.draw = {draws[index], seeds[index]};
    node.applies = applies[index] != 0;
    node.has_room = has_room[index] != 0;
    return node;
  }

 private:
  BERTH_HD void store_offer(int first, std::int32_t index, const UsualOffer& offer) {
    values[first][index] = offer.allocatable.value;
    values[first + 1][index] = offer.allocatable.reciprocal;
    values[first + 2][index] = offer.requested;
    values[first + 3][index] = offer.in_use;
  }
  BERTH_HD UsualOffer load_offer(int first, std::int32_t index) const {
    UsualOffer offer;
    offer.allocatable.value = values[first][index];
    offer.allocatable.reciprocal = values[first + 1][index];
    offer.requested = values[first + 2][index];
    offer.in_use = values[first + 3][index];
    return offer;
  }
};

/// What is read ahead of a pod's turn.
struct WindowPod {
  /// As many as pods before it may take until its turn, and one more.
  static constexpr std::int32_t kTops = kWindowPartMax + 1;
  /// Nodes that are also read with the pod, divided among the cells.
  static constexpr std::int32_t kRead = 32;
  std::int32_t cell_count;
  bool counts;           ///< counts_feasible()
  bool is_plain;         ///< CellSelection::is_plain()
  NodeKey plain_addend;  ///< where it is
  DeviceRow row;
  DeviceClass pod_class;
  NodeKey cutoffs[kWindowCellsMax];  ///< of the lists
  std::int32_t top_counts[kWindowCellsMax];
  DeviceTop tops[kWindowCellsMax][kTops];  ///< the best nodes of the lists that were not touched
  UsualNodes<kRead> with_pod;              ///< the first read_of_cell() of each cell

  BERTH_HD std::int32_t read_of_cell() const {
    const std::int32_t each = kRead / cell_count;
    return each < kTops ? each : kTops;
  }
};

/// How a pod of a window went.
struct WindowStep {
  bool is_last = false;      ///< the window ends behind it
  bool is_answered = false;  ///< otherwise the lists do not tell where it goes
  bool touches = false;      ///< `node` was not touched before
  std::int32_t node = -1;    ///< where it was placed
  std::int32_t touched = 0;  ///< its number among the touched nodes
  std::int32_t read = -1;    ///< its number in WindowPod::with_pod; -1: it was not read
};

/// Most solo teams of a team that commits a window.
inline constexpr int kWindowSolosMax = 32;

/// What the threads of the team share.
struct WindowMemory {
  UsualNodes<kWindowPodsMax> touched;
  std::int32_t touched_nodes[kWindowPodsMax];  ///< which nodes those are
  WindowPod pods[kWindowPartMax];
  std::int32_t placed[kWindowPartMax];                ///< nodes that were touched since `pods` were read
  WindowCell seen[kWindowCellsMax][kWindowSolosMax];  ///< of each cell by each solo team
  WindowCell cells[kWindowCellsMax];                  ///< all together
  WindowStep step;
};

/// The memory of a window where it is no shared memory.
struct WindowMemoryAt {
  WindowMemory* memory;
  WindowMemory& operator()() const { return *memory; }
};

}  // namespace berth
