// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/snapshot.h"

#include <algorithm>
#include <cstdlib>

#include "host/cluster/name_hash.h"

namespace berth {
namespace {

/// Ids of distinct taint sets in order of first appearance; a cluster has few.
class TaintSetInterner {
 public:
  std::int32_t id_of(const std::vector<Taint>& taints) {
    for (std::size_t id = recent_.size(); id-- > 0;)
      if (sets_[static_cast<std::size_t>(recent_[id])] == taints) return recent_[id];
    std::string key;
    for (const Taint& taint : taints) {
      key.append(taint.key).push_back('\0');
      key.append(taint.value).push_back('\0');
      key.push_back(static_cast<char>('0' + static_cast<int>(taint.effect)));
    }
    const auto [at, is_new] = ids_.try_emplace(std::move(key), static_cast<std::int32_t>(sets_.size()));
    if (is_new) sets_.push_back(taints);
    if (recent_.size() < 4) recent_.push_back(at->second);
    return at->second;
  }
  std::vector<std::vector<Taint>> take() { return std::move(sets_); }

 private:
  std::unordered_map<std::string, std::int32_t> ids_;
  std::vector<std::vector<Taint>> sets_;
  std::vector<std::int32_t> recent_;  ///< the first few sets, compared before any key is built
};

bool any_may_wrap(const ResourceAmounts& amounts) {
  return Snapshot::may_wrap(amounts.milli_cpu) || Snapshot::may_wrap(amounts.memory_bytes) ||
         Snapshot::may_wrap(amounts.ephemeral_storage_bytes) ||
         std::any_of(amounts.scalars.begin(), amounts.scalars.end(),
                     [](const auto& scalar) { return Snapshot::may_wrap(scalar.second); });
}

}  // namespace

Snapshot::Snapshot(const ClusterCache& cache) { rebuild(cache); }

void Snapshot::rebuild(const ClusterCache& cache) {
  rebuild_fixed(cache);
  const std::int32_t count = node_count();
  if (resources_.empty())
    for (const std::string_view name : {kCpu, kMemory, kEphemeralStorage})
      resources_.push_back({std::string(name), {}, {}});
  for (Resource& resource : resources_) resource.allocatable = resource.requested = Column(count);
  non_zero_milli_cpu_ = non_zero_memory_bytes_ = pod_count_ = Column(count);
  used_ports_ = Pages<std::vector<HostPort>>(pod_count_.pages().page_count(), kPageNodes);
  const auto nodes = cache.nodes_in_order();
  scores_may_wrap_ = false;
  for (std::int32_t i = 0; i < count; ++i) fill_node(i, *nodes[static_cast<std::size_t>(i)]);
  generation_ = cache.generation();
  order_generation_ = cache.order_generation();
}

void Snapshot::rebuild_fixed(const ClusterCache& cache) {
  auto fixed = std::make_shared<Fixed>();
  const auto nodes = cache.nodes_in_order();
  TaintSetInterner taint_sets;
  taint_sets.id_of({});
  fixed->index_of.reserve(nodes.size());
  fixed->nodes.reserve(nodes.size());
  for (const NodeInfo* info : nodes) {
    const auto i = static_cast<std::int32_t>(fixed->nodes.size());
    const Node& node = *info->node;
    fixed->nodes.push_back(info->node);
    fixed->index_of.emplace(node.name, i);
    fixed->name_hash.push_back(node_name_hash(node.name));
    fixed->allowed_pods.push_back(node.allowed_pod_number);
    fixed->unschedulable.push_back(node.unschedulable ? 1 : 0);
    fixed->taint_set.push_back(taint_sets.id_of(node.taints));
    for (const NodeImage& image : node.images)
      for (const std::string& name : image.names) {
        std::vector<std::int32_t>& on = fixed->images[name].nodes;
        if (on.empty() || on.back() != i) on.push_back(i);
      }
  }
  for (const auto& [name, state] : cache.images()) {
    const auto at = fixed->images.find(name);
    if (at != fixed->images.end()) at->second.size_bytes = state.size_bytes;
  }
  fixed->taint_sets = taint_sets.take();
  fixed_ = std::move(fixed);
}

std::int64_t Snapshot::amount_of(const ResourceAmounts& amounts, std::int32_t column, const std::string& name) {
  if (column == kCpuColumn) return amounts.milli_cpu;
  if (column == kMemoryColumn) return amounts.memory_bytes;
  if (column == kEphemeralStorageColumn) return amounts.ephemeral_storage_bytes;
  return amounts.scalar(name);
}

void Snapshot::fill_node(std::int32_t i, const NodeInfo& info) {
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    const auto column = static_cast<std::int32_t>(r);
    resources_[r].allocatable.write(i) = amount_of(info.node->allocatable, column, resources_[r].name);
    resources_[r].requested.write(i) = amount_of(info.requested, column, resources_[r].name);
  }
  // All amounts, with or without a column: amounts of later columns need no extra check.
  scores_may_wrap_ = scores_may_wrap_ || any_may_wrap(info.node->allocatable) || any_may_wrap(info.requested) ||
                     may_wrap(info.non_zero_milli_cpu) || may_wrap(info.non_zero_memory_bytes);
  non_zero_milli_cpu_.write(i) = info.non_zero_milli_cpu;
  non_zero_memory_bytes_.write(i) = info.non_zero_memory_bytes;
  pod_count_.write(i) = static_cast<std::int64_t>(info.pods.size());
  if (used_ports(i) != info.used_ports) write_used_ports(i) = info.used_ports;
}

