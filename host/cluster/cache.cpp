// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/cache.h"

#include <algorithm>
#include <utility>

#include "host/cluster/cache_consistency.h"
#include "host/cluster/cache_tables.h"
#include "host/cluster/image_table.h"
#include "host/cluster/node_tree.h"
#include "host/cluster/pod_footprint.h"
#include "host/cluster/scalar_index.h"
#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

constexpr float kLoadFactor = 0.8F;  // memory before speed: a probe is cheap beside the cache miss it begins with

}  // namespace

struct ClusterCache::State {
  NodeEntrySet nodes;
  PodStateSet pods;
  NodeTree tree;
  ImageTable images;
  FootprintMemo footprints;
  ScalarIndex<NodeEntry> scalars;
  NodeEntry* newest = nullptr;
  std::uint64_t generation = 0;

  std::vector<const NodeInfo*> order;
  std::uint64_t order_generation = 0;
  std::int64_t order_difference_count = 0;  ///< entries of which is_real() and in_order differ
  std::vector<NodeEntry*> leaving;

  State();
  State(const State& other);
  NodeEntry* find(std::string_view name) const;
  NodeEntry& find_or_create(std::string_view name);
  void unlink(NodeEntry& entry);
  void touch(NodeEntry& entry);
  void set_object(NodeEntry& entry, NodePtr node);
  void drop_if_vacant(NodeEntry& entry);
  void erase(NodeEntry& entry);
  void place(PodPtr pod, std::string_view node_name, PodStage stage);
  enum class Ports : std::uint8_t { kFree, kTakeOff };
  void displace(std::string_view uid, Ports ports = Ports::kFree);
  void rebuild_order();
  void ensure_order() {
    if (order_difference_count != 0) rebuild_order();
  }
};

ClusterCache::State::State() {
  nodes.max_load_factor(kLoadFactor);
  pods.max_load_factor(kLoadFactor);
}

ClusterCache::State::State(const State& other)
    : images(other.images),
      generation(other.generation),
      order_generation(other.order_generation),
      order_difference_count(other.order_difference_count) {
  nodes.max_load_factor(kLoadFactor);
  pods.max_load_factor(kLoadFactor);
  nodes.reserve(other.nodes.size());
  pods.reserve(other.pods.size());
  // Oldest first, so that each becomes the newest of those so far.
  const NodeEntry* oldest = other.newest;
  while (oldest != nullptr && oldest->older != nullptr) oldest = oldest->older;
  for (const NodeEntry* from = oldest; from != nullptr; from = from->newer) {
    NodeEntry& entry = find_or_create(from->name);
    static_cast<NodeInfo&>(entry) = *from;
    entry.in_order = from->in_order;
    entry.is_leaving = from->is_leaving;
    entry.older = newest;
    if (newest != nullptr) newest->newer = &entry;
    newest = &entry;
  }
  other.tree.for_each(
      [&](const std::string& zone_key, const NodeEntry& from) { tree.put(*find(from.name), zone_key); });
  for (const PodState& state : other.pods) pods.insert(PodState{find(state.node->name), state.position, state.stage});
  for (const NodeInfo* info : other.order) order.push_back(find(info->name));
  for (const NodeEntry* entry : other.leaving) leaving.push_back(find(entry->name));
  scalars.copy(other.scalars, [&](const NodeEntry& from) { return find(from.name); });
}

NodeEntry* ClusterCache::State::find(std::string_view name) const {
  const auto found = nodes.find(name);
  return found == nodes.end() ? nullptr : found->get();
}

NodeEntry& ClusterCache::State::find_or_create(std::string_view name) {
  if (NodeEntry* entry = find(name)) return *entry;
  auto entry = std::make_unique<NodeEntry>();
  entry->name = name;
  return **nodes.insert(std::move(entry)).first;
}

void ClusterCache::State::unlink(NodeEntry& entry) {
  if (entry.newer != nullptr) entry.newer->older = entry.older;
  if (entry.older != nullptr) entry.older->newer = entry.newer;
  if (newest == &entry) newest = entry.older;
  entry.newer = entry.older = nullptr;
}

