// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "batching/pod_class.h"
#include "host/engine/cpu/slot_kernel.h"

namespace berth {

/// What the slot kernels read: the classes of a tile as SlotParams, and the amounts of nodes and of copies for the
/// resources that these classes request or score.
class LaneParams {
 public:
  /// @param classes  all of one profile, at most `slot_count`; `table` must outlive the object
  LaneParams(std::span<const std::int32_t> classes, const ClassTable& table, int slot_count);
  LaneParams(const LaneParams&) = delete;  // `params_` points into the object
  LaneParams& operator=(const LaneParams&) = delete;

  /// Some class or list of resources does not fit into lanes: the kernels cannot evaluate the tile.
  bool needs_integers() const { return needs_integers_; }
  /// NodeResourcesFit filters in the profile.
  bool checks_fit() const { return checks_fit_; }
  const SlotParams& params() const { return params_; }
  const DrawRule& draw_rule() const { return draw_rule_; }

  /// Lanes of a node. @return false when its amounts are beyond exact doubles
  bool fill_node(const Snapshot& snapshot, std::int32_t node, NodeLanes& lanes) const;
  /// What copies of the class of `slot` add, for level selection. Only when needs_integers() is false.
  CopySteps copy_steps(int slot) const;

 private:
  const CompiledProfile& profile() const { return table_.profile_of(classes_.front()); }
  const PodClass& class_of(std::size_t slot) const { return table_[classes_[slot]]; }
  void choose_columns();
  void fill_filter_params();
  void fill_score_params();

  const ClassTable& table_;
  std::vector<std::int32_t> classes_;
  bool needs_integers_ = false;
  bool checks_fit_ = false;
  DrawRule draw_rule_;
  SlotParams params_{};
  std::vector<double> doubles_;  ///< storage behind params_
  std::vector<std::uint32_t> draw_seeds_;
  std::array<double, 101> score_of_utilization_{};
  std::vector<std::int32_t> filter_columns_;
  std::vector<std::int32_t> fit_columns_;
  std::vector<std::int32_t> balanced_columns_;
};

}  // namespace berth
