// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_layouts.h"

#include <algorithm>
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

/// The levels over cells with so many positions each.
void lay_out_levels(std::vector<std::int32_t> sizes, DeviceLayout& layout, LayoutArrays& arrays) {
  layout.cell_count = static_cast<std::int32_t>(sizes.size());
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
}

/// Positions of nodes, cell by cell, and the levels over them.
void lay_out_cells(const CellPlaces& places, DeviceLayout& layout, LayoutArrays& arrays) {
  std::vector<std::int32_t> sizes;
  sizes.reserve(static_cast<std::size_t>(places.cell_count()));
  for (std::int32_t c = 0; c < places.cell_count(); ++c) sizes.push_back(places.room(c));
  lay_out_levels(std::move(sizes), layout, arrays);
  arrays.cell_of = places.cell_of();
  arrays.position_of = places.position_of();
  arrays.node_at = places.node_at();
}

/// One cell of all nodes; those that refuse the class keep their positions.
void lay_out_in_order(std::int32_t node_count, DeviceLayout& layout, LayoutArrays& arrays) {
  layout.in_order = true;
  lay_out_levels({node_count}, layout, arrays);
}

/// @param cell_at  cell_at(c): cell c of the layout
template <class CellAt>
void describe_cells(std::int32_t cell_count, CellAt cell_at, std::size_t attribute_count, LayoutArrays& arrays) {
  for (std::int32_t c = 0; c < cell_count; ++c) arrays.soft_labels.push_back(cell_at(c).soft_labels.first_word());
  for (std::size_t r = 0; r < RawScores::kRules; ++r)
    for (std::int32_t c = 0; c < cell_count; ++c) arrays.raws.push_back(cell_at(c).raws.of[r]);
  for (std::size_t a = 0; a < attribute_count; ++a)
    for (std::int32_t c = 0; c < cell_count; ++c) arrays.domains.push_back(cell_at(c).domains[a]);
}

void describe_nodes(const NodeSideRow& side, const Snapshot& snapshot, LayoutArrays& arrays) {
  const auto nodes = static_cast<std::size_t>(snapshot.slot_count());
  arrays.raws.resize(RawScores::kRules * nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    const RawScores raws = side.raws(snapshot, static_cast<std::int32_t>(i));
    for (std::size_t r = 0; r < RawScores::kRules; ++r) arrays.raws[r * nodes + i] = raws.of[r];
  }
}

/// What the image scores of all nodes follow from; empty where they do not count.
std::vector<ImageSpread> images_of(const CompiledNodeSide& side, const PodSpec& spec, const CompiledProfile& profile,
                                   const Snapshot& snapshot) {
  if (side.weight<ImageLocality>() == 0) return {};
  return image_spreads(spec, profile.options<ImageLocality>().sum_image_volumes, snapshot);
}

}  // namespace

bool is_folded_in(const TableRead& read, const TopologyCounts& counts) {
  return read.by_count() && counts.column(counts.column_of(read.table)).one_node_each;
}

DeviceLayouts::Place DeviceLayouts::layout_of(std::int32_t pod_class, const TableReads* reads, ClassTable& table,
                                              const Snapshot& snapshot) {
  static const CellColumns kNoColumns;
  const CompiledNodeSide& side = table.compiled_node_side(pod_class);
  const CellColumns& columns = reads != nullptr ? reads->columns : kNoColumns;
  const bool by_node = reads != nullptr && needs_nodes(*reads, snapshot.topology());
  const std::tuple key(table.node_side_number(pod_class), columns, by_node);
  const auto place = [&](std::int32_t layout) { return Place{layout, on_host(layout).by_node}; };
  if (const auto known = known_.find(key); known != known_.end()) return place(known->second);
  Source source(accelerator_);
  source.pod_class = pod_class;
  source.node_side = std::get<0>(key);
  source.columns = columns;
  source.needs_nodes = by_node;
  source.may_be_on_device = reads == nullptr && DeviceNodeSides::can_evaluate(side);
  on_host_.push_back(lay(source, table, snapshot));
  sources_.push_back(std::move(source));
  is_uploaded_ = false;
  const std::int32_t layout = count() - 1;
  known_.emplace(key, layout);
  return place(layout);
}

DeviceLayout DeviceLayouts::lay(Source& source, ClassTable& table, const Snapshot& snapshot) {
  const CompiledNodeSide& side = table.compiled_node_side(source.pod_class);
  const PodSpec& spec = *table[source.pod_class].spec;
  const CompiledProfile& profile = table.profile_of(source.pod_class);
  source.only_cell.reset();
  source.places.reset();
  source.images = images_of(side, spec, profile, snapshot);
  if (source.may_be_on_device) {
    DeviceNodeSides::Answer answer = sides_.evaluate(side, spec, profile, snapshot);
    if (answer.summary.is_uniform()) return lay_in_order(source, std::move(answer), snapshot.slot_count());
  }
  source.base.reset();
  return lay_on_host(source, table.node_side(source.pod_class), snapshot);
}

