// SPDX-License-Identifier: Apache-2.0
#pragma once

// A snapshot, its classes and their rows on a device: plain structs of sizes and pointers into device memory, copied to
// the device bitwise. DeviceSnapshot, DeviceClassTable and DeviceRowStore own the memory.
//
// Layout: a column over nodes has `node_count` entries in snapshot order, and a matrix of columns is column-major with
// `stride` entries per column. Units are those of host/cluster/snapshot.h. Lists of classes are concatenated in pools;
// a class has the first entry and the count of its part.

#include <cstdint>

#include "batching/node_key.h"
#include "batching/node_side_scores.h"
#include "batching/usual_load.h"
#include "host/config/scoring_strategy.h"
#include "host/framework/draw_bits.h"

namespace berth {

/// The children of one entry of a row's tournament.
inline constexpr std::int32_t kDeviceArity = 8;
inline constexpr std::int32_t kDeviceArityLog2 = 3;
/// 8^11 nodes are more than an int32 counts.
inline constexpr std::int32_t kDeviceLevelsMax = 12;
/// Resources of one list that a device thread has room for; a profile that scores more runs on the host.
inline constexpr std::int32_t kDeviceResourcesMax = 16;
/// Constraints of one kind, hard or soft, of one class; pods with more are placed by the host.
inline constexpr std::int32_t kDeviceConstraintsMax = 16;

/// The nodes.
struct DeviceColumns {
  std::int32_t node_count = 0;
  std::int64_t stride = 0;  ///< of the matrices over nodes

  // Changed by node events only.
  const std::int64_t* allocatable = nullptr;   ///< [resource][node]
  const std::int64_t* allowed_pods = nullptr;  ///< [node]
  const std::uint64_t* name_hash = nullptr;    ///< [node]
  const std::uint32_t* rank = nullptr;         ///< [node] position in node order
  const std::int32_t* in_order = nullptr;      ///< [node_count] the nodes in node order, then free slots

  // Changed by placements.
  std::int64_t* requested = nullptr;              ///< [resource][node]
  std::int64_t* non_zero_milli_cpu = nullptr;     ///< [node]
  std::int64_t* non_zero_memory_bytes = nullptr;  ///< [node]
  std::int64_t* pod_count = nullptr;              ///< [node]
  std::uint8_t* port_taken = nullptr;             ///< [port set][node] 1: a port of the set is in use
};

/// One table of counts per topology domain: host/cluster/topology_counts.h.
struct DeviceTable {
  std::int64_t first = 0;             ///< of its counts: domain d is at first + d
  std::int32_t column = 0;            ///< of domains
  std::int32_t domain_count = 0;      ///< domains are 1 to domain_count; 0: no domain
  std::int32_t existing_domains = 0;  ///< with a node that counts
  std::int32_t mask = -1;             ///< of the nodes that count; -1: all
};

struct DeviceCounts {
  std::int64_t stride = 0;                  ///< of the matrices over nodes
  const std::int32_t* domain_of = nullptr;  ///< [column][node] 0: no domain
  const std::uint8_t* masks = nullptr;      ///< [mask][node]
  const DeviceTable* tables = nullptr;      ///< [table]
  const std::uint8_t* exists = nullptr;     ///< parallel to counts; 1: the domain has a node that counts
  const double* weight_of_size = nullptr;   ///< [node_count + 1] DomainWeights
  std::int64_t* counts = nullptr;           ///< all tables, concatenated
  std::int64_t* totals = nullptr;           ///< [table]
};

/// One resource of a list: checked by the filter, scored, or added by a placement.
struct DeviceRequest {
  std::int32_t column = -1;  ///< kNoColumn: no node offers it
  std::int64_t amount = 0;
  std::int64_t weight = 0;  ///< where it is scored; 0: the class leaves it out
};

struct DeviceList {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

/// One table that a class reads. `attribute` is the row of DeviceLayout::domains with the domain of each cell;
/// kFoldedIn: every node is its own domain, and the term is part of the node's key.
struct DeviceRead {
  static constexpr std::int32_t kFoldedIn = -1;
  std::int32_t table = 0;
  std::int32_t attribute = kFoldedIn;
  std::int32_t max_skew = 0;      ///< of a spread constraint
  std::int32_t min_domains = 0;   ///< of a hard one
  std::int32_t self = 0;          ///< of a hard one
  std::int32_t label_column = 0;  ///< of a soft one
  bool counts_nodes = false;      ///< of a soft one: every node is its own domain
  std::int64_t multiplier = 0;    ///< of a preferred term
};

struct DeviceMove {
  std::int32_t table = 0;
  std::int32_t amount = 0;
};

struct DeviceProfile {
  ScoringStrategyType strategy = ScoringStrategyType::kLeastAllocated;
  bool checks_fit = false;
  bool checks_ports = false;
  bool balance_of_change = false;  ///< v1.36 formula of NodeResourcesBalancedAllocation
  bool scores_anything = false;
  std::int32_t weight_fit = 0;
  std::int32_t weight_balanced = 0;
  std::int32_t weight_spread = 0;
  std::int32_t weight_pod_affinity = 0;
  std::int32_t score_of_utilization[101] = {};
  DrawRule draw;
};

struct DeviceClass {
  std::int32_t profile = 0;
  std::uint32_t draw_seed = 0;  ///< read where draws are by class
  bool balanced_skips = false;
  bool fails_scoring = false;  ///< with two feasible nodes and more, the cycle ends with an error
  std::int32_t port_set = -1;  ///< -1: no host ports
  NormalizedWeights node_side_weights;