void ClusterCache::State::touch(NodeEntry& entry) {
  entry.generation = ++generation;
  if (newest == &entry) return;
  unlink(entry);
  entry.older = newest;
  if (newest != nullptr) newest->newer = &entry;
  newest = &entry;
}

void ClusterCache::State::set_object(NodeEntry& entry, NodePtr node) {
  const bool differed = entry.is_real() != entry.in_order;
  if (entry.is_real()) scalars.note(entry, entry.node->allocatable, -1);
  entry.node = std::move(node);
  if (entry.is_real()) scalars.note(entry, entry.node->allocatable, 1);
  const bool differs = entry.is_real() != entry.in_order;
  order_difference_count += static_cast<int>(differs) - static_cast<int>(differed);
}

void ClusterCache::State::drop_if_vacant(NodeEntry& entry) {
  if (!entry.is_vacant()) return;
  if (!entry.in_order) return erase(entry);
  if (!entry.is_leaving) leaving.push_back(&entry);
  entry.is_leaving = true;
}

void ClusterCache::State::erase(NodeEntry& entry) {
  unlink(entry);
  nodes.erase(nodes.find(std::string_view(entry.name)));
}

/// The pod must not be in the cache.
void ClusterCache::State::place(PodPtr pod, std::string_view node_name, PodStage stage) {
  NodeEntry& entry = find_or_create(node_name);
  const PodFootprint& footprint = footprints.of(*pod);
  add_footprint(entry, footprint);
  scalars.note(entry, footprint.requested, 1);
  const auto position = static_cast<std::uint32_t>(entry.pods.size());
  entry.pods.push_back(std::move(pod));
  pods.insert(PodState{&entry, position, stage});
  touch(entry);
}

/// The pod must be in the cache. `uid` may view into it.
/// @param ports  kFree: the pod's ports become free whoever else has them; kTakeOff: only what this pod brought goes
void ClusterCache::State::displace(std::string_view uid, Ports ports) {
  const auto found = pods.find(uid);
  NodeEntry& entry = *found->node;
  const std::uint32_t hole = found->position;
  const PodPtr pod = entry.pods[hole];
  const auto last = pods.find(PodUid(*entry.pods.back()).view());
  last->position = hole;
  entry.pods[hole] = std::move(entry.pods.back());
  // Behind the move `found` names the other pod, so it is erased by place and not by key.
  pods.erase(found);
  entry.pods.pop_back();
  const PodFootprint& footprint = footprints.of(*pod);
  subtract_amounts(entry, footprint);
  scalars.note(entry, footprint.requested, -1);
  if (ports == Ports::kFree) {
    free_ports(entry.used_ports, footprint.ports);
  } else {
    take_off_ports(entry.used_ports, footprint.ports);
  }
  touch(entry);
  drop_if_vacant(entry);
}

void ClusterCache::State::rebuild_order() {
  order = tree.interleaved();
  for (const auto& entry : nodes) entry->in_order = entry->is_real();
  order_difference_count = 0;
  ++order_generation;
  for (NodeEntry* entry : std::exchange(leaving, {})) {
    entry->is_leaving = false;
    if (entry->is_vacant()) erase(*entry);
  }
}

ClusterCache::ClusterCache() : state_(std::make_unique<State>()) {}
ClusterCache::ClusterCache(const ClusterCache& other) : state_(std::make_unique<State>(*other.state_)) {}
ClusterCache::~ClusterCache() = default;

void ClusterCache::add_node(NodePtr node) { update_node(std::move(node)); }

void ClusterCache::update_node(NodePtr node) {
  NodeEntry& entry = state_->find_or_create(node->name);
  state_->tree.put(entry, zone_key(*node));
  const bool keeps_images =
      entry.is_real() && entry.node->images == node->images && !state_->images.would_resize(*node);
  if (!keeps_images) {
    if (entry.is_real()) state_->images.drop(*entry.node);
    state_->images.add(*node);
  }
  state_->set_object(entry, std::move(node));
  state_->touch(entry);
}

