// SPDX-License-Identifier: Apache-2.0
#pragma once

// The keys of one class on all nodes, in one pass and without a tile: for pods that come alone. A tile is worth its
// cost to many pods; a pod of one of a thousand classes finds a tile that is thousands of changes behind, or none.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "batching/commit_log.h"
#include "batching/pod_class.h"
#include "host/engine/cpu/slot_kernel.h"

namespace berth {

/// The node offers cpu and memory, and its amounts of both are exact in doubles.
bool holds_exactly(const Snapshot& snapshot, std::int32_t node);

/// @return nullopt: the class, or LoadColumns of its profile, cannot be described so
std::optional<ClassOnLoads> describe_on_loads(const PodClass& pod_class, const CompiledProfile& profile);

/// The load of every node as SlotKernels::nodes() reads it, for one profile.
class LoadColumns {
 public:
  /// Whether the kernel can score the profile: cpu and memory, in the usual way.
  static bool serve(const CompiledProfile& profile);

  /// @param profile  that serve() accepts; must outlive the object
  explicit LoadColumns(const CompiledProfile& profile) : profile_(profile) {}

  /// Brings every node up to date with the snapshot. `log` tells which changed.
  void catch_up(const Snapshot& snapshot, const CommitLog& log);

  NodeLoads loads() const;
  /// A multiple of kSlotStep.
  int padded_count() const { return static_cast<int>(draw_.size()); }
  /// [node] 1: the columns do not hold the node, which offers no cpu or memory or has amounts beyond exact doubles;
  /// also of slots without a node.
  std::span<const std::uint8_t> left_out() const { return left_out_; }
  /// [node] 1: no pod has room
  std::span<const double> is_full() const { return is_full_; }
  std::uint64_t bytes() const;

 private:
  struct Resource {
    std::vector<double> offered, reciprocal, in_use, requested;
    void resize(std::size_t nodes);
    NodeLoads::Resource view() const { return {offered.data(), reciprocal.data(), in_use.data(), requested.data()}; }
  };

  void fill(const Snapshot& snapshot, std::int32_t node);

  const CompiledProfile& profile_;
  Resource cpu_, memory_;
  std::vector<double> is_full_;
  std::vector<Draw> draw_;
  std::vector<std::uint8_t> left_out_;
  std::uint64_t position_ = UINT64_MAX;  ///< in the log; UINT64_MAX: nothing is filled
  std::int32_t slot_count_ = 0;
};

/// The row of the class that was evaluated last.
class LoneRow {
 public:
  /// Evaluates the class on every node.
  /// @param c  of a profile that has keys
  /// @return false when the kernel cannot do that: a tile can
  bool evaluate(std::int32_t c, ClassTable& table, const Snapshot& snapshot, const CommitLog& log);
  /// Keys contain positions in the node order, and that has changed; or slots were compiled again.
  void clear() { columns_.clear(); }

  // Of the latest evaluate().

  /// [node] as RowTile::key(): 0 where not feasible
  const NodeKey* keys() const { return keys_.data(); }
  std::int64_t feasible_count() const { return all_.feasible; }
  /// The highest key and its lowest node; key 0 when no node is feasible.
  NodeKey best_key() const { return all_.best; }
  /// The first one in node order.
  std::int32_t best_node(NodeOrder order) const;

  std::uint64_t bytes() const;
  std::int64_t evaluations() const { return evaluations_; }
  std::int64_t rows_built() const { return rows_built_; }

 private:
  const std::int32_t* base_of(const NodeSideRow& row, bool has_topology, const Snapshot& snapshot, int padded_count,
                              std::int32_t& shift);
  const double* refused_by(const PodClass& pod_class, const CompiledProfile& profile, const LoadColumns& columns,
                           const Snapshot& snapshot);
  bool correct(const PodClass& pod_class, const CompiledProfile& profile, const LoadColumns& columns,
               const Snapshot& snapshot, const std::int32_t* base, std::int32_t shift);

  std::vector<std::unique_ptr<LoadColumns>> columns_;  ///< [profile] null: not asked for yet
  std::vector<std::int32_t> base_;
  std::vector<double> refused_;
  std::vector<NodeKey> keys_;
  LoadKeys all_;
  std::int32_t node_count_ = 0;
  std::int64_t evaluations_ = 0;
  std::int64_t rows_built_ = 0;
};

}  // namespace berth