  // Lists of DeviceRequest. `filter` begins with cpu and memory, if the class requests them.
  DeviceList filter, fit, balanced, delta;
  UsualLoad usual;                   ///< the same, where the class counts cpu and memory alone
  DeviceList filter_beside;          ///< the rest of `filter` beside cpu and memory
  std::int64_t delta_milli_cpu = 0;  ///< non-zero figures of a placed pod
  std::int64_t delta_memory_bytes = 0;

  // Lists of DeviceRead.
  DeviceList hard, soft, affinity, anti, existing_anti, preferred;
  bool matches_itself = false;
  bool has_topology = false;
  DeviceList moves;  ///< of DeviceMove
};

struct DeviceClasses {
  const DeviceClass* classes = nullptr;
  const DeviceProfile* profiles = nullptr;
  const DeviceRequest* requests = nullptr;
  const DeviceRead* reads = nullptr;
  const DeviceMove* moves = nullptr;
  const std::uint8_t* port_conflicts =
      nullptr;  ///< [port set][port set] 1: a pod with one keeps pods with the other off
  std::int32_t port_set_count = 0;
};

/// The order of nodes in the row of a class: in cells, whose nodes are equal in everything that selection reads besides
/// the key, and in snapshot order within a cell until nodes move between cells. Each cell has a tournament of arity
/// kDeviceArity with `level_count` levels that ends in one entry. Cells have free positions, and some cells no node:
/// room for nodes that change.
struct DeviceLayout {
  std::int32_t node_count = 0;  ///< slots
  std::int32_t cell_count = 0;
  std::int32_t level_count = 1;
  bool by_node = false;   ///< every node is its own cell; cell and position are the node, and there is one level
  bool in_order = false;  ///< one cell of all nodes: the position is the node
  bool ignores_incomplete = false;  ///< cells of nodes without a soft key are left out of spread scores

  const std::int32_t* cell_of = nullptr;      ///< [node] -1: the class is never placed there; null by_node and in_order
  const std::int32_t* position_of = nullptr;  ///< [node]; null likewise
  const std::int32_t* node_at = nullptr;      ///< [position] -1: free, for a node that comes later; null likewise
  const std::int32_t* level_begin = nullptr;  ///< [level][cell_count + 1] first entry of each cell; null by_node
  std::int64_t level_offset[kDeviceLevelsMax + 1] = {};  ///< of each level in the row's entries; the last: their number