CacheResult ClusterCache::remove_node(std::string_view name) {
  NodeEntry* entry = state_->find(name);
  if (entry == nullptr || !entry->is_real()) return CacheResult::kUnknownNode;
  state_->images.drop(*entry->node);
  state_->tree.remove(*entry);
  state_->set_object(*entry, nullptr);
  state_->touch(*entry);
  state_->drop_if_vacant(*entry);
  return CacheResult::kOk;
}

CacheResult ClusterCache::assume_pod(PodPtr pod, std::string_view node_name) {
  if (node_name.empty()) return CacheResult::kUnknownNode;
  if (!pod->node_name.empty() && pod->node_name != node_name) return CacheResult::kNodeMismatch;
  if (state_->pods.contains(PodUid(*pod).view())) return CacheResult::kAlreadyPresent;
  state_->place(std::move(pod), node_name, PodStage::kAssumed);
  return CacheResult::kOk;
}

CacheResult ClusterCache::finish_binding(std::string_view uid) {
  const auto found = state_->pods.find(uid);
  if (found != state_->pods.end() && found->is_assumed()) found->stage = PodStage::kAssumedAndBound;
  return CacheResult::kOk;
}

CacheResult ClusterCache::forget_pod(std::string_view uid) {
  const auto found = state_->pods.find(uid);
  if (found == state_->pods.end()) return CacheResult::kOk;
  if (!found->is_assumed()) return CacheResult::kWrongState;
  state_->displace(uid, State::Ports::kTakeOff);
  return CacheResult::kOk;
}

CacheResult ClusterCache::add_pod(PodPtr pod) {
  if (pod->node_name.empty()) return CacheResult::kUnknownNode;
  const PodUid uid(*pod);
  const auto found = state_->pods.find(uid.view());
  if (found != state_->pods.end()) {
    if (!found->is_assumed()) return CacheResult::kAlreadyPresent;
    state_->displace(uid.view());
  }
  const std::string_view node_name = pod->node_name;  // of the pod itself, which the cache keeps alive
  state_->place(std::move(pod), node_name, PodStage::kAdded);
  return CacheResult::kOk;
}

CacheResult ClusterCache::update_pod(PodPtr pod) {
  const PodUid uid(*pod);
  const auto found = state_->pods.find(uid.view());
  if (found == state_->pods.end()) return CacheResult::kUnknownPod;
  if (found->is_assumed()) return CacheResult::kWrongState;
  if (found->node->name != pod->node_name) return CacheResult::kNodeMismatch;
  state_->displace(uid.view());
  const std::string_view node_name = pod->node_name;
  state_->place(std::move(pod), node_name, PodStage::kAdded);
  return CacheResult::kOk;
}

CacheResult ClusterCache::remove_pod(std::string_view uid) {
  if (!state_->pods.contains(uid)) return CacheResult::kUnknownPod;
  state_->displace(uid);
  return CacheResult::kOk;
}

void ClusterCache::set_used_ports(std::string_view node_name, const std::vector<HostPort>& used) {
  NodeEntry* entry = state_->find(node_name);
  if (entry == nullptr || entry->used_ports == used) return;
  entry->used_ports = used;
  state_->touch(*entry);
}

bool ClusterCache::is_assumed(std::string_view uid) const {
  const auto found = state_->pods.find(uid);
  return found != state_->pods.end() && found->is_assumed();
}

bool ClusterCache::is_binding_finished(std::string_view uid) const {
  const auto found = state_->pods.find(uid);
  return found != state_->pods.end() && found->stage == PodStage::kAssumedAndBound;
}

PodPtr ClusterCache::get_pod(std::string_view uid) const {
  const auto found = state_->pods.find(uid);
  return found == state_->pods.end() ? nullptr : found->pod();
}

const NodeInfo* ClusterCache::node_of_pod(std::string_view uid) const {
  const auto found = state_->pods.find(uid);
  return found == state_->pods.end() ? nullptr : found->node;
}

std::span<const NodeInfo* const> ClusterCache::nodes_in_order() const {
  state_->ensure_order();
  return state_->order;
}

std::vector<ClusterCache::NodesOfZone> ClusterCache::nodes_by_zone() const {
  std::vector<NodesOfZone> zones;
  state_->tree.for_each([&](const std::string& zone_key, const NodeEntry& entry) {
    if (zones.empty() || zones.back().zone_key != zone_key) zones.push_back({zone_key, {}});
    zones.back().nodes.push_back(&entry);
  });
  return zones;
}

