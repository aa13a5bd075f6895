// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "batching/device/device_errors.h"

namespace berth {

std::uint64_t row_key_bytes(const DeviceLayout& layout) {
  const auto entries = static_cast<std::uint64_t>(layout.level_offset[layout.level_count]);
  const auto nodes = static_cast<std::uint64_t>(layout.level_offset[1]);
  const std::uint64_t cells = layout.by_node ? 0 : static_cast<std::uint64_t>(layout.cell_count);
  return entries * sizeof(NodeKey) + (entries - nodes + cells) * sizeof(std::int32_t);
}

std::uint64_t device_row_bytes(const DeviceLayout& layout) {
  return row_key_bytes(layout) + static_cast<std::uint64_t>(node_set_words(layout.node_count)) * sizeof(std::uint32_t);
}

std::vector<std::uint32_t> node_set_of(std::span<const std::int32_t> nodes, std::int32_t node_count) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(node_set_words(node_count)));
  for (const std::int32_t node : nodes)
    words[static_cast<std::size_t>(node / kNodesPerWord)] |= std::uint32_t{1} << (node % kNodesPerWord);
  return words;
}

void upload_left_out(const DeviceRow& row, std::span<const std::int32_t> nodes, std::int32_t node_count,
                     Accelerator& accelerator) {
  const std::vector<std::uint32_t> words = node_set_of(nodes, node_count);
  if (!words.empty()) accelerator.upload(row.left_out, words.data(), words.size() * sizeof(std::uint32_t));
}

DeviceRow lay_row(std::int32_t pod_class, std::int32_t layout_index, const DeviceLayout& layout, std::uint8_t* memory) {
  const std::int64_t entries = layout.level_offset[layout.level_count];
  DeviceRow row;
  row.pod_class = pod_class;
  row.layout = layout_index;
  row.keys = reinterpret_cast<NodeKey*>(memory);
  row.best = reinterpret_cast<std::int32_t*>(row.keys + entries);
  row.live = row.best + (entries - layout.level_offset[1]);
  row.left_out = reinterpret_cast<std::uint32_t*>(row.live + (layout.by_node ? 0 : layout.cell_count));
  return row;
}

std::size_t DeviceRowStore::fitting(std::span<const std::int32_t> pod_classes, const DeviceClassTable& classes) const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < pod_classes.size(); ++i) {
    bytes += device_row_bytes(classes.layout(classes.layout_of(pod_classes[i])));
    if (bytes > bytes_max_) return std::max<std::size_t>(i, 1);
  }
  return pod_classes.size();
}

void DeviceRowStore::note_use(Kept& kept) {
  kept.last_used = clock_;
  by_use_.splice(by_use_.end(), by_use_, kept.in_order_of_use);
}

DeviceRowStore::Kept DeviceRowStore::drop(std::unordered_map<std::int32_t, Kept>::iterator at) {
  Kept dropped = std::move(at->second);
  bytes_ -= dropped.bytes;
  by_use_.erase(dropped.in_order_of_use);
  rows_.erase(at);
  return dropped;
}

/// Drops the least recently used row that the current batch does not need; nothing when there is none.
std::optional<DeviceRowStore::Kept> DeviceRowStore::drop_one_other() {
  if (by_use_.empty()) return std::nullopt;
  const auto oldest = rows_.find(by_use_.front());
  if (oldest->second.last_used == clock_) return std::nullopt;
  return drop(oldest);
}

DeviceRowStore::Kept& DeviceRowStore::make_row(std::int32_t pod_class, const DeviceClassTable& classes) {
  const std::int32_t layout_index = classes.layout_of(pod_class);
  const DeviceLayout& layout = classes.layout(layout_index);
  const std::uint64_t bytes = device_row_bytes(layout);
  std::optional<Kept> dropped;
  if (rows_.size() >= tuning_.rows_kept_max) dropped = drop_one_other();
  while (bytes_ + bytes > bytes_max_) {
    dropped = drop_one_other();
    if (!dropped)
      throw DeviceOutOfMemory("", "a row of " + std::to_string(layout.level_offset[1]) + " nodes", bytes,
                              bytes_max_ - std::min(bytes_, bytes_max_),
                              "the number of nodes or raise device.memoryBytesMax");
  }
  // Most rows are equally long, so that the memory of the dropped one serves, without a call to the device.
  Kept kept{{}, DeviceArray<std::uint8_t>(accelerator_, "rows of pod classes"), bytes, 0, clock_, {}, {}};
  if (dropped && dropped->bytes == bytes) kept.memory = std::move(dropped->memory);
  dropped.reset();
  for (;;) {
    try {
      kept.memory.reserve(bytes);
      break;
    } catch (const DeviceOutOfMemory&) {
      if (!drop_one_other()) throw;
    }
  }
  kept.row = lay_row(pod_class, layout_index, layout, kept.memory.data());
  kept.row.leaves_out = false;  // its set of nodes is written before it is read
  std::list<std::int32_t> newest{pod_class};
  kept.in_order_of_use = newest.begin();
  Kept& row = rows_.emplace(pod_class, std::move(kept)).first->second;
  by_use_.splice(by_use_.end(), newest);
  bytes_ += bytes;
  return row;
}