  const std::int32_t* base =
      nullptr;  ///< [node] node-side scores that need no normaliser; -1: refused by the node's object
  const std::int64_t* raws = nullptr;          ///< [rule of RawScores][cell]
  const std::int32_t* domains = nullptr;       ///< [attribute][cell]; by_node: read from DeviceCounts::domain_of
  const std::uint64_t* soft_labels = nullptr;  ///< [cell] bit per soft constraint; by_node: read likewise
};

/// A set of nodes in device memory: bit node % 32 of word node / 32.
inline constexpr std::int32_t kNodesPerWord = 32;
BERTH_HD constexpr std::int32_t node_set_words(std::int32_t node_count) {
  return (node_count + kNodesPerWord - 1) / kNodesPerWord;
}
BERTH_HD constexpr bool is_in_node_set(const std::uint32_t* words, std::int32_t node) {
  return (words[node / kNodesPerWord] >> (node % kNodesPerWord) & 1u) != 0;
}

/// The row of a class in device memory.
struct DeviceRow {
  std::int32_t pod_class = 0;
  std::int32_t layout = 0;
  NodeKey* keys = nullptr;       ///< [entry] level by level; 0: not feasible
  std::int32_t* best = nullptr;  ///< [entry from level 1 up] position of the entry's best node
  std::int32_t* live = nullptr;  ///< [cell] feasible nodes, without topology rules; null by_node
  /// [node_set_words()] nodes that are not feasible whatever the columns say: they refuse because of nominations.
  std::uint32_t* left_out = nullptr;
  bool leaves_out = true;  ///< false: `left_out` is known to be empty
};

struct DeviceRows {
  const DeviceRow* rows = nullptr;  ///< of the current batch
  const DeviceLayout* layouts = nullptr;
};

/// Memory of a team for the current selection.
struct DeviceScratch {
  std::int32_t* seen =
      nullptr;  ///< [kDeviceConstraintsMax][domains_max + 1] mark of the latest selection with a feasible node there
  std::int64_t domains_max = 0;
  std::int32_t first_mark = 1;  ///< above every mark in `seen`
};

/// One independent state: the live one, or a fork.
struct DeviceState {
  DeviceColumns columns;
  DeviceCounts counts;
  DeviceClasses classes;
  DeviceRows rows;
  DeviceScratch scratch;
};

enum class DeviceOutcomeKind : std::int32_t { kPlaced, kUnschedulable, kScoringFails };

/// The outcome of one pod.
struct DeviceOutcome {
  DeviceOutcomeKind kind = DeviceOutcomeKind::kUnschedulable;
  std::int32_t node = -1;
  std::int64_t total = 0;  ///< 0 where a single node was feasible
};

/// One node for one pod: the scores of the rules on a device, before and after normalising. 0 where a rule does not
/// score.
struct DeviceNodeScores {
  bool feasible = false;  ///< the scores of other nodes are 0
  std::int64_t fit = 0;
  std::int64_t balanced = 0;
  RawScores raws;
  RawScores normalized;
  std::int64_t spread = 0;
  std::int64_t spread_normalized = 0;
  std::int64_t pod_affinity = 0;
  std::int64_t pod_affinity_normalized = 0;
};

/// A batch of pods that a device places without the host.
struct DeviceBatch {
  const std::int32_t* row_of_pod = nullptr;  ///< [pod_count]
  const std::int32_t* last_pod = nullptr;    ///< [row] the last pod of the batch that needs it; -1: none
  std::int32_t pod_count = 0;
  std::int32_t row_count = 0;
  bool stops_at_failure = false;
  /// [node_set_words()] the batch ends behind a pod that is placed on one of these: what rows leave out may change with
  /// it. null: no nodes
  const std::uint32_t* stops_at = nullptr;
  DeviceOutcome* outcomes = nullptr;        ///< [pod_count]
  std::int32_t* committed_count = nullptr;  ///< number of pods with an outcome; -1 until the batch has ended
};

/// A row with more cells is committed without a window.
inline constexpr std::int32_t kWindowCellsMax = 8;
/// Most pods of a window, so that what is read of the nodes that they are placed on fits the shared memory of a block.
inline constexpr std::int32_t kWindowPodsMax = 512;
/// Pods of a window that are prepared side by side.
inline constexpr std::int32_t kWindowPartMax = 16;

/// One of the best nodes of a cell before a window.
struct DeviceTop {
  NodeKey key = 0;
  std::int32_t node = -1;
};

/// The best nodes of a cell of a row before a window: those whose keys are above the cutoff, the best first. Of equal
/// keys the first node in node order is the better one.
struct DeviceTopList {
  std::int32_t count = 0;
  NodeKey cutoff = 0;  ///< the highest key of a node that is not listed; 0: all feasible nodes are
};

/// A batch whose rows are not updated while it is committed. A pod goes to the best of the nodes that no pod of the
/// batch has been placed on, from the lists, and of the others, which are evaluated again for it.
struct DeviceWindow {
  DeviceTop* tops = nullptr;               ///< [row][cells_max][tops_max]
  DeviceTopList* lists = nullptr;          ///< [row][cells_max]
  std::uint32_t* touched_nodes = nullptr;  ///< [node_set_words()] where pods were placed; all 0 before the batch
  std::int32_t cells_max = 0;              ///< of the rows of the batch; at most kWindowCellsMax
  std::int32_t tops_max = 0;               ///< of one list, at least 1, at most kWindowPodsMax