/// One cell of all nodes.
DeviceLayout DeviceLayouts::lay_in_order(Source& source, DeviceNodeSides::Answer answer, std::int32_t node_count) {
  NodeCells::Cell cell;
  cell.raws = answer.summary.maxima;
  if (answer.summary.accepted_count > 0) source.only_cell = cell;
  DeviceLayout layout;
  layout.node_count = node_count;
  LayoutArrays arrays;
  lay_out_in_order(node_count, layout, arrays);
  describe_cells(1, [&](std::int32_t) -> const NodeCells::Cell& { return cell; }, 0, arrays);
  source.base.emplace(std::move(answer.base));
  return send(source, layout, arrays);
}

DeviceLayout DeviceLayouts::lay_on_host(Source& source, const NodeSideRow& side, const Snapshot& snapshot) {
  const std::int32_t nodes = snapshot.slot_count();
  DeviceLayout layout;
  layout.node_count = nodes;
  LayoutArrays arrays;
  NodeCells cells = make_cells(source.columns, side, snapshot);
  const auto cell_count = static_cast<std::int64_t>(cells.cells.size());
  layout.by_node = source.needs_nodes || cell_count > std::max<std::int64_t>(1, nodes / tuning_.nodes_per_cell_min);
  layout.ignores_incomplete = source.columns.ignores_incomplete;
  for (std::int32_t i = 0; i < nodes; ++i)
    arrays.base.push_back(
        cells.cell_of[static_cast<std::size_t>(i)] < 0 ? -1 : static_cast<std::int32_t>(side.fixed_total(snapshot, i)));
  const std::size_t attributes = source.columns.coarse.size();
  if (layout.by_node) {
    layout.cell_count = nodes;
    layout.level_offset[1] = nodes;
    describe_nodes(side, snapshot, arrays);
  } else if (cell_count <= 1) {
    if (cell_count == 1) source.only_cell = cells.cells.front();
    lay_out_in_order(nodes, layout, arrays);
    describe_cells(
        static_cast<std::int32_t>(cell_count),
        [&](std::int32_t) -> const NodeCells::Cell& { return *source.only_cell; }, attributes, arrays);
  } else {
    source.places.emplace(std::move(cells), tuning_);
    lay_out_cells(*source.places, layout, arrays);
    describe_cells(
        layout.cell_count, [&](std::int32_t c) -> const NodeCells::Cell& { return source.places->cell(c); }, attributes,
        arrays);
  }
  return send(source, layout, arrays);
}

DeviceLayout DeviceLayouts::send(Source& source, DeviceLayout layout, const LayoutArrays& arrays) {
  TransferBlock block;
  const auto cell_of = block.add(arrays.cell_of);
  const auto position_of = block.add(arrays.position_of);
  const auto node_at = block.add(arrays.node_at);
  const auto level_begin = block.add(arrays.level_begin);
  const auto at_base = block.add(arrays.base);
  const auto raws = block.add(arrays.raws);
  const auto domains = block.add(arrays.domains);
  const auto soft_labels = block.add(arrays.soft_labels);
  block.send(source.storage);
  const auto at = [&]<class T>(const std::vector<T>& values, TransferBlock::Part<T> part) {
    return values.empty() ? nullptr : block.at(part);
  };
  layout.cell_of = at(arrays.cell_of, cell_of);
  layout.position_of = at(arrays.position_of, position_of);
  layout.node_at = at(arrays.node_at, node_at);
  layout.level_begin = at(arrays.level_begin, level_begin);
  layout.base = source.base ? source.base->data() : block.at(at_base);
  layout.raws = at(arrays.raws, raws);
  layout.domains = at(arrays.domains, domains);
  layout.soft_labels = at(arrays.soft_labels, soft_labels);
  return layout;
}

const DeviceLayout* DeviceLayouts::on_device() {
  if (!is_uploaded_) {
    layouts_.assign(on_host_);
    is_uploaded_ = true;
  }
  return layouts_.data();
}

// When node objects change

void DeviceLayouts::keep(const std::vector<std::int32_t>& class_of_layout) {
  for (std::int32_t layout = 0; layout < count(); ++layout) {
    Source& source = sources_[static_cast<std::size_t>(layout)];
    const std::int32_t pod_class = class_of_layout[static_cast<std::size_t>(layout)];
    if (pod_class < 0 && source.pod_class >= 0) {
      std::erase_if(known_, [&](const auto& known) { return known.second == layout; });
      source = Source(accelerator_);
    }
    source.pod_class = pod_class;
  }
}

