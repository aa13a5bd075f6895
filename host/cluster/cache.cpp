// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/cache.h"

#include <algorithm>
#include <utility>

#include "host/cluster/cache_consistency.h"
#include "host/cluster/cache_state.h"
#include "host/objects/heap_bytes.h"

namespace berth {
ClusterCache::ClusterCache() : state_(std::make_unique<State>()) {}
ClusterCache::ClusterCache(const ClusterCache& other) : state_(std::make_unique<State>(*other.state_)) {}
ClusterCache::~ClusterCache() = default;

void ClusterCache::add_node(NodePtr node) { update_node(std::move(node)); }

void ClusterCache::update_node(NodePtr node) { state_->set_node(std::move(node)); }

CacheResult ClusterCache::remove_node(std::string_view name) {
  NodeEntry* entry = state_->find(name);
  if (entry == nullptr || !entry->is_real()) return CacheResult::kUnknownNode;
  state_->clear_node(*entry);
  return CacheResult::kOk;
}

void ClusterCache::note_changes_in(UndoSteps* steps) noexcept {
  state_->undo = steps;
  state_->storage.note_changes_in(steps);
  if (steps == nullptr && state_->has_vacant) state_->drop_vacant();
}

CacheResult ClusterCache::assume_pod(PodPtr pod, std::string_view node_name) {
  if (node_name.empty()) return CacheResult::kUnknownNode;
  if (!pod->node_name.empty() && pod->node_name != node_name) return CacheResult::kNodeMismatch;
  if (state_->pods.contains(*pod)) return CacheResult::kAlreadyPresent;
  state_->place(std::move(pod), node_name, PodStage::kAssumed);
  return CacheResult::kOk;
}

CacheResult ClusterCache::assume_pod(PodPtr pod, std::string_view node_name, VolumeDecisionsPtr decisions) {
  const std::string uid = decisions != nullptr ? pod->uid() : std::string();
  const CacheResult result = assume_pod(std::move(pod), node_name);
  if (result != CacheResult::kOk || decisions == nullptr) return result;
  try {
    state_->storage.assume(uid, std::move(decisions));
  } catch (...) {
    if (state_->undo == nullptr) forget_pod(uid);
    throw;
  }
  return result;
}

CacheResult ClusterCache::forget_pod(std::string_view uid) {
  const auto found = state_->pods.find(uid);
  if (found == state_->pods.end()) return CacheResult::kOk;
  if (!found->is_assumed()) return CacheResult::kWrongState;
  state_->displace(found, State::Ports::kTakeOff);
  state_->storage.forget(uid);
  return CacheResult::kOk;
}

void ClusterCache::expect_new_pods(std::string_view node_name, std::size_t count) {
  if (NodeEntry* const entry = state_->find(node_name); entry != nullptr)
    entry->pods.reserve(entry->pods.size() + count);
}

CacheResult ClusterCache::place_new_pod(PodPtr pod, std::string_view node_name, bool is_assumed) {
  if (node_name.empty()) return CacheResult::kUnknownNode;
  const bool may_be_empty = is_assumed && pod->node_name.empty();
  if (!may_be_empty && pod->node_name != node_name) return CacheResult::kNodeMismatch;
  state_->place(std::move(pod), node_name, is_assumed ? PodStage::kAssumed : PodStage::kAdded, &state_->new_pods);
  return CacheResult::kOk;
}

bool ClusterCache::index_new_pods() { return state_->index_new_pods(); }

CacheResult ClusterCache::add_pod(PodPtr pod) {
  if (pod->node_name.empty()) return CacheResult::kUnknownNode;
  const auto found = state_->pods.find(*pod);
  if (found != state_->pods.end()) {
    if (!found->is_assumed()) return CacheResult::kAlreadyPresent;
    const std::string uid = pod->uid();
    state_->replace(found, std::move(pod));
    state_->storage.confirm(uid);
    return CacheResult::kOk;
  }
  const std::string_view node_name = pod->node_name;  // of the pod itself, which the cache keeps alive
  state_->place(std::move(pod), node_name, PodStage::kAdded);
  return CacheResult::kOk;
}

CacheResult ClusterCache::update_pod(PodPtr pod) {
  const auto found = state_->pods.find(*pod);
  if (found == state_->pods.end()) return CacheResult::kUnknownPod;
  if (found->is_assumed()) return CacheResult::kWrongState;
  if (found->node->name != pod->node_name) return CacheResult::kNodeMismatch;
  state_->replace(found, std::move(pod));
  return CacheResult::kOk;
}

CacheResult ClusterCache::remove_pod(std::string_view uid) {
  const auto found = state_->pods.find(uid);
  if (found == state_->pods.end()) return CacheResult::kUnknownPod;
  state_->displace(found);
  state_->storage.confirm(uid);  // a claim stays bound when its pod goes
  return CacheResult::kOk;
}

void ClusterCache::set_used_ports(std::string_view node_name, const std::vector<HostPort>& used) {
  NodeEntry* entry = state_->find(node_name);
  if (entry == nullptr || entry->used_ports == used) return;
  entry->used_ports = used;
  state_->touch(*entry);
}

void ClusterCache::set_image_size(std::string_view name, std::int64_t size_bytes) {
  state_->images.set_size(name, size_bytes);
}

bool ClusterCache::is_assumed(std::string_view uid) const {
  const auto found = state_->pods.find(uid);
  return found != state_->pods.end() && found->is_assumed();
}

PodPtr ClusterCache::get_pod(std::string_view uid) const {
  const auto found = state_->pods.find(uid);
  return found == state_->pods.end() ? nullptr : found->pod();
}

const NodeInfo* ClusterCache::node_of_pod(std::string_view uid) const {
  const auto found = state_->pods.find(uid);
  return found == state_->pods.end() ? nullptr : found->node;
}

std::optional<ClusterCache::PodPlace> ClusterCache::find_pod(std::string_view uid) const {
  const auto found = state_->pods.find(uid);
  if (found == state_->pods.end()) return std::nullopt;
  return PodPlace{found->pod(), found->node, found->is_assumed()};
}

std::vector<PodPtr> ClusterCache::pods() const {
  std::vector<PodPtr> pods;
  pods.reserve(state_->pods.size());
  for (const CachedPod& pod : state_->pods) pods.push_back(pod.pod());
  return pods;
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

const ClusterStorage& ClusterCache::storage() const { return state_->storage; }
ClusterStorage& ClusterCache::storage() { return state_->storage; }

bool ClusterCache::empty() const { return state_->nodes.empty() && state_->storage.empty(); }

std::size_t ClusterCache::pod_count() const { return state_->pods.size(); }

std::vector<const NodeInfo*> ClusterCache::ghosts() const {
  std::vector<const NodeInfo*> ghosts;
  for (const auto& entry : state_->nodes)
    if (!entry->is_real() && !entry->is_vacant()) ghosts.push_back(entry.get());
  return ghosts;
}

std::size_t ClusterCache::ghost_count() const { return ghosts().size(); }

namespace {

std::uint64_t entry_bytes(const NodeEntry& entry) {
  std::uint64_t bytes = sizeof(NodeEntry) + heap_bytes(entry.name) + heap_bytes(entry.pods) +
                        heap_bytes(entry.requested.scalars) + heap_bytes(entry.used_ports);
  for (const auto& scalar : entry.requested.scalars) bytes += heap_bytes(scalar.first);
  return bytes;
}

}  // namespace

std::uint64_t ClusterCache::memory_bytes() const {
  std::uint64_t bytes = sizeof(State) + heap_bytes(state_->nodes, state_->pods, state_->order) +
                        state_->images.memory_bytes() + state_->footprints.memory_bytes();
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
      const auto found = state_->pods.find(*entry->pods[i]);
      if (found != state_->pods.end() && found->node == entry.get() && found->position == i) continue;
      differences.add("pod " + entry->pods[i]->full_name() + ": the index does not lead to node " + entry->name);
    }
  }
  differences.expect("number of pods", static_cast<std::int64_t>(state_->pods.size()), pods_on_nodes);
  compare_images(state_->images, images, differences);
  return differences.take();
}

}  // namespace berth