std::uint64_t ClusterCache::order_generation() const {
  state_->ensure_order();
  return state_->order_generation;
}

std::vector<const NodeInfo*> ClusterCache::changed_since(std::uint64_t generation) const {
  std::vector<const NodeInfo*> changed;
  for (const NodeEntry* entry = state_->newest; entry != nullptr && entry->generation > generation;
       entry = entry->older) {
    if (entry->is_real()) changed.push_back(entry);
  }
  return changed;
}

std::uint64_t ClusterCache::generation() const { return state_->generation; }

const NodeInfo* ClusterCache::find_node(std::string_view name) const {
  const NodeEntry* entry = state_->find(name);
  return entry == nullptr || entry->is_vacant() ? nullptr : entry;
}

std::vector<const NodeInfo*> ClusterCache::nodes() const {
  std::vector<const NodeInfo*> nodes;
  nodes.reserve(state_->nodes.size());
  for (const auto& entry : state_->nodes)
    if (entry->is_real()) nodes.push_back(entry.get());
  return nodes;
}

std::vector<const NodeInfo*> ClusterCache::nodes_with_scalar(std::string_view name) const {
  const auto users = state_->scalars.nodes_with(name);
  if (!users) return nodes();
  std::vector<const NodeInfo*> found;
  for (const NodeEntry* entry : *users)
    if (entry->is_real()) found.push_back(entry);
  return found;
}

const std::map<std::string, ImageState, std::less<>>& ClusterCache::images() const { return state_->images.states(); }
bool ClusterCache::would_resize_images(const Node& node) const { return state_->images.would_resize(node); }

std::size_t ClusterCache::pod_count() const { return state_->pods.size(); }

std::size_t ClusterCache::ghost_count() const {
  return static_cast<std::size_t>(std::count_if(state_->nodes.begin(), state_->nodes.end(), [](const auto& entry) {
    return !entry->is_real() && !entry->is_vacant();
  }));
}

namespace {

std::uint64_t entry_bytes(const NodeEntry& entry) {
  std::uint64_t bytes = sizeof(NodeEntry) + heap_bytes(entry.name) + heap_bytes(entry.pods) +
                        heap_bytes(entry.requested.scalars) + heap_bytes(entry.used_ports);
  for (const auto& scalar : entry.requested.scalars) bytes += heap_bytes(scalar.first);
  return bytes;
}

/// A robin-hood bucket holds the value, a truncated hash and a distance.
template <class Key, class Hash, class Equal>
std::uint64_t table_bytes(const HashSet<Key, Hash, Equal>& set) {
  return set.bucket_count() * (sizeof(Key) + 8);
}

}  // namespace

std::uint64_t ClusterCache::memory_bytes() const {
  std::uint64_t bytes = sizeof(State) + table_bytes(state_->nodes) + table_bytes(state_->pods) +
                        heap_bytes(state_->order) + heap_bytes(state_->leaving) + state_->images.memory_bytes() +
                        state_->footprints.memory_bytes();
  for (const auto& entry : state_->nodes) bytes += entry_bytes(*entry);
  return bytes;
}

std::vector<std::string> ClusterCache::check_consistency() const {
  Differences differences;
  ImageTable images;
  std::int64_t pods_on_nodes = 0;
  for (const auto& entry : state_->nodes) {
    check_node(*entry, differences);
    if (entry->is_real()) images.add(*entry->node);
    pods_on_nodes += static_cast<std::int64_t>(entry->pods.size());
    for (std::size_t i = 0; i < entry->pods.size(); ++i) {
      const auto found = state_->pods.find(PodUid(*entry->pods[i]).view());
      if (found != state_->pods.end() && found->node == entry.get() && found->position == i) continue;
      differences.add("pod " + entry->pods[i]->full_name() + ": the index does not lead to node " + entry->name);
    }
  }
  differences.expect("number of pods", static_cast<std::int64_t>(state_->pods.size()), pods_on_nodes);
  compare_images(state_->images, images, differences);
  return differences.take();
}

}  // namespace berth
