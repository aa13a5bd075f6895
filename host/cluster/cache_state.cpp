// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/cache_state.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "host/objects/interruption.h"

namespace berth {
namespace {

constexpr float kLoadFactor = 0.8F;  // memory before speed: a probe is cheap beside the cache miss it begins with

std::uint64_t next_entry_id() {
  static std::atomic<std::uint64_t> latest = 0;
  return latest.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

ClusterCache::State::State() {
  nodes.max_load_factor(kLoadFactor);
  pods.max_load_factor(kLoadFactor);
}

ClusterCache::State::State(const State& other)
    : images(other.images),
      storage(other.storage),
      generation(other.generation),
      order_generation(other.order_generation),
      order_difference_count(other.order_difference_count) {
  nodes.max_load_factor(kLoadFactor);
  storage.note_changes_in(nullptr);
  nodes.reserve(other.nodes.size());
  tsl::robin_map<const NodeEntry*, NodeEntry*> copy_of;
  copy_of.reserve(other.nodes.size());
  // Oldest first, so that each becomes the newest of those so far.
  const NodeEntry* oldest = other.newest;
  while (oldest != nullptr && oldest->older != nullptr) oldest = oldest->older;
  const Interruption* const interruption = current_interruption();
  for (const NodeEntry* from = oldest; from != nullptr; from = from->newer) {
    check_interruption(interruption);
    if (from->is_vacant() && !from->in_order) continue;
    NodeEntry& entry = find_or_create(from->name);
    static_cast<NodeInfo&>(entry) = *from;
    entry.in_order = from->in_order;
    entry.older = newest;
    if (newest != nullptr) newest->newer = &entry;
    newest = &entry;
    copy_of.emplace(from, &entry);
  }
  other.tree.for_each(
      [&](const std::string& zone_key, const NodeEntry& from) { tree.put(*find(from.name), zone_key); });
  // Buckets as they are: hashing each pod anew would read all of them.
  check_interruption(interruption);
  pods = other.pods;
  check_interruption(interruption);
  for (const CachedPod& state : pods) state.node = copy_of.at(state.node);
  check_interruption(interruption);
  for (const NodeInfo* info : other.order) order.push_back(find(info->name));
  if (other.undo == nullptr) {
    scalars.copy(other.scalars, [&](const NodeEntry& from) { return find(from.name); });
    return;
  }
  // What left in a call that is not finished is still in the other index.
  for (const auto& entry : nodes) {
    if (entry->is_real()) scalars.add(*entry, entry->node->allocatable);
    for (const PodPtr& pod : entry->pods) scalars.add(*entry, footprints.of(*pod).requested);
  }
}

// Entries

NodeEntry* ClusterCache::State::find(std::string_view name) const {
  const auto found = nodes.find(name);
  return found == nodes.end() ? nullptr : found->get();
}

/// An entry was made: it goes with what made it necessary.
class ClusterCache::State::Created : public UndoStep {
 public:
  explicit Created(State& state) : state_(state) {}
  void undo() noexcept override {
    if (entry != nullptr) state_.erase(*entry);
  }
  NodeEntry* entry = nullptr;

 private:
  State& state_;
};

NodeEntry& ClusterCache::State::find_or_create(std::string_view name) {
  if (NodeEntry* entry = find(name)) return *entry;
  Created* const created = undo != nullptr ? &undo->add<Created>(*this) : nullptr;
  auto entry = std::make_unique<NodeEntry>();
  entry->name = name;
  entry->id = next_entry_id();
  NodeEntry& made = **nodes.insert(std::move(entry)).first;
  if (created != nullptr) created->entry = &made;
  return made;
}

void ClusterCache::State::unlink(NodeEntry& entry) noexcept {
  if (entry.newer != nullptr) entry.newer->older = entry.older;
  if (entry.older != nullptr) entry.older->newer = entry.newer;
  if (newest == &entry) newest = entry.older;
  entry.newer = entry.older = nullptr;
}

void ClusterCache::State::touch(NodeEntry& entry) noexcept {
  entry.generation = ++generation;
  if (newest == &entry) return;
  unlink(entry);
  entry.older = newest;
  if (newest != nullptr) newest->newer = &entry;
  newest = &entry;
}

void ClusterCache::State::drop_if_vacant(NodeEntry& entry) noexcept {
  if (!entry.is_vacant() || entry.in_order) return;
  if (undo == nullptr) return erase(entry);
  has_vacant = true;  // the entry may be needed again
}

void ClusterCache::State::erase(NodeEntry& entry) noexcept {
  unlink(entry);
  nodes.erase(nodes.find(std::string_view(entry.name)));
}

/// Those that nothing refers to.
void ClusterCache::State::drop_vacant() noexcept {
  for (auto at = nodes.begin(); at != nodes.end();) {
    NodeEntry& entry = **at;
    if (entry.is_vacant() && !entry.in_order) {
      unlink(entry);
      at = nodes.erase(at);
    } else {
      ++at;
    }
  }
  has_vacant = false;
}

// Nodes

/// A node got another object, or lost it.
class ClusterCache::State::ObjectSet : public UndoStep {
 public:
  ObjectSet(State& state, NodeEntry& entry) : state_(state), entry_(entry) {}
  void undo() noexcept override {
    if (!is_done) return;
    state_.exchange_object(entry_, before);
    if (before != nullptr) state_.scalars.drop(entry_, before->allocatable);
    state_.touch(entry_);
  }
  void finish() noexcept override {
    if (is_done && before != nullptr) state_.scalars.drop(entry_, before->allocatable);
  }
  NodePtr before;
  bool is_done = false;

 private:
  State& state_;
  NodeEntry& entry_;
};

void ClusterCache::State::exchange_object(NodeEntry& entry, NodePtr& node) noexcept {
  const bool differed = entry.is_real() != entry.in_order;
  std::swap(entry.node, node);
  const bool differs = entry.is_real() != entry.in_order;
  order_difference_count += static_cast<int>(differs) - static_cast<int>(differed);
}

void ClusterCache::State::set_object(NodeEntry& entry, NodePtr node) {
  ObjectSet* const set = undo != nullptr ? &undo->add<ObjectSet>(*this, entry) : nullptr;
  if (node != nullptr) scalars.add(entry, node->allocatable);
  exchange_object(entry, node);
  touch(entry);
  if (set != nullptr) {
    set->before = std::move(node);
    set->is_done = true;
  } else if (node != nullptr) {
    scalars.drop(entry, node->allocatable);
  }
}

void ClusterCache::State::set_node(NodePtr node) {
  NodeEntry& entry = find_or_create(node->name);
  tree.put(entry, zone_key(*node), undo);
  const bool keeps_images = entry.is_real() && entry.node->images == node->images && !images.would_resize(*node);
  if (!keeps_images) {
    if (entry.is_real()) images.drop(*entry.node, undo);
    images.add(*node, undo);
  }
  set_object(entry, std::move(node));
}

void ClusterCache::State::clear_node(NodeEntry& entry) {
  images.drop(*entry.node, undo);
  tree.remove(entry, undo);
  set_object(entry, nullptr);
  drop_if_vacant(entry);
}

// Node order

/// The order was rebuilt.
class ClusterCache::State::Ordered : public UndoStep {
 public:
  explicit Ordered(State& state) : state_(state) {}
  void undo() noexcept override {
    if (!is_done) return;
    for (const auto& entry : state_.nodes) entry->in_order = false;
    state_.order.swap(before);
    for (const NodeInfo* info : state_.order) static_cast<NodeEntry*>(const_cast<NodeInfo*>(info))->in_order = true;
    state_.order_difference_count = std::count_if(state_.nodes.begin(), state_.nodes.end(), [](const auto& entry) {
      return entry->is_real() != entry->in_order;
    });
  }
  std::vector<const NodeInfo*> before;
  bool is_done = false;

 private:
  State& state_;
};

void ClusterCache::State::rebuild_order() {
  Ordered* const ordered = undo != nullptr ? &undo->add<Ordered>(*this) : nullptr;
  std::vector<const NodeInfo*> next = tree.interleaved();
  order.swap(next);
  for (const auto& entry : nodes) {
    entry->in_order = entry->is_real();
    has_vacant = has_vacant || (entry->is_vacant() && !entry->in_order);
  }
  order_difference_count = 0;
  ++order_generation;
  if (ordered == nullptr) return drop_vacant();
  ordered->before = std::move(next);
  ordered->is_done = true;
}

}  // namespace berth
