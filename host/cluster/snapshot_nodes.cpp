// SPDX-License-Identifier: Apache-2.0
// What the snapshot has of one node: filled, changed and cleared with the events of the node and of its pods.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "host/cluster/name_hash.h"
#include "host/cluster/snapshot.h"
#include "host/cluster/tight_list.h"

namespace berth {
namespace {

/// Equal for equal lists.
std::string key_of(const std::vector<Taint>& taints) {
  std::string key;
  for (const Taint& taint : taints) {
    key.append(taint.key).push_back('\0');
    key.append(taint.value).push_back('\0');
    key.push_back(static_cast<char>('0' + static_cast<int>(taint.effect)));
  }
  return key;
}

bool any_may_wrap(const ResourceAmounts& amounts) {
  return Snapshot::may_wrap(amounts.milli_cpu) || Snapshot::may_wrap(amounts.memory_bytes) ||
         Snapshot::may_wrap(amounts.ephemeral_storage_bytes) ||
         std::any_of(amounts.scalars.begin(), amounts.scalars.end(),
                     [](const auto& scalar) { return Snapshot::may_wrap(scalar.second); });
}

}  // namespace

std::int32_t Snapshot::add_node(const NodeInfo& info, const ClusterCache& cache) {
  Fixed& fixed = write_fixed();
  if (fixed.free_slots.empty()) return -1;
  const std::int32_t slot = fixed.free_slots.back();
  fixed.free_slots.pop_back();
  follow(slot, info);
  read_image_sizes(*info.node, cache);
  order_generation_.reset();  // a node that went and comes back keeps its place in the order, but not its slot
  return slot;
}

/// Fills every column of a slot that was free.
void Snapshot::follow(std::int32_t slot, const NodeInfo& info, ImagesOfLists* known) {
  Fixed& fixed = *fixed_;
  const auto i = static_cast<std::size_t>(slot);
  const Node& node = *info.node;
  fixed.nodes[i] = info.node;
  fixed.index_of.emplace(node.name, slot);
  note_entry(slot, info);
  fixed.name_hash[i] = node_name_hash(node.name);
  fixed.unschedulable[i] = node.unschedulable ? 1 : 0;
  fill_allocatable(slot, Node(), node);
  fill_taints(slot, node.taints);
  fill_labels(slot, node.labels);
  add_images(slot, node, known);
  std::vector<std::string> resources;  // the slot was free, so that all others are 0
  resources.reserve(info.requested.scalars.size());
  for (const auto& [name, amount] : info.requested.scalars) resources.push_back(name);
  change_pods(slot, info, resources);
}

void Snapshot::note_entry(std::int32_t slot, const NodeInfo& info) {
  std::uint64_t& id = fixed_->entry_id[static_cast<std::size_t>(slot)];
  if (id == info.id) return;
  fixed_->slot_of_entry.erase(id);
  id = info.id;
  fixed_->slot_of_entry[id] = slot;
}

bool Snapshot::node_may_wrap(const Node& node) { return any_may_wrap(node.allocatable); }

void Snapshot::note_wrapping(std::int32_t slot, bool may_wrap) {
  const std::uint8_t now = may_wrap ? 1 : 0;
  const auto i = static_cast<std::size_t>(slot);
  if (fixed_->may_wrap[i] == now) return;
  wrapping_nodes_ += now - fixed_->may_wrap[i];
  write_fixed().may_wrap[i] = now;
}

void Snapshot::change_node(std::int32_t slot, const NodeInfo& info, NodeParts parts, const ClusterCache& cache) {
  Fixed& fixed = write_fixed();
  const auto i = static_cast<std::size_t>(slot);
  const NodePtr before = fixed.nodes[i];
  const Node& node = *info.node;
  fixed.index_of.erase(before->name);
  fixed.nodes[i] = info.node;
  fixed.index_of.emplace(node.name, slot);
  note_entry(slot, info);
  if (parts.contains(NodePart::kAllocatable)) {
    fill_allocatable(slot, *before, node);
    change_pods(slot, info, {});
  }
  if (parts.contains(NodePart::kTaints)) fill_taints(slot, node.taints);
  if (parts.contains(NodePart::kLabels)) fill_labels(slot, node.labels);
  if (parts.contains(NodePart::kCordon)) fixed.unschedulable[i] = node.unschedulable ? 1 : 0;
  if (!parts.contains(NodePart::kImages)) return;
  drop_images(slot, *before, cache);
  add_images(slot, node);
  read_image_sizes(node, cache);
}

void Snapshot::remove_node(std::int32_t slot, const ClusterCache& cache) {
  static const Node kNone;
  Fixed& fixed = write_fixed();
  const auto i = static_cast<std::size_t>(slot);
  const NodePtr before = std::move(fixed.nodes[i]);
  fixed.index_of.erase(before->name);
  fixed.slot_of_entry.erase(fixed.entry_id[i]);
  fixed.entry_id[i] = 0;
  fixed.name_hash[i] = 0;
  fixed.unschedulable[i] = 0;
  fill_allocatable(slot, *before, kNone);
  fill_taints(slot, {});
  fill_labels(slot, {});
  drop_images(slot, *before, cache);
  change_pods(slot, {});
  fixed.free_slots.push_back(slot);
}

void Snapshot::write_allocatable(std::int32_t slot, const Node& before, const Node& node) {
  const auto fill = [&](std::int32_t r) {
    Resource& resource = resources_[static_cast<std::size_t>(r)];
    resource.allocatable.write(slot) = amount_of(node.allocatable, r, resource.name);
  };
  for (const std::int32_t r : {kCpuColumn, kMemoryColumn, kEphemeralStorageColumn}) fill(r);
  for (const Node* mentions : {&before, &node})
    for (const auto& [name, amount] : mentions->allocatable.scalars)
      if (const std::int32_t r = find_resource(name); r != kNoColumn) fill(r);
}

/// @param before  the node that the slot had; one without allocatable when it was free
void Snapshot::fill_allocatable(std::int32_t slot, const Node& before, const Node& node) {
  write_allocatable(slot, before, node);
  fixed_->allowed_pods[static_cast<std::size_t>(slot)] = node.allowed_pod_number;
  for (const auto& [name, amount] : node.allocatable.scalars)
    lacks_column_ = lacks_column_ || (amount > 0 && fixed_->unoffered.contains(name));
}

void Snapshot::fill_taints(std::int32_t slot, const std::vector<Taint>& taints) {
  Fixed& fixed = *fixed_;
  std::int32_t& id = fixed.taint_set[static_cast<std::size_t>(slot)];
  const std::int32_t before = id;
  id = taints.empty() ? 0 : fixed.taint_set_ids.add(key_of(taints));
  fixed.taint_set_ids.drop(before);
  fixed.taint_sets.resize(static_cast<std::size_t>(fixed.taint_set_ids.end()));
  fixed.taint_sets[static_cast<std::size_t>(id)] = taints;
}

void Snapshot::fill_labels(std::int32_t slot, const LabelMap& labels) {
  for (auto& [key, column] : fixed_->labels) {
    std::int32_t& id = column.value_id[static_cast<std::size_t>(slot)];
    const std::int32_t before = id;
    const auto value = labels.find(key);
    id = value ? column.values.add(*value) : 0;
    column.values.drop(before);
  }
}

void Snapshot::note_on(std::int32_t slot, ImageColumn& image) {
  std::vector<std::int32_t>& on = image.nodes;
  const bool is_last = on.empty() || on.back() < slot;  // as nodes of a load come
  const auto at = is_last ? on.end() : std::lower_bound(on.begin(), on.end(), slot);
  if (at != on.end() && *at == slot) return;
  const auto position = at - on.begin();
  make_tight_room(on);
  on.insert(on.begin() + position, slot);
}

void Snapshot::add_images(std::int32_t slot, const Node& node, ImagesOfLists* known) {
  for (const NodeImage& image : node.images) {
    if (known == nullptr) {
      for (const std::string& name : image.names) note_on(slot, fixed_->images[name]);
      continue;
    }
    const auto [of_list, is_new] = known->try_emplace(&image.names.list());
    if (is_new)
      for (const std::string& name : image.names) of_list.value().push_back(&fixed_->images[name]);
    for (ImageColumn* const column : of_list->second) note_on(slot, *column);
  }
}

void Snapshot::drop_images(std::int32_t slot, const Node& node, const ClusterCache& cache) {
  for (const NodeImage& image : node.images)
    for (const std::string& name : image.names) {
      const auto known = fixed_->images.find(name);
      if (known == fixed_->images.end()) continue;  // named twice
      std::vector<std::int32_t>& on = known->second.nodes;
      const auto at = std::lower_bound(on.begin(), on.end(), slot);
      if (at != on.end() && *at == slot) on.erase(at);
      give_back_room(on);
      if (on.empty()) fixed_->images.erase(known);
    }
  read_image_sizes(node, cache);
}

/// The size of an image is the one reported first, and known to the cache.
void Snapshot::read_image_sizes(const Node& node, const ClusterCache& cache) {
  for (const NodeImage& image : node.images)
    for (const std::string& name : image.names) {
      const auto known = fixed_->images.find(name);
      const auto state = cache.images().find(name);
      if (known != fixed_->images.end() && state != cache.images().end())
        known->second.size_bytes = state->second.size_bytes;
    }
}

void Snapshot::read_requested(std::size_t r, std::int32_t slot, const NodeInfo& info) {
  resources_[r].requested.write(slot) = amount_of(info.requested, static_cast<std::int32_t>(r), resources_[r].name);
}

void Snapshot::change_pods(std::int32_t slot, const NodeInfo& info) {
  for (std::size_t r = kEphemeralStorageColumn + 1; r < resources_.size(); ++r) read_requested(r, slot, info);
  change_pods(slot, info, {});
}

void Snapshot::change_pods(std::int32_t slot, const NodeInfo& info, std::span<const std::string> resources) {
  for (std::size_t r = 0; r <= kEphemeralStorageColumn; ++r) read_requested(r, slot, info);
  for (const std::string& name : resources)
    if (const std::int32_t r = find_resource(name); r != kNoColumn)
      read_requested(static_cast<std::size_t>(r), slot, info);
  use_.write(slot) = {info.non_zero_milli_cpu, info.non_zero_memory_bytes, static_cast<std::int64_t>(info.pods.size())};
  // All amounts, with or without a column: amounts of later columns need no extra check.
  note_wrapping(slot, (info.node != nullptr && any_may_wrap(info.node->allocatable)) || any_may_wrap(info.requested) ||
                          may_wrap(info.non_zero_milli_cpu) || may_wrap(info.non_zero_memory_bytes));
  if (used_ports(slot) != info.used_ports) write_used_ports(slot) = info.used_ports;
}

}  // namespace berth