  /// Of a cell of a row of the batch, in `lists`; its nodes begin at this times tops_max.
  BERTH_HD std::int64_t list_of(std::int32_t row_index, std::int32_t cell) const {
    return std::int64_t{row_index} * cells_max + cell;
  }
};

/// Rows to evaluate on every node. Pointers are into device memory.
struct DeviceRowsToBuild {
  const std::int32_t* rows = nullptr;  ///< [row_count] indexes into DeviceRows::rows
  std::int32_t row_count = 0;
};

/// Rows to update, with the nodes that changed since they were current. Rows may share nodes.
struct DeviceRowsToRefresh {
  const std::int32_t* rows = nullptr;        ///< [row_count] indexes into DeviceRows::rows
  const std::int32_t* first_node = nullptr;  ///< [row_count] index into `nodes` of a row's first node
  const std::int32_t* end_node = nullptr;    ///< [row_count] behind its last one
  const std::int32_t* nodes = nullptr;       ///< in the order of the log; may contain a node twice
  std::int32_t row_count = 0;                ///< each row once
};

/// One value that a node event changed, anywhere in device memory.
struct DevicePatch {
  void* at = nullptr;  ///< aligned to `bytes`
  std::uint64_t value = 0;
  std::int32_t bytes = 8;  ///< 1, 4 or 8: the low ones of `value`
};

/// Positions of a row whose nodes have moved to other cells.
struct DeviceVacancy {
  DeviceRow row;
  std::int32_t first = 0;  ///< index into DeviceDelta::vacated
  std::int32_t count = 0;
};

/// Nodes and counters that the host has changed, with their current values.
struct DeviceDelta {
  const std::int32_t* nodes = nullptr;                  ///< [node_count]
  const std::int64_t* requested = nullptr;              ///< [resource][node_count]
  const std::int64_t* non_zero_milli_cpu = nullptr;     ///< [node_count]
  const std::int64_t* non_zero_memory_bytes = nullptr;  ///< [node_count]
  const std::int64_t* pod_count = nullptr;              ///< [node_count]
  const std::uint8_t* port_taken = nullptr;             ///< [port set][node_count]
  const std::int64_t* count_at = nullptr;               ///< [count_count] positions in DeviceCounts::counts
  const std::int64_t* counts = nullptr;                 ///< [count_count]
  const std::int64_t* totals = nullptr;                 ///< [table_count]; all of them, they are few
  std::int32_t node_count = 0;
  std::int32_t resource_count = 0;
  std::int32_t port_set_count = 0;
  std::int32_t count_count = 0;
  std::int32_t table_count = 0;

  // After events of node objects. No patch writes what the rest of the delta writes, or what vacancies read.
  const DevicePatch* patches = nullptr;      ///< [patch_count] each for another place
  const DeviceVacancy* vacancies = nullptr;  ///< [vacancy_count] each of another row
  const std::int32_t* vacated = nullptr;     ///< positions
  std::int32_t patch_count = 0;
  std::int32_t vacancy_count = 0;
};

}  // namespace berth
