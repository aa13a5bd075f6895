// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_layouts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "host/engine/device/transfer_block.h"

namespace berth {
namespace {

/// Whether the class needs rows by_node, since it reads counts of keys that are not coarse.
bool needs_nodes(const TableReads& reads, const TopologyCounts& counts) {
  const auto any = [](const std::vector<TableRead>& list, auto matches) {
    return std::any_of(list.begin(), list.end(), matches);
  };
  const auto by_count = [](const TableRead& read) { return read.by_count(); };
  const auto not_folded = [&](const TableRead& read) { return read.by_count() && !is_folded_in(read, counts); };
  return any(reads.hard, by_count) || any(reads.soft, by_count) || any(reads.affinity, by_count) ||
         any(reads.scores, by_count) || any(reads.anti, not_folded) || any(reads.existing_anti, not_folded);
}

/// Positions of nodes, cell by cell, and the levels over them.
void lay_out_cells(const NodeCells& cells, std::int32_t node_count, DeviceLayout& layout, LayoutArrays& arrays) {
  layout.cell_count = std::max<std::int32_t>(1, static_cast<std::int32_t>(cells.cells.size()));
  layout.in_order = layout.cell_count == 1;
  std::vector<std::int32_t> sizes(static_cast<std::size_t>(layout.cell_count), 0);
  for (const std::int32_t cell : cells.cell_of)
    if (cell >= 0) ++sizes[static_cast<std::size_t>(cell)];
  if (layout.in_order) sizes.front() = node_count;  // nodes that refuse the class keep their positions

  layout.level_count = 0;
  for (bool is_top = false; !is_top; ++layout.level_count) {
    std::int32_t begin = 0;
    is_top = true;
    for (std::int32_t& size : sizes) {
      arrays.level_begin.push_back(begin);
      begin += size;
      is_top = is_top && size <= 1;
      size = (size + kDeviceArity - 1) / kDeviceArity;
    }
    arrays.level_begin.push_back(begin);
    layout.level_offset[layout.level_count + 1] = layout.level_offset[layout.level_count] + begin;
  }
  if (layout.in_order) return;

  arrays.cell_of = cells.cell_of;
  arrays.position_of.assign(static_cast<std::size_t>(node_count), -1);
  std::vector<std::int32_t> next(arrays.level_begin.begin(), arrays.level_begin.begin() + layout.cell_count);
  arrays.node_at.resize(static_cast<std::size_t>(layout.level_offset[1]));
  for (std::int32_t node = 0; node < node_count; ++node) {
    const std::int32_t cell = cells.cell_of[static_cast<std::size_t>(node)];
    if (cell < 0) continue;
    const std::int32_t position = next[static_cast<std::size_t>(cell)]++;
    arrays.position_of[static_cast<std::size_t>(node)] = position;
    arrays.node_at[static_cast<std::size_t>(position)] = node;
  }
}

void describe_cells(const NodeCells& cells, std::size_t attribute_count, LayoutArrays& arrays) {
  for (const NodeCells::Cell& cell : cells.cells) arrays.soft_labels.push_back(cell.soft_labels.first_word());
  for (std::size_t r = 0; r < RawScores::kRules; ++r)
    for (const NodeCells::Cell& cell : cells.cells) arrays.raws.push_back(cell.raws.of[r]);
  for (std::size_t a = 0; a < attribute_count; ++a)
    for (const NodeCells::Cell& cell : cells.cells) arrays.domains.push_back(cell.domains[a]);
}

void describe_nodes(const NodeSideRow& side, const Snapshot& snapshot, LayoutArrays& arrays) {
  const auto nodes = static_cast<std::size_t>(snapshot.slot_count());
  arrays.raws.resize(RawScores::kRules * nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    const RawScores raws = side.raws(snapshot, static_cast<std::int32_t>(i));
    for (std::size_t r = 0; r < RawScores::kRules; ++r) arrays.raws[r * nodes + i] = raws.of[r];
  }
}

}  // namespace

bool is_folded_in(const TableRead& read, const TopologyCounts& counts) {
  return read.by_count() && counts.column(counts.column_of(read.table)).one_node_each;
}

DeviceLayouts::Place DeviceLayouts::layout_of(std::int32_t pod_class, const TableReads* reads, ClassTable& table,
                                              const Snapshot& snapshot) {
  static const CellColumns kNoColumns;
  const CompiledNodeSide& side = table.compiled_node_side(pod_class);
  const CompiledProfile& profile = table.profile_of(pod_class);
  const CellColumns& columns = reads != nullptr ? reads->columns : kNoColumns;
  const bool by_node = reads != nullptr && needs_nodes(*reads, snapshot.topology());
  const std::tuple key(table[pod_class].node_side, columns, by_node);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  std::optional<DeviceNodeSides::Answer> answer;
  if (reads == nullptr && DeviceNodeSides::can_evaluate(side))
    answer.emplace(sides_.evaluate(side, *table[pod_class].spec, profile, snapshot));
  Place place;
  place.layout = answer && answer->summary.is_uniform() ? add_in_order(std::move(*answer), snapshot.slot_count())
                                                        : add(table.node_side(pod_class), columns, by_node, snapshot);
  place.by_node = on_host(place.layout).by_node;
  known_.emplace(key, place);
  return place;
}

/// One cell of all nodes.
std::int32_t DeviceLayouts::add_in_order(DeviceNodeSides::Answer answer, std::int32_t node_count) {
  NodeCells cells;
  cells.cells.emplace_back();
  cells.cells.front().raws = answer.summary.maxima;
  DeviceLayout layout;
  LayoutArrays arrays;
  lay_out_cells(cells, node_count, layout, arrays);
  describe_cells(cells, 0, arrays);
  bases_.push_back(std::move(answer.base));
  return send(std::move(layout), arrays, bases_.back().data());
}

std::int32_t DeviceLayouts::add(const NodeSideRow& side, const CellColumns& columns, bool by_node,
                                const Snapshot& snapshot) {
  const std::int32_t nodes = snapshot.slot_count();
  DeviceLayout layout;
  LayoutArrays arrays;
  const NodeCells cells = make_cells(columns, side, snapshot);
  layout.by_node = by_node || static_cast<std::int64_t>(cells.cells.size()) >
                                  std::max<std::int64_t>(1, nodes / tuning_.nodes_per_cell_min);
  layout.ignores_incomplete = columns.ignores_incomplete;
  for (std::int32_t i = 0; i < nodes; ++i)
    arrays.base.push_back(
        cells.cell_of[static_cast<std::size_t>(i)] < 0 ? -1 : static_cast<std::int32_t>(side.fixed_total(snapshot, i)));
  if (layout.by_node) {
    layout.cell_count = nodes;
    layout.level_offset[1] = nodes;
    describe_nodes(side, snapshot, arrays);
  } else {
    lay_out_cells(cells, nodes, layout, arrays);
    describe_cells(cells, columns.coarse.size(), arrays);
  }

  return send(std::move(layout), arrays, nullptr);
}

/// @param base  of the layout if the device computed it; null: that of `arrays`
std::int32_t DeviceLayouts::send(DeviceLayout layout, const LayoutArrays& arrays, const std::int32_t* base) {
  TransferBlock block;
  const auto cell_of = block.add(arrays.cell_of);
  const auto position_of = block.add(arrays.position_of);
  const auto node_at = block.add(arrays.node_at);
  const auto level_begin = block.add(arrays.level_begin);
  const auto at_base = block.add(arrays.base);
  const auto raws = block.add(arrays.raws);
  const auto domains = block.add(arrays.domains);
  const auto soft_labels = block.add(arrays.soft_labels);
  block.send(storage_.emplace_back(accelerator_, "a layout of rows"));
  layout.cell_of = block.at(cell_of);
  layout.position_of = block.at(position_of);
  layout.node_at = block.at(node_at);
  layout.level_begin = block.at(level_begin);
  layout.base = base != nullptr ? base : block.at(at_base);
  layout.raws = arrays.raws.empty() ? nullptr : block.at(raws);
  layout.domains = block.at(domains);
  layout.soft_labels = block.at(soft_labels);
  on_host_.push_back(layout);
  return static_cast<std::int32_t>(on_host_.size()) - 1;
}

const DeviceLayout* DeviceLayouts::on_device() {
  if (uploaded_ != on_host_.size()) {
    layouts_.assign(on_host_);
    uploaded_ = on_host_.size();
  }
  return layouts_.data();
}

void DeviceLayouts::clear() {
  sides_.clear();
  known_.clear();
  on_host_.clear();
  storage_.clear();
  bases_.clear();
  uploaded_ = 0;
}

}  // namespace berth
