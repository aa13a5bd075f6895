// SPDX-License-Identifier: Apache-2.0
#pragma once

// A row over cells of given sizes, laid out here and not by the code under test; the test sets the key of each node.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "batching/device/row_tournament.h"

namespace berth::test {

class HandMadeRow {
 public:
  /// Nodes are distributed over the cells in turn, so that neighbours are in different ones. Without sizes no cell has
  /// a node.
  explicit HandMadeRow(const std::vector<std::int32_t>& cell_sizes, std::int32_t nodes_outside = 0) {
    const std::int32_t largest = cell_sizes.empty() ? 0 : *std::max_element(cell_sizes.begin(), cell_sizes.end());
    for (std::int32_t turn = 0; turn < largest; ++turn)
      for (std::size_t c = 0; c < cell_sizes.size(); ++c)
        if (turn < cell_sizes[c]) cell_of_.push_back(static_cast<std::int32_t>(c));
    cell_of_.insert(cell_of_.end(), static_cast<std::size_t>(nodes_outside), -1);
    lay_out(cell_sizes);
    make_state();
  }
  HandMadeRow(const HandMadeRow&) = delete;
  HandMadeRow& operator=(const HandMadeRow&) = delete;

  std::int32_t node_count() const { return static_cast<std::int32_t>(cell_of_.size()); }
  std::int32_t cell_of(std::int32_t node) const { return cell_of_[static_cast<std::size_t>(node)]; }
  /// Below 0: infeasible. Used by the next build() or refresh().
  void set_worth(std::int32_t node, std::int32_t worth) { base_[static_cast<std::size_t>(node)] = worth; }
  std::int32_t worth(std::int32_t node) const { return base_[static_cast<std::size_t>(node)]; }
  NodeKey key(std::int32_t node) const {
    if (worth(node) < 0) return 0;
    const NodeDraws draws(profile_.draw, 0, 0, {});
    return make_node_key(worth(node), draw_by_class(draws.with({0, 0, pod_count_[static_cast<std::size_t>(node)]}), 0));
  }

  void build() {
    const RowView row(state_, row_);
    std::fill(live_.begin(), live_.end(), 0);
    for (std::int32_t node = 0; node < node_count(); ++node) {
      if (cell_of(node) < 0) continue;
      keys_[static_cast<std::size_t>(position_of_[static_cast<std::size_t>(node)])] = key(node);
      live_[static_cast<std::size_t>(cell_of(node))] += worth(node) < 0 ? 0 : 1;
    }
    for (std::int32_t level = 1; level < layout_.level_count; ++level)
      for (std::int32_t e = 0; e < layout_.level_offset[level + 1] - layout_.level_offset[level]; ++e)
        build_entry(row, level, e);
  }
  void refresh(std::int32_t node) { refresh_node(state_, row_, node); }

  RowView view() const { return {state_, row_}; }
  const DeviceRow& row() const { return row_; }
  DeviceState& state() { return state_; }
  DeviceLayout& layout() { return layout_; }
  DeviceClass& pod_class() { return pod_class_; }
  DeviceProfile& profile() { return profile_; }
  std::vector<NodeKey>& keys() { return keys_; }
  std::vector<std::int32_t>& best() { return best_; }
  std::vector<std::int32_t>& live() { return live_; }

  /// The first node in node order of the highest key of a cell, by a scan; -1 when none is feasible. Node order is that
  /// of numbers from the highest down.
  std::int32_t plain_best(std::int32_t cell) const {
    std::int32_t best = -1;
    for (std::int32_t node = 0; node < node_count(); ++node)
      if (cell_of(node) == cell && worth(node) >= 0 && (best < 0 || worth(node) >= worth(best))) best = node;
    return best;
  }

 private:
  static constexpr std::int32_t kNotWritten = 0x5A5A5A5A;

  void lay_out(std::vector<std::int32_t> sizes) {
    const auto cells = static_cast<std::int32_t>(sizes.size());
    position_of_.assign(cell_of_.size(), -1);
    for (std::int32_t c = 0; c < cells; ++c)
      for (std::int32_t node = 0; node < node_count(); ++node)
        if (cell_of(node) == c) {
          position_of_[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(node_at_.size());
          node_at_.push_back(node);
        }
    layout_.cell_count = cells;
    layout_.level_count = 0;
    for (bool again = true; again;) {
      again = std::any_of(sizes.begin(), sizes.end(), [](std::int32_t size) { return size > 1; });
      std::int32_t begin = 0;
      for (std::int32_t& size : sizes) {
        level_begin_.push_back(begin);
        begin += size;
        size = size / 8 + (size % 8 != 0 ? 1 : 0);
      }
      level_begin_.push_back(begin);
      layout_.level_offset[layout_.level_count + 1] = layout_.level_offset[layout_.level_count] + begin;
      ++layout_.level_count;
    }
  }

  void make_state() {
    base_.assign(cell_of_.size(), 0);
    pod_count_.assign(cell_of_.size(), 0);
    name_hash_.assign(cell_of_.size(), 0);
    for (std::int32_t node = node_count(); node-- > 0;) rank_.push_back(static_cast<std::uint32_t>(node));
    const std::int64_t entries = layout_.level_offset[layout_.level_count];
    keys_.assign(static_cast<std::size_t>(entries), kNotWritten);
    best_.assign(static_cast<std::size_t>(entries - layout_.level_offset[1]), kNotWritten);
    live_.assign(static_cast<std::size_t>(layout_.cell_count), kNotWritten);
    layout_.cell_of = cell_of_.data();
    layout_.position_of = position_of_.data();
    layout_.node_at = node_at_.data();
    layout_.level_begin = level_begin_.data();
    layout_.base = base_.data();
    row_.keys = keys_.data();
    row_.best = best_.data();
    left_out_.assign(static_cast<std::size_t>(node_set_words(node_count())), 0);
    row_.live = live_.data();
    row_.left_out = left_out_.data();
    state_.columns.node_count = node_count();
    state_.columns.stride = node_count();
    state_.columns.name_hash = name_hash_.data();
    state_.columns.rank = rank_.data();
    state_.columns.pod_count = pod_count_.data();
    state_.columns.non_zero_milli_cpu = pod_count_.data();
    state_.columns.non_zero_memory_bytes = pod_count_.data();
    state_.classes.classes = &pod_class_;
    profile_.draw.order = DrawOrder::kByClass;  // with one name hash: nodes of equal worth have equal keys
    state_.classes.profiles = &profile_;
    state_.rows = {&row_, &layout_};
  }

  std::vector<std::int32_t> cell_of_, position_of_, node_at_, level_begin_, base_;
  std::vector<std::int64_t> pod_count_;
  std::vector<std::uint64_t> name_hash_;
  std::vector<std::uint32_t> rank_;
  std::vector<NodeKey> keys_;
  std::vector<std::int32_t> best_, live_;
  std::vector<std::uint32_t> left_out_;
  DeviceLayout layout_;
  DeviceClass pod_class_;
  DeviceProfile profile_;
  DeviceRow row_;
  DeviceState state_;
};

}  // namespace berth::test
