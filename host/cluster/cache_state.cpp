// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/cache_state.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "host/cluster/tight_list.h"
#include "host/objects/interruption.h"

namespace berth {
namespace {

constexpr float kLoadFactor = 0.8F;  // memory before speed: a probe is cheap beside the cache miss it begins with

/// Makes room for more, at least twice as much as there is.
template <class T>
void make_room(std::vector<T>& list, std::size_t more) {
  if (list.capacity() - list.size() < more) list.reserve(std::max(list.size() + more, 2 * list.capacity()));
}

/// Gives each scalar that `added` has an entry, so that adding and subtracting need no memory.
void make_room_for(const ResourceAmounts& added, ResourceAmounts& amounts) {
  for (const auto& [name, amount] : added.scalars)
    if (!amounts.has_scalar(name)) {
      make_tight_room(amounts.scalars);
      const auto at = std::lower_bound(amounts.scalars.begin(), amounts.scalars.end(), name,
                                       [](const auto& entry, const auto& wanted) { return entry.first < wanted; });
      amounts.scalars.emplace(at, name, 0);
    }
}

bool has_scalar_of_zero(const ResourceAmounts& amounts) {
  return std::any_of(amounts.scalars.begin(), amounts.scalars.end(), [](const auto& s) { return s.second == 0; });
}

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

// Pods

/// A pod came.
class ClusterCache::State::Placed : public UndoStep {
 public:
  Placed(State& state, NodeEntry& entry) : state_(state), entry_(entry) {}
  void undo() noexcept override {
    if (!is_done) return;
    state_.pods.erase(state_.pods.find(*entry_.pods.back()));
    entry_.pods.pop_back();
    state_.scalars.drop(entry_, footprint.requested);
    subtract_amounts(entry_, footprint);
    take_off_ports(entry_.used_ports, footprint.ports);
    state_.touch(entry_);
  }
  PodFootprint footprint;
  bool is_done = false;

 private:
  State& state_;
  NodeEntry& entry_;
};

void ClusterCache::State::place(PodPtr pod, std::string_view node_name, PodStage stage) {
  const PodFootprint& footprint = footprints.of(*pod);
  const bool existed = find(node_name) != nullptr;
  NodeEntry& entry = find_or_create(node_name);
  bool has_scalars = false;
  bool has_pod = false;
  try {
    Placed* const placed = undo != nullptr ? &undo->add<Placed>(*this, entry) : nullptr;
    if (placed != nullptr) placed->footprint = footprint;
    std::vector<HostPort> ports = footprint.ports;
    make_room(entry.used_ports, ports.size());
    make_room_for(footprint.requested, entry.requested);
    scalars.add(entry, footprint.requested);
    has_scalars = true;
    const auto position = static_cast<std::uint32_t>(entry.pods.size());
    make_tight_room(entry.pods);
    entry.pods.push_back(std::move(pod));
    has_pod = true;
    pods.insert(CachedPod{&entry, position, stage});
    // Nothing below allocates.
    add_amounts(entry, footprint);
    for (HostPort& port : ports) {
      const auto at = std::lower_bound(entry.used_ports.begin(), entry.used_ports.end(), port);
      entry.used_ports.insert(at, std::move(port));
    }
    touch(entry);
    if (placed != nullptr) placed->is_done = true;
  } catch (...) {
    if (has_pod) entry.pods.pop_back();
    if (has_scalars) scalars.drop(entry, footprint.requested);
    if (!existed && undo == nullptr) erase(entry);
    throw;
  }
}

/// A pod left.
class ClusterCache::State::Displaced : public UndoStep {
 public:
  Displaced(State& state, NodeEntry& entry) : state_(state), entry_(entry) {}
  void undo() noexcept override {
    if (pod == nullptr) return;
    // The pod that took the place returns to the last one. Lists and sets have the room that they had before.
    const auto last = static_cast<std::uint32_t>(entry_.pods.size());
    if (hole < last) {
      state_.pods.find(*entry_.pods[hole])->position = last;
      entry_.pods.push_back(std::move(entry_.pods[hole]));
      entry_.pods[hole] = std::move(pod);
    } else {
      entry_.pods.push_back(std::move(pod));
    }
    state_.pods.insert(CachedPod{&entry_, hole, stage});
    if (before) {
      entry_.requested = std::move(before->requested);
      entry_.non_zero_milli_cpu = before->non_zero_milli_cpu;
      entry_.non_zero_memory_bytes = before->non_zero_memory_bytes;
    } else {
      return_amounts(entry_, std::move(footprint));
    }
    if (changes_ports) entry_.used_ports = std::move(used_ports);
    state_.touch(entry_);
  }
  void finish() noexcept override {
    if (pod == nullptr) return;
    state_.scalars.drop(entry_, footprint.requested);
    // Not before, since undo() needs the room.
    give_back_room(entry_.pods);
    give_back_room(entry_.requested.scalars);
  }
  PodPtr pod;  ///< null: nothing was done
  std::uint32_t hole = 0;
  PodStage stage = PodStage::kAdded;
  PodFootprint footprint;
  /// Of the node.
  struct Before {
    ResourceAmounts requested;
    std::int64_t non_zero_milli_cpu = 0;
    std::int64_t non_zero_memory_bytes = 0;
  };
  std::optional<Before> before;  ///< absent where return_amounts() is enough
  bool changes_ports = false;
  std::vector<HostPort> used_ports;  ///< of the node before

 private:
  State& state_;
  NodeEntry& entry_;
};

void ClusterCache::State::displace(CachedPodSet::const_iterator found, Ports ports) {
  NodeEntry& entry = *found->node;
  const std::uint32_t hole = found->position;
  const PodPtr pod = entry.pods[hole];
  const PodFootprint& footprint = footprints.of(*pod);
  const bool leaves_vacant = entry.pods.size() == 1 && !entry.is_real() && !entry.in_order;
  Displaced* const displaced = undo != nullptr ? &undo->add<Displaced>(*this, entry) : nullptr;
  if (displaced != nullptr) {
    displaced->changes_ports = leaves_vacant || !footprint.ports.empty();
    if (displaced->changes_ports) displaced->used_ports = entry.used_ports;
    if (leaves_vacant || has_scalar_of_zero(entry.requested))
      displaced->before.emplace(entry.requested, entry.non_zero_milli_cpu, entry.non_zero_memory_bytes);
    displaced->footprint = footprint;
  }
  make_room_for(footprint.requested, entry.requested);
  // Nothing below allocates.
  if (displaced != nullptr) {
    displaced->hole = hole;
    displaced->stage = found->stage;
    displaced->pod = pod;
  } else {
    scalars.drop(entry, footprint.requested);
  }
  const auto last = pods.find(*entry.pods.back());
  last->position = hole;
  entry.pods[hole] = std::move(entry.pods.back());
  // Behind the move `found` names the other pod, so it is erased by place and not by key.
  pods.erase(found);
  entry.pods.pop_back();
  subtract_amounts(entry, footprint);
  if (ports == Ports::kFree) {
    free_ports(entry.used_ports, footprint.ports);
  } else {
    take_off_ports(entry.used_ports, footprint.ports);
  }
  if (leaves_vacant) {  // as an entry that is made again
    entry.used_ports.clear();
    entry.requested = {};
    entry.non_zero_milli_cpu = entry.non_zero_memory_bytes = 0;
  }
  touch(entry);
  drop_if_vacant(entry);
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