void DeviceLayouts::follow(ClassTable& table, const Snapshot& snapshot, NodeEventDelta& delta) {
  sides_.follow(snapshot, delta);
  for (std::int32_t layout = 0; layout < count(); ++layout) {
    if (sources_[static_cast<std::size_t>(layout)].pod_class < 0) continue;
    if (follow(layout, table, snapshot, delta)) continue;
    delta.to_rebuild.push_back(layout);
    delta.vacated_of_layout.erase(layout);
  }
}

/// @return false: it must be laid out again
bool DeviceLayouts::follow(std::int32_t layout, ClassTable& table, const Snapshot& snapshot, NodeEventDelta& delta) {
  const Source& source = sources_[static_cast<std::size_t>(layout)];
  const CompiledNodeSide& side = table.compiled_node_side(source.pod_class);
  const PodSpec& spec = *table[source.pod_class].spec;
  const CompiledProfile& profile = table.profile_of(source.pod_class);
  const bool images_changed = std::any_of(delta.nodes().begin(), delta.nodes().end(), [](const ChangedNode& node) {
    return node.parts.contains(NodePart::kImages);
  });
  if (images_changed && image_scores_may_differ(spec, source.images, images_of(side, spec, profile, snapshot)))
    return false;
  const std::size_t patches_before = delta.patches.size();
  NodeAt node_at;
  for (const ChangedNode& node : delta.nodes()) {
    if (node.parts.are_load()) continue;
    const NodeSideOfOne one = node_side_of_one(side, spec, profile, snapshot, node.slot);
    if (follow(layout, node.slot, one, snapshot, delta, node_at)) continue;
    delta.patches.resize(patches_before);
    return false;
  }
  for (const auto& [position, node] : node_at)
    delta.patch(on_host_[static_cast<std::size_t>(layout)].node_at + position, node);
  // Without topology rules one cell is better than several: runs of equal pods need it.
  return !source.places || !source.may_be_on_device || !source.places->is_one();
}

bool DeviceLayouts::follow(std::int32_t index, std::int32_t node, const NodeSideOfOne& side, const Snapshot& snapshot,
                           NodeEventDelta& delta, NodeAt& node_at) {
  const DeviceLayout& layout = on_host_[static_cast<std::size_t>(index)];
  const Source& source = sources_[static_cast<std::size_t>(index)];
  std::optional<NodeCells::Cell> cell;
  if (side.accepted) cell = cell_of_node(source.columns, side.raws, snapshot.topology(), node);
  delta.patch(layout.base + node, cell ? static_cast<std::int32_t>(side.fixed_total) : -1);
  if (!cell) return true;  // it keeps its position, where it is not feasible
  if (layout.by_node) {
    for (std::size_t r = 0; r < RawScores::kRules; ++r)
      delta.patch(layout.raws + static_cast<std::int64_t>(r) * layout.cell_count + node, cell->raws.of[r]);
    return true;
  }
  if (!source.places) return source.only_cell == cell;
  return source.places->is_in(node, *cell) || move(index, node, *cell, delta, node_at);
}

bool DeviceLayouts::move(std::int32_t index, std::int32_t node, const NodeCells::Cell& cell, NodeEventDelta& delta,
                         NodeAt& node_at) {
  const DeviceLayout& layout = on_host_[static_cast<std::size_t>(index)];
  const auto move = sources_[static_cast<std::size_t>(index)].places->move(node, cell);
  if (!move) return false;
  if (move->from >= 0) {
    delta.vacated_of_layout[index].push_back(move->from);
    node_at[move->from] = -1;
  }
  node_at[move->to] = node;
  delta.patch(layout.position_of + node, move->to);
  delta.patch(layout.cell_of + node, move->cell);
  if (!move->is_new_cell) return true;
  const auto write = [&](const auto* values, std::size_t row, auto value) {
    delta.patch(values + static_cast<std::int64_t>(row) * layout.cell_count + move->cell, value);
  };
  for (std::size_t r = 0; r < RawScores::kRules; ++r) write(layout.raws, r, cell.raws.of[r]);
  for (std::size_t a = 0; a < cell.domains.size(); ++a) write(layout.domains, a, cell.domains[a]);
  write(layout.soft_labels, 0, cell.soft_labels.first_word());
  return true;
}

void DeviceLayouts::rebuild(std::int32_t layout, ClassTable& table, const Snapshot& snapshot) {
  on_host_[static_cast<std::size_t>(layout)] = lay(sources_[static_cast<std::size_t>(layout)], table, snapshot);
  is_uploaded_ = false;
  ++rebuilt_;
}

void DeviceLayouts::clear() {
  sides_.clear();
  known_.clear();
  on_host_.clear();
  sources_.clear();
  is_uploaded_ = false;
}

}  // namespace berth