/// @return the nodes to be evaluated again: those that it left out, and those that it leaves out now
std::vector<std::int32_t> DeviceRowStore::leave_out(const LeftOutNodes& nodes, Kept& kept) {
  if (kept.left_out.version == nodes.version) return {};
  std::vector<std::int32_t> changed = std::move(kept.left_out.nodes);
  changed.insert(changed.end(), nodes.nodes.begin(), nodes.nodes.end());
  kept.left_out = nodes;
  return changed;
}

DeviceRowStore::Work DeviceRowStore::prepare(const LaunchPlan& plan, const DeviceClassTable& classes,
                                             const CommitLog& log, std::int32_t node_count) {
  const std::span<const std::int32_t> pod_classes = plan.classes;
  ++clock_;
  // The rows of the batch are marked first, so that making room for one does not drop another.
  for (const std::int32_t c : pod_classes)
    if (const auto at = rows_.find(c); at != rows_.end()) note_use(at->second);
  const std::uint64_t end = log.position();
  const auto limit = static_cast<std::uint64_t>(tuning_.refresh_limit(node_count));
  Work work;
  std::uint64_t oldest = end;
  for (const std::int32_t c : pod_classes)
    if (const auto at = rows_.find(c); at != rows_.end() && end - at->second.position <= limit)
      oldest = std::min(oldest, at->second.position);
  for (std::uint64_t p = oldest; p < end; ++p) work.refresh.nodes.push_back(log[p].node);

  for (const std::int32_t c : pod_classes) {
    const auto index = static_cast<std::int32_t>(work.rows.size());
    const auto known = rows_.find(c);
    const bool is_new = known == rows_.end();
    Kept& kept = is_new ? make_row(c, classes) : known->second;
    const std::vector<std::int32_t> changed = leave_out(plan.left_out[static_cast<std::size_t>(index)], kept);
    if (!changed.empty()) upload_left_out(kept.row, kept.left_out.nodes, node_count, accelerator_);
    kept.row.leaves_out = !kept.left_out.nodes.empty();
    if (is_new || end - kept.position > limit) {
      ++rows_built_;
      work.build.push_back(index);
    } else {
      if (kept.position != end) work.refresh.add(index, kept.position - oldest, end - oldest);
      std::vector<std::int32_t>& again = work.left_out.nodes;
      if (!changed.empty()) work.left_out.add(index, again.size(), again.size() + changed.size());
      again.insert(again.end(), changed.begin(), changed.end());
    }
    kept.position = end;
    work.rows.push_back(kept.row);
  }
  return work;
}

void DeviceRowStore::add_vacancies(NodeEventDelta& delta) const {
  std::map<std::int32_t, DeviceVacancy> of_layout;
  for (const auto& [layout, positions] : delta.vacated_of_layout) {
    of_layout[layout] = {
        {}, static_cast<std::int32_t>(delta.vacated.size()), static_cast<std::int32_t>(positions.size())};
    delta.vacated.insert(delta.vacated.end(), positions.begin(), positions.end());
  }
  for (const auto& [pod_class, kept] : rows_) {
    const auto at = of_layout.find(kept.row.layout);
    if (at == of_layout.end()) continue;
    delta.vacancies.push_back(at->second);
    delta.vacancies.back().row = kept.row;
  }
}

void DeviceRowStore::drop_row_of(std::int32_t pod_class) {
  if (const auto at = rows_.find(pod_class); at != rows_.end()) drop(at);
}

void DeviceRowStore::drop_rows_of(std::int32_t layout) {
  for (auto at = rows_.begin(); at != rows_.end();) {
    const auto next = std::next(at);
    if (at->second.row.layout == layout) drop(at);
    at = next;
  }
}

}  // namespace berth
