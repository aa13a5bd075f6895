// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/snapshot.h"

#include <algorithm>
#include <cstdlib>

#include "host/objects/heap_bytes.h"
#include "host/objects/interruption.h"

namespace berth {

Snapshot::Snapshot(const ClusterCache& cache, std::span<const NodePtr> slots) : fixed_(std::make_shared<Fixed>()) {
  for (const std::string_view name : {kCpu, kMemory, kEphemeralStorage}) {
    column_of_resource_.emplace(name, resource_count());
    resources_.push_back({std::string(name), {}, {}, 0});
  }
  const auto nodes = cache.nodes_in_order();
  ImagesOfLists images;
  fixed_->taint_sets.emplace_back();
  fixed_->index_of.reserve(nodes.size());
  std::vector<std::int32_t>& free_slots = fixed_->free_slots;  // the lowest one last
  if (slots.empty()) {
    add_slots(static_cast<std::int32_t>(nodes.size()));
  } else {
    add_slots(static_cast<std::int32_t>(slots.size()));
    free_slots.clear();
    for (std::size_t slot = slots.size(); slot-- > 0;) {
      const NodeInfo* const known = slots[slot] != nullptr ? cache.find_node(slots[slot]->name) : nullptr;
      if (known != nullptr && known->node != nullptr && !fixed_->index_of.contains(known->name)) {
        follow(static_cast<std::int32_t>(slot), *known, &images);
      } else {
        free_slots.push_back(static_cast<std::int32_t>(slot));
      }
    }
    const std::size_t missing = nodes.size() - fixed_->index_of.size();
    if (missing > free_slots.size()) add_slots(static_cast<std::int32_t>(missing - free_slots.size()));
  }
  const Interruption* const interruption = current_interruption();
  for (const NodeInfo* const info : nodes) {
    check_interruption(interruption);
    if (!slots.empty() && fixed_->index_of.contains(info->name)) continue;
    const std::int32_t slot = free_slots.back();
    free_slots.pop_back();
    follow(slot, *info, &images);
  }
  for (const auto& [name, state] : cache.images())
    if (const auto at = fixed_->images.find(name); at != fixed_->images.end()) at->second.size_bytes = state.size_bytes;
  update_order(cache);
}

Snapshot::Fixed& Snapshot::write_fixed() {
  if (fixed_.use_count() != 1) fixed_ = std::make_shared<Fixed>(*fixed_);
  return *fixed_;
}

Snapshot Snapshot::borrowed() const {
  Snapshot copy = *this;
  copy.fixed_ = std::shared_ptr<Fixed>(std::shared_ptr<void>(), fixed_.get());
  return copy;
}

void Snapshot::add_resources_of(const Snapshot& live) {
  resources_.resize(live.resources_.size());
  for (std::size_t r = 0; r < resources_.size(); ++r)
    if (live.resources_[r].built_at > resources_built_) resources_[r] = live.resources_[r];
  resources_built_ = live.resources_built_;
  column_of_resource_ = live.column_of_resource_;
}

// Slots

void Snapshot::add_slots(std::int32_t count) {
  Fixed& fixed = write_fixed();
  const std::int32_t before = slot_count();
  const std::size_t slots = static_cast<std::size_t>(before) + static_cast<std::size_t>(count);
  grow_columns(before + count);
  slot_count_ = before + count;
  fixed.nodes.resize(slots);
  fixed.rank.resize(slots, -1);
  fixed.entry_id.resize(slots);
  fixed.name_hash.resize(slots);
  fixed.allowed_pods.resize(slots);
  fixed.unschedulable.resize(slots);
  fixed.may_wrap.resize(slots);
  fixed.taint_set.resize(slots);
  for (auto& [key, column] : fixed.labels) column.value_id.resize(slots);
  for (std::int32_t i = before + count; i-- > before;) fixed.free_slots.push_back(i);
}

void Snapshot::grow_columns(std::int32_t slot_count) {
  for (Resource& resource : resources_) {
    resource.allocatable.grow(slot_count);
    resource.requested.grow(slot_count);
  }
  use_.grow(slot_count);
  used_ports_.grow(slot_count);
}

bool Snapshot::update_order(const ClusterCache& cache) {
  if (order_generation_ == cache.order_generation()) return false;
  Fixed& fixed = write_fixed();
  std::vector<std::int32_t> ranks(fixed.rank.size(), -1);
  fixed.order.clear();
  std::int32_t before = -1;
  bool is_moved = false;
  for (const NodeInfo* info : cache.nodes_in_order()) {
    const auto slot = static_cast<std::size_t>(slot_of(*info));
    ranks[slot] = static_cast<std::int32_t>(fixed.order.size());
    fixed.order.push_back(static_cast<std::int32_t>(slot));
    if (fixed.rank[slot] < 0) continue;
    is_moved = is_moved || fixed.rank[slot] < before;
    before = fixed.rank[slot];
  }
  fixed.rank = std::move(ranks);
  order_moves_ += is_moved ? 1 : 0;
  order_generation_ = cache.order_generation();
  ++order_version_;
  return true;
}

// Columns

std::int64_t Snapshot::amount_of(const ResourceAmounts& amounts, std::int32_t column, const std::string& name) {
  if (column == kCpuColumn) return amounts.milli_cpu;
  if (column == kMemoryColumn) return amounts.memory_bytes;
  if (column == kEphemeralStorageColumn) return amounts.ephemeral_storage_bytes;
  return amounts.scalar(name);
}

std::int32_t Snapshot::find_node(std::string_view name) const {
  if (!guests_.empty())
    if (const GuestNode* guest = guests_.find(name)) return guest->node != nullptr ? guest->slot : -1;
  return find_in_engine(name);
}

std::int32_t Snapshot::find_resource(std::string_view name) const {
  const auto at = column_of_resource_.find(name);
  return at == column_of_resource_.end() ? kNoColumn : at->second;
}

std::int32_t Snapshot::ensure_resource(std::string_view name, const ClusterCache& cache) {
  if (const std::int32_t known = find_resource(name); known != kNoColumn) return known;
  const std::vector<const NodeInfo*> nodes = cache.nodes_with_scalar(name);
  // A sum that wrapped below 0 leaves room for a resource that no node offers.
  const bool is_needed = std::any_of(nodes.begin(), nodes.end(), [&](const NodeInfo* info) {
    return info->node->allocatable.scalar(name) > 0 || (scores_may_wrap() && info->requested.scalar(name) < 0);
  });
  if (!is_needed) {
    write_fixed().unoffered.emplace(name);
    return kNoColumn;
  }
  write_fixed().unoffered.erase(std::string(name));
  lacks_column_ = false;
  auto free = std::find_if(resources_.begin(), resources_.end(), [](const Resource& r) { return r.name.empty(); });
  if (free == resources_.end()) {
    free = resources_.emplace(resources_.end());
    free->allocatable = free->requested = Column(slot_count());
  }
  Resource& resource = *free;
  resource.name = name;
  resource.built_at = ++resources_built_;
  for (const NodeInfo* info : nodes) {
    const std::int32_t slot = find_node(info->name);
    if (slot < 0) continue;
    resource.allocatable.write(slot) = info->node->allocatable.scalar(name);
    resource.requested.write(slot) = info->requested.scalar(name);
  }
  const auto column = static_cast<std::int32_t>(free - resources_.begin());
  column_of_resource_.emplace(name, column);
  return column;
}

std::vector<std::string_view> Snapshot::resources_built_since(std::uint64_t built) const {
  std::vector<std::string_view> names;
  for (const auto& [name, column] : column_of_resource_)
    if (built_at(column) > built) names.emplace_back(name);
  return names;
}

void Snapshot::keep_resources(const std::set<std::string, std::less<>>& names) {
  for (std::size_t r = kEphemeralStorageColumn + 1; r < resources_.size(); ++r) {
    Resource& resource = resources_[r];
    if (resource.name.empty() || names.contains(resource.name)) continue;
    column_of_resource_.erase(resource.name);
    resource.name.clear();
    resource.allocatable.fill(0);
    resource.requested.fill(0);
  }
  std::erase_if(write_fixed().unoffered, [&](const std::string& name) { return !names.contains(name); });
}

const LabelColumn& Snapshot::label_column(std::string_view key) {
  const auto known = fixed_->labels.find(std::string(key));
  if (known != fixed_->labels.end()) return known->second;
  // Copies share a new column: it changes nothing that they hold.
  LabelColumn& column = fixed_->labels[std::string(key)];
  column.key = key;
  column.value_id.resize(static_cast<std::size_t>(slot_count()));
  for (std::int32_t slot = 0; slot < slot_count(); ++slot)
    if (const auto value = has_node(slot) ? node(slot).labels.find(key) : std::nullopt)
      column.value_id[static_cast<std::size_t>(slot)] = column.values.add(*value);
  return column;
}

bool Snapshot::reports_other_image_sizes(const Node& node) const {
  const auto is_other = [&](const NodeImage& reported, const std::string& name) {
    const ImageColumn* const known = image(name);
    return known != nullptr && known->size_bytes != reported.size_bytes;
  };
  return std::any_of(node.images.begin(), node.images.end(), [&](const NodeImage& reported) {
    return std::any_of(reported.names.begin(), reported.names.end(),
                       [&](const std::string& name) { return is_other(reported, name); });
  });
}

const ImageColumn* Snapshot::image(std::string_view name) const {
  const auto at = fixed_->images.find(name);
  return at == fixed_->images.end() ? nullptr : &at->second;
}

namespace {

/// Wraps around like the cache's sums, so that taking copies off is the exact inverse of adding them.
/// @return whether scores may wrap with the new sum, or one on the way to it
bool add_wrapping(std::int64_t& cell, std::int64_t amount, std::int64_t copies) {
  std::int64_t change = 0;
  const bool change_wrapped = __builtin_mul_overflow(amount, copies, &change);
  const bool sum_wrapped = __builtin_add_overflow(cell, change, &cell);
  return change_wrapped || sum_wrapped || Snapshot::may_wrap(cell);
}

}  // namespace

void Snapshot::add_requested(std::int32_t node, const ResourceDelta& delta, std::int32_t copies) {
  for (const auto& [column, amount] : delta.requested)
    placement_may_wrap_ |=
        add_wrapping(resources_[static_cast<std::size_t>(column)].requested.write(node), amount, copies);
}

void Snapshot::apply(std::int32_t node, const ResourceDelta& delta, std::int32_t copies) {
  add_requested(node, delta, copies);
  NodeUse& use = use_.write(node);
  placement_may_wrap_ |= add_wrapping(use.non_zero_milli_cpu, delta.non_zero_milli_cpu, copies);
  placement_may_wrap_ |= add_wrapping(use.non_zero_memory_bytes, delta.non_zero_memory_bytes, copies);
  use.pod_count += copies;
}

std::uint64_t Snapshot::own_bytes() const {
  std::uint64_t bytes = use_.own_bytes() + used_ports_.own_bytes() + topology_.own_bytes() +
                        heap_bytes(resources_, column_of_resource_, guest_in_order_, guest_rank_);
  for (const Resource& resource : resources_)
    bytes += heap_bytes(resource.name) + resource.allocatable.own_bytes() + resource.requested.own_bytes();
  return bytes;
}

std::uint64_t Snapshot::column_bytes() const {
  std::uint64_t bytes = use_.bytes() + used_ports_.bytes() + topology_.bytes();
  for (const Resource& resource : resources_) bytes += resource.allocatable.bytes() + resource.requested.bytes();
  bytes += static_cast<std::uint64_t>(slot_count()) * (sizeof(NodePtr) + 4 + 4 + 4 + 8 + 1 + 4 + 48);
  for (const auto& [key, column] : fixed_->labels) bytes += column.value_id.size() * 4;
  return bytes;
}

}  // namespace berth