Snapshot::Update Snapshot::update(const ClusterCache& cache) {
  Update result;
  if (cache.order_generation() != order_generation_) {
    rebuild(cache);
    result.nodes_changed = true;
    return result;
  }
  for (const NodeInfo* info : cache.changed_since(generation_)) {
    const std::int32_t i = find_node(info->name);
    if (fixed_->nodes[static_cast<std::size_t>(i)] != info->node) {
      rebuild(cache);
      result.nodes_changed = true;
      result.touched.clear();
      return result;
    }
    fill_node(i, *info);
    result.touched.push_back(i);
  }
  generation_ = cache.generation();
  return result;
}

std::int32_t Snapshot::find_node(std::string_view name) const {
  const auto at = fixed_->index_of.find(name);
  return at == fixed_->index_of.end() ? -1 : at->second;
}

std::int32_t Snapshot::ensure_resource(std::string_view name, const ClusterCache& cache) {
  for (std::size_t r = 0; r < resources_.size(); ++r)
    if (resources_[r].name == name) return static_cast<std::int32_t>(r);
  const bool offered = std::any_of(fixed_->nodes.begin(), fixed_->nodes.end(),
                                   [&](const NodePtr& node) { return node->allocatable.scalar(name) > 0; });
  const auto nodes = cache.nodes_in_order();
  // A sum that wrapped below 0 leaves room for a resource that no node offers.
  const bool wrapped = scores_may_wrap_ && std::any_of(nodes.begin(), nodes.end(), [&](const NodeInfo* info) {
                         return info->requested.scalar(name) < 0;
                       });
  if (!offered && !wrapped) return kNoColumn;
  Resource resource{std::string(name), Column(node_count()), Column(node_count())};
  for (std::int32_t i = 0; i < node_count(); ++i) {
    resource.allocatable.write(i) = node(i).allocatable.scalar(name);
    resource.requested.write(i) = nodes[static_cast<std::size_t>(i)]->requested.scalar(name);
  }
  resources_.push_back(std::move(resource));
  return resource_count() - 1;
}

const LabelColumn& Snapshot::label_column(std::string_view key) {
  const auto [at, is_new] = fixed_->labels.try_emplace(std::string(key));
  LabelColumn& column = at->second;
  if (!is_new) return column;
  column.key = key;
  column.values.emplace_back();
  column.value_id.resize(fixed_->nodes.size());
  std::unordered_map<std::string_view, std::int32_t> ids;
  for (std::size_t i = 0; i < fixed_->nodes.size(); ++i) {
    const auto value = fixed_->nodes[i]->labels.find(key);
    if (!value) continue;
    const auto [id, first] = ids.try_emplace(*value, static_cast<std::int32_t>(column.values.size()));
    if (first) column.values.emplace_back(*value);
    column.value_id[i] = id->second;
  }
  return column;
}

const ImageColumn* Snapshot::image(std::string_view name) const {
  const auto at = fixed_->images.find(std::string(name));
  return at == fixed_->images.end() ? nullptr : &at->second;
}

namespace {

/// Wraps around like the cache's sums, so that subtracting is the exact inverse of adding.
/// @return whether scores may wrap with the new sum
bool add_wrapping(std::int64_t& cell, std::int64_t amount, int sign) {
  const auto change = static_cast<std::uint64_t>(amount);
  const auto before = static_cast<std::uint64_t>(cell);
  cell = static_cast<std::int64_t>(sign > 0 ? before + change : before - change);
  return Snapshot::may_wrap(cell);
}

}  // namespace

void Snapshot::add_requested(std::int32_t node, const ResourceDelta& delta) {
  for (const auto& [column, amount] : delta.requested)
    scores_may_wrap_ |= add_wrapping(resources_[static_cast<std::size_t>(column)].requested.write(node), amount, 1);
}

void Snapshot::apply(std::int32_t node, const ResourceDelta& delta, int sign) {
  for (const auto& [column, amount] : delta.requested)
    scores_may_wrap_ |= add_wrapping(resources_[static_cast<std::size_t>(column)].requested.write(node), amount, sign);
  scores_may_wrap_ |= add_wrapping(non_zero_milli_cpu_.write(node), delta.non_zero_milli_cpu, sign);
  scores_may_wrap_ |= add_wrapping(non_zero_memory_bytes_.write(node), delta.non_zero_memory_bytes, sign);
  pod_count_.write(node) += sign;
}

std::uint64_t Snapshot::column_bytes() const {
  std::uint64_t bytes = 3 * pod_count_.bytes() + used_ports_.bytes() + topology_.bytes();
  for (const Resource& resource : resources_) bytes += resource.allocatable.bytes() + resource.requested.bytes();
  bytes += static_cast<std::uint64_t>(node_count()) * (sizeof(NodePtr) + 4 + 8 + 1 + 4 + 48);
  for (const auto& [key, column] : fixed_->labels) bytes += column.value_id.size() * 4;
  return bytes;
}

}  // namespace berth
