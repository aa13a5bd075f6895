// SPDX-License-Identifier: Apache-2.0
// Pods of a cache come, go, and change.

#include <algorithm>
#include <optional>
#include <utility>

#include "host/cluster/cache_state.h"
#include "host/cluster/tight_list.h"
#include "host/objects/interruption.h"

namespace berth {
namespace {

constexpr std::size_t kPodsBetweenLooks = 1024;

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

}  // namespace

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

void ClusterCache::State::place(PodPtr pod, std::string_view node_name, PodStage stage,
                                std::vector<CachedPod>* not_indexed) {
  const PodFootprint& footprint = footprints.of(*pod);
  NodeEntry* const known = find(node_name);
  NodeEntry& entry = known != nullptr ? *known : find_or_create(node_name);
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
    if (not_indexed != nullptr) {
      not_indexed->push_back({&entry, position, stage});
    } else {
      pods.insert(CachedPod{&entry, position, stage});
    }
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
    if (known == nullptr && undo == nullptr) erase(entry);
    throw;
  }
}

bool ClusterCache::State::index_new_pods() {
  constexpr std::size_t kAhead = 16;  // the pods lie scattered, and their uids apart from them
  pods.reserve(pods.size() + new_pods.size());
  bool is_new = true;
  const Interruption* const interruption = current_interruption();
  for (std::size_t i = 0; i < new_pods.size() && is_new; ++i) {
    if (i % kPodsBetweenLooks == 0) check_interruption(interruption);
    if (i + kAhead < new_pods.size()) {
      __builtin_prefetch(&new_pods[i + kAhead].pod()->stored_uid);
      __builtin_prefetch(new_pods[i + kAhead / 2].pod()->stored_uid.data());
    }
    is_new = pods.insert(new_pods[i]).second;
  }
  std::vector<CachedPod>().swap(new_pods);
  return is_new;
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

/// Another version of a pod took the place of the one before, at the end of the node's list.
class ClusterCache::State::Exchanged : public UndoStep {
 public:
  Exchanged(State& state, NodeEntry& entry) : state_(state), entry_(entry) {}
  void undo() noexcept override {
    if (before == nullptr) return;
    const auto last = static_cast<std::uint32_t>(entry_.pods.size() - 1);
    const auto found = state_.pods.find(*before);
    if (hole < last) {
      state_.pods.find(*entry_.pods[hole])->position = last;
      entry_.pods[last] = std::move(entry_.pods[hole]);
    }
    entry_.pods[hole] = std::move(before);
    found->position = hole;
    found->stage = stage;
    state_.touch(entry_);
  }
  PodPtr before;  ///< null: nothing was done
  std::uint32_t hole = 0;
  PodStage stage = PodStage::kAdded;

 private:
  State& state_;
  NodeEntry& entry_;
};

/// replace() where the node and what the pod takes there stay: most changes of pods are such. The list of pods ends in
/// the same order.
void ClusterCache::State::exchange(CachedPodSet::const_iterator found, PodPtr pod) {
  NodeEntry& entry = *found->node;
  const std::uint32_t hole = found->position;
  const auto last = static_cast<std::uint32_t>(entry.pods.size() - 1);
  Exchanged* const exchanged = undo != nullptr ? &undo->add<Exchanged>(*this, entry) : nullptr;
  // Nothing below allocates.
  if (exchanged != nullptr) {
    exchanged->hole = hole;
    exchanged->stage = found->stage;
    exchanged->before = entry.pods[hole];
  }
  if (hole < last) {
    pods.find(*entry.pods[last])->position = hole;
    entry.pods[hole] = std::move(entry.pods[last]);
  }
  entry.pods[last] = std::move(pod);
  found->position = last;
  found->stage = PodStage::kAdded;
  touch(entry);
}

void ClusterCache::State::replace(CachedPodSet::const_iterator found, PodPtr pod) {
  if (found->node->name == pod->node_name && surely_have_same_footprint(*found->pod(), *pod) &&
      footprints.of(*pod).ports.empty())
    return exchange(found, std::move(pod));
  displace(found);
  const std::string_view node_name = pod->node_name;  // of the pod itself, which the cache keeps alive
  place(std::move(pod), node_name, PodStage::kAdded);
}

}  // namespace berth
