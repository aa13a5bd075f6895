// SPDX-License-Identifier: Apache-2.0
// Forks of an OverlayFork, its promotion, and the engine of its own that it opens where reading is not enough.

#include <mutex>
#include <utility>

#include "batching/overlay_reading.h"
#include "host/objects/heap_bytes.h"

namespace berth {

bool OverlayFork::promote() {
  if (!history_.promote()) return false;
  self_->fork = nullptr;  // forks of it have no parent any more
  return true;
}

std::unique_ptr<Fork> OverlayFork::fork() {
  std::unique_ptr<Fork> child;
  on_overlay([&](Reading&) {
    child.reset(new OverlayFork(*this, self_));
    return true;
  });
  return child != nullptr ? std::move(child) : engine().engine().open_fork(self_);
}

std::shared_ptr<const ClusterCache> OverlayFork::cluster_as_opened() {
  read_journal();
  auto cache =
      std::make_shared<ClusterCache>(source_->live != nullptr ? source_->live->cluster.cache() : *source_->cache);
  for (const auto& [uid, position] : changed_since_) {
    cache->remove_pod(uid);
    const Standing standing = as_opened(uid);
    if (standing.pod == nullptr) continue;
    if (standing.is_assumed) {
      cache->assume_pod(standing.pod, standing.node_name);
    } else {
      cache->add_pod(standing.pod);
    }
  }
  // Backwards, so that the first change of a node since then comes last.
  for (std::uint64_t position = source_->journal->end(); position-- > journal_position_;)
    for (const PortsBefore& ports : (*source_->journal)[position].ports)
      cache->set_used_ports(ports.node_name, ports.used);
  return cache;
}

/// Opens it at the first call.
EngineOfFork& OverlayFork::engine() {
  if (engine_ != nullptr) return *engine_;
  std::shared_ptr<const ClusterCache> cache;
  ClusterObjects objects;
  {
    const Reading reading(*source_);
    cache = cluster_as_opened();
    objects = (reading.is_live() ? source_->live->cluster.objects() : source_->objects).listed();
    const auto slots = static_cast<std::int32_t>(source_->node_count());
    for (std::int32_t slot = 0; slot < slots; ++slot) names_.emplace(slot, source_->node_name(slot));
  }
  const Beside now = reopen_with_ ? *reopen_with_ : beside();
  std::unique_ptr<Backend> engine = source_->open_engine(std::move(cache), objects, now.next_start);
  replay_copies(history_.steps(), *engine);
  for (const NominationUpsert& nomination : now.nominations) {
    const ClusterChange change = nomination;
    engine->apply({&change, 1});
  }
  for (const auto& [index, name] : names_) index_of_name_.emplace(name, index);
  engine_ = std::make_unique<EngineOfFork>(std::move(engine));
  // Nothing below allocates.
  ++*source_->own_engines;
  reopen_with_.reset();
  accepting_.clear();
  pods_in_order_.reset();
  const Reading reading(*source_);  // what the state reads does not change while it goes
  state_.reset();
  return *engine_;
}

OverlayFork::Beside OverlayFork::beside() const { return {state_->next_start(), state_->nominations.all()}; }

void OverlayFork::as_one(const std::function<void()>& calls) {
  const std::size_t steps = history_.steps().size();
  const std::uint64_t version = self_->version;
  const auto take_back = [&] {
    history_.shorten(steps);
    self_->version = version;
  };
  if (state_ == nullptr) {
    try {
      engine().engine().as_one(calls);
    } catch (...) {
      engine_->forget_prepared();
      take_back();
      throw;
    }
    return;
  }
  Beside before = beside();
  try {
    calls();
  } catch (...) {
    take_back();
    engine_.reset();
    pods_in_order_.reset();
    const Reading reading(*source_);
    state_.reset();
    reopen_with_ = std::move(before);
    throw;
  }
}

std::uint64_t OverlayFork::own_bytes() const {
  constexpr std::uint64_t kNode = 2 * sizeof(void*);  // of a hash map: a link and a hash
  std::uint64_t bytes =
      sizeof(OverlayFork) + sizeof(ForkParent) + history_.bytes() + touched_.bytes() + accepting_.bytes();
  for (const auto& [uid, standing] : own_pods_)
    bytes += heap_block_bytes(kNode + sizeof(std::string) + sizeof(Standing)) + heap_bytes(uid, standing.node_name);
  bytes += heap_block_bytes(own_pods_.bucket_count() * sizeof(void*));
  bytes += changed_since_.size() * heap_block_bytes(kNode + sizeof(std::string) + sizeof(std::uint64_t));
  bytes += names_.size() * heap_block_bytes(kNode + sizeof(std::int32_t) + sizeof(std::string));
  bytes += index_of_name_.size() * heap_block_bytes(kNode + sizeof(std::string) + sizeof(std::int32_t));
  if (pods_in_order_ != nullptr) bytes += pods_in_order_->bytes();
  if (engine_ != nullptr) return bytes + engine_->bytes();
  if (state_ == nullptr) return bytes;
  return bytes + sizeof(CommitState) + state_->snapshot.own_bytes() + state_->log.bytes() +
         heap_bytes(state_->answered);
}

/// Of a node of the fork's engine. A node that came later gets the next free one.
NodeIndex OverlayFork::own_index(NodeIndex of_engine) {
  if (of_engine == kNoNode) return kNoNode;
  const std::string name(engine_->engine().node_name(of_engine));
  if (const auto known = index_of_name_.find(name); known != index_of_name_.end()) return {known->second};
  const auto next = static_cast<std::int32_t>(names_.size());
  names_.emplace(next, name);
  index_of_name_.emplace(name, next);
  return {next};
}

/// The nodes in the fork's engine.
std::vector<NodeIndex> OverlayFork::in_engine(std::span<const NodeIndex> nodes) {
  std::vector<NodeIndex> own;
  own.reserve(nodes.size());
  for (const NodeIndex node : nodes) own.push_back(engine().engine().find_node(node_name(node)));
  return own;
}

CopiesAnswer OverlayFork::copies_in_engine(std::span<const PodToPlace> pods, const CopiesLimits& limits) {
  EngineOfFork& own = engine();
  CopiesLimits limits_of_own = limits;
  std::vector<bool> among;
  if (limits.among != nullptr) {
    among = among_in_engine(*limits.among);
    limits_of_own.among = &among;
  }
  CopiesAnswer answer = own.copies_that_fit(pods, limits_of_own);
  if (!limits.on_nodes) return answer;
  std::vector<NodeIndex> index_of;
  for (std::size_t i = 0; i < answer.slot_count; ++i) {
    const NodeIndex node{static_cast<std::int32_t>(i)};
    index_of.push_back(own.engine().node_name(node).empty() ? kNoNode : own_index(node));
  }
  const std::vector<std::int32_t> on_node = std::exchange(answer.on_node, {});
  const std::size_t slots_of_engine = std::exchange(answer.slot_count, names_.size());
  answer.on_node.resize(pods.size() * answer.slot_count);
  for (std::size_t i = 0; i < on_node.size(); ++i)
    if (const NodeIndex node = index_of[i % slots_of_engine]; node != kNoNode)
      answer.on_node[i / slots_of_engine * answer.slot_count + static_cast<std::size_t>(node.value)] = on_node[i];
  return answer;
}

/// BatchLimits::among in the fork's engine.
std::vector<bool> OverlayFork::among_in_engine(const std::vector<bool>& among) {
  const Backend& own = engine().engine();
  std::vector<bool> in_own(static_cast<std::size_t>(own.slot_count()));
  for (std::size_t i = 0; i < among.size(); ++i) {
    if (!among[i]) continue;
    const NodeIndex node = own.find_node(node_name({static_cast<std::int32_t>(i)}));
    if (node != kNoNode) in_own[static_cast<std::size_t>(node.value)] = true;
  }
  return in_own;
}

NodeIndex OverlayFork::find_node(std::string_view name) {
  NodeIndex found = kNoNode;
  const bool done = on_overlay([&](Reading&) {
    found = {state_->snapshot.find_node(name)};
    return true;
  });
  return done ? found : own_index(engine().engine().find_node(name));
}

bool OverlayFork::is_left_behind() const { return engine_ != nullptr || !Reading(*source_).is_live(); }

std::string OverlayFork::node_of_pod(const std::string& uid) {
  std::string node_name;
  const bool done = on_overlay([&](Reading&) {
    Standing opened;
    node_name = standing_of(uid, opened).node_name;
    return true;
  });
  return done ? node_name : engine().node_of_pod(uid);
}

std::size_t OverlayFork::first_standing(std::span<const std::string* const> uids) {
  std::size_t first = 0;
  const bool done = on_overlay([&](Reading&) {
    read_journal();
    while (first < uids.size() && !stands(*uids[first])) ++first;
    return true;
  });
  return done ? first : Fork::first_standing(uids);
}

NodePtr OverlayFork::node_object(const std::string& name) {
  NodePtr node;
  const bool done = on_overlay([&](Reading&) {
    const std::int32_t slot = state_->snapshot.find_node(name);
    if (slot < 0) return true;
    const GuestNode* const guest = state_->snapshot.guests().find(slot);
    node = guest != nullptr ? guest->node : state_->snapshot.nodes_by_slot()[static_cast<std::size_t>(slot)];
    return true;
  });
  return done ? node : engine().node_object(name);
}

std::vector<PodPtr> OverlayFork::pods_on(const std::string& node_name) {
  std::vector<PodPtr> pods;
  const bool done = on_overlay([&](Reading&) {
    pods = pods_on(node_name, When::kNow);
    return true;
  });
  return done ? pods : engine().pods_on(node_name);
}

std::string_view OverlayFork::node_name(NodeIndex index) const {
  if (index == kNoNode) return {};
  if (const auto known = names_.find(index.value); known != names_.end()) return known->second;
  if (engine_ != nullptr) return {};
  const Reading reading(*source_);
  return names_.emplace(index.value, source_->node_name(index.value)).first->second;
}

std::size_t ForkSource::node_count() const {
  return live != nullptr ? live->snapshot.nodes_by_slot().size() : nodes.size();
}

std::string ForkSource::node_name(std::int32_t slot) const {
  if (live != nullptr) return std::string(live->node_name(slot));
  const NodePtr& node = nodes.at(static_cast<std::size_t>(slot));
  return node != nullptr ? node->name : std::string();
}

}  // namespace berth
