// SPDX-License-Identifier: Apache-2.0
// The pods of the cluster as a topology index counts them: by what they share, by node, and in tables.

#include <tsl/robin_map.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>

#include "batching/topology_index.h"
#include "host/cluster/tight_list.h"
#include "host/objects/interruption.h"

namespace berth {
namespace {

/// Pods of which these are the same count alike.
struct SharedByPods {
  const char* labels;
  const PodSpec* spec;
  std::string_view name_space;
  bool terminating;

  explicit SharedByPods(const Pod& pod)
      : labels(pod.labels.bytes().data()),
        spec(pod.spec.get()),
        name_space(pod.namespace_),
        terminating(pod.terminating) {}
  friend bool operator==(const SharedByPods&, const SharedByPods&) = default;
};

struct SharedByPodsHash {
  std::size_t operator()(const SharedByPods& shared) const {
    const auto number_of = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
    return (number_of(shared.labels) ^ std::rotl(number_of(shared.spec), 23)) * 0x9e3779b97f4a7c15u >> 8;
  }
};

/// Numbers the groups of alike pods in the order in which they are met.
class PodGroups {
 public:
  /// @param first  gets the first pod of each group
  explicit PodGroups(std::vector<const Pod*>& first) : first_(first) {}
  std::uint32_t number_of(const Pod& pod) {
    const auto [at, is_new] = number_of_.try_emplace(SharedByPods(pod), static_cast<std::uint32_t>(first_.size()));
    if (is_new) first_.push_back(&pod);
    return at->second;
  }

 private:
  std::vector<const Pod*>& first_;
  tsl::robin_map<SharedByPods, std::uint32_t, SharedByPodsHash> number_of_;
};

/// Of a part of the slots that a thread reads, so that one thread reads a small cluster.
constexpr std::int32_t kSlotsOfPartMin = 256;
constexpr std::size_t kGroupsAhead = 8;  ///< whose labels are on their way while one is read: they lie scattered

}  // namespace

// Alike pods

TopologyIndex::AlikePods TopologyIndex::alike_pods(std::int32_t begin, std::int32_t end) const {
  const Interruption* const interruption = current_interruption();
  AlikePods alike;
  PodGroups groups(alike.first);
  alike.begin.reserve(static_cast<std::size_t>(end - begin) + 1);
  for (std::int32_t slot = begin; slot < end; ++slot) {
    check_interruption(interruption);
    alike.begin.push_back(alike.group_of.size());
    const std::span<const PodPtr> pods = pods_on(slot);
    for (const PodPtr& pod : pods) __builtin_prefetch(&pod->labels);
    for (const PodPtr& pod : pods) alike.group_of.push_back(groups.number_of(*pod));
  }
  alike.begin.push_back(alike.group_of.size());
  return alike;
}

/// As one pass over the slots of all parts would find them.
TopologyIndex::AlikePods TopologyIndex::put_together(std::span<const AlikePods> parts) {
  AlikePods alike;
  PodGroups groups(alike.first);
  for (const AlikePods& part : parts) {
    std::vector<std::uint32_t> group_of_part;
    group_of_part.reserve(part.first.size());
    for (const Pod* const pod : part.first) group_of_part.push_back(groups.number_of(*pod));
    const std::size_t before = alike.group_of.size();
    if (!alike.begin.empty()) alike.begin.pop_back();
    for (const std::size_t begin : part.begin) alike.begin.push_back(before + begin);
    for (const std::uint32_t group : part.group_of) alike.group_of.push_back(group_of_part[group]);
  }
  return alike;
}

TopologyIndex::AlikePods TopologyIndex::alike_pods() const {
  const std::int32_t slots = snapshot_.slot_count();
  const std::int32_t count = arena_ == nullptr ? 1 : std::clamp(slots / kSlotsOfPartMin, 1, arena_->threads());
  if (count == 1) return alike_pods(0, slots);
  std::vector<AlikePods> parts(static_cast<std::size_t>(count));
  const auto begin_of = [&](std::size_t part) {
    return static_cast<std::int32_t>(std::int64_t{slots} * static_cast<std::int64_t>(part) / count);
  };
  const Interruption* const interruption = current_interruption();
  arena_->for_each(parts.size(), [&](std::size_t part) {
    const InterruptionScope scope(interruption);
    parts[part] = alike_pods(begin_of(part), begin_of(part + 1));
  });
  return put_together(parts);
}

void TopologyIndex::register_pods() {
  const AlikePods alike = alike_pods();
  for (const Pod* const pod : alike.first) note_terms(*pod);
  if (has_terms()) read_pods(alike);
}

std::span<const PodPtr> TopologyIndex::pods_on(std::int32_t slot) const {
  if (!snapshot_.has_node(slot)) return {};
  return cluster_.cache().find_node(snapshot_.node(slot).name)->pods;
}

// Pod sets

TopologyIndex::CountedPod TopologyIndex::counted(const Pod& pod) {
  return {queries_.identity_of(pod), queries_.owner_of(pod), pod.terminating};
}

std::int32_t TopologyIndex::pod_set_of(const CountedPod& pod) {
  const auto [at, is_new] = pod_set_of_key_.try_emplace(pod.key(), -1);
  if (is_new) {
    at->second = pod_sets_.add({pod});
    const auto identity = static_cast<std::size_t>(pod.identity);
    if (pod_sets_of_identity_.size() <= identity) pod_sets_of_identity_.resize(identity + 1);
    pod_sets_of_identity_[identity].push_back(at->second);
  }
  return at->second;
}

const std::vector<CountMove>& TopologyIndex::moves_of_pod_set(std::int32_t index) {
  PodSet& pod_set = pod_sets_[index];
  const std::uint32_t version = queries_.version(pod_set.pod.identity);
  if (pod_set.version != version) pod_set.moves = moves_of(pod_set.pod);
  pod_set.version = version;
  return pod_set.moves;
}

std::int32_t TopologyIndex::join(const CountedPod& pod, std::int32_t slot) {
  const std::int32_t pod_set = pod_set_of(pod);
  std::vector<PodSetOnNode>& here = pod_sets_on_[static_cast<std::size_t>(slot)];
  const auto known = std::ranges::find(here, pod_set, &PodSetOnNode::pod_set);
  if (known != here.end()) {
    ++known->count;
  } else {
    std::vector<PodSet::Place>& places = pod_sets_[pod_set].places;
    make_tight_room(here);
    make_tight_room(places);
    here.push_back({pod_set, 1, static_cast<std::int32_t>(places.size())});
    places.push_back({slot, static_cast<std::int32_t>(here.size()) - 1});
  }
  return pod_set;
}

/// The entries that take the places of those that go learn of it.
void TopologyIndex::remove_place(std::int32_t slot, std::int32_t position) {
  std::vector<PodSetOnNode>& here = pod_sets_on_[static_cast<std::size_t>(slot)];
  const PodSetOnNode gone = here[static_cast<std::size_t>(position)];
  here[static_cast<std::size_t>(position)] = here.back();
  here.pop_back();
  if (static_cast<std::size_t>(position) < here.size()) {
    const PodSetOnNode& moved = here[static_cast<std::size_t>(position)];
    pod_sets_[moved.pod_set].places[static_cast<std::size_t>(moved.position)].position = position;
  }
  std::vector<PodSet::Place>& places = pod_sets_[gone.pod_set].places;
  places[static_cast<std::size_t>(gone.position)] = places.back();
  places.pop_back();
  give_back_room(here);
  give_back_room(places);
  if (static_cast<std::size_t>(gone.position) < places.size()) {
    const PodSet::Place& moved = places[static_cast<std::size_t>(gone.position)];
    pod_sets_on_[static_cast<std::size_t>(moved.slot)][static_cast<std::size_t>(moved.position)].position =
        gone.position;
  }
  if (!places.empty()) return;
  const CountedPod pod = pod_sets_[gone.pod_set].pod;
  pod_set_of_key_.erase(pod.key());
  std::erase(pod_sets_of_identity_[static_cast<std::size_t>(pod.identity)], gone.pod_set);
  pod_sets_.remove(gone.pod_set);
}

std::vector<CountMove> TopologyIndex::leave(const CountedPod& pod, std::int32_t slot) {
  const std::int32_t pod_set = pod_set_of_key_.at(pod.key());
  std::vector<CountMove> moves = moves_of_pod_set(pod_set);
  std::vector<PodSetOnNode>& here = pod_sets_on_[static_cast<std::size_t>(slot)];
  const auto at = std::find_if(here.begin(), here.end(), [&](const auto& there) { return there.pod_set == pod_set; });
  if (--at->count == 0) remove_place(slot, static_cast<std::int32_t>(at - here.begin()));
  return moves;
}

/// And counts them in the tables.
void TopologyIndex::read_pods(const AlikePods& pods) {
  counts_ = true;
  std::vector<CountedPod> counted_as;
  counted_as.reserve(pods.first.size());
  for (std::size_t i = 0; i < pods.first.size(); ++i) {
    if (i + 2 * kGroupsAhead < pods.first.size()) {
      __builtin_prefetch(&pods.first[i + 2 * kGroupsAhead]->labels);
      __builtin_prefetch(pods.first[i + kGroupsAhead]->labels.bytes().data());
    }
    counted_as.push_back(counted(*pods.first[i]));
  }
  std::vector<std::int32_t> pod_set_of_group;
  pod_set_of_group.reserve(counted_as.size());
  for (const CountedPod& pod : counted_as) pod_set_of_group.push_back(pod_set_of(pod));
  const auto end = static_cast<std::size_t>(pod_sets_.end());
  std::vector<std::size_t> pods_of(end);
  for (const std::uint32_t group : pods.group_of) ++pods_of[static_cast<std::size_t>(pod_set_of_group[group])];
  for (const std::int32_t pod_set : pod_set_of_group)
    pod_sets_[pod_set].places.reserve(pods_of[static_cast<std::size_t>(pod_set)]);
  pod_sets_on_.assign(static_cast<std::size_t>(snapshot_.slot_count()), {});
  std::vector<PodSet::Place> latest(end, PodSet::Place{-1, -1});  // of each pod set
  const Interruption* const interruption = current_interruption();
  for (std::int32_t slot = 0; slot < snapshot_.slot_count(); ++slot) {
    check_interruption(interruption);
    std::vector<PodSetOnNode>& here = pod_sets_on_[static_cast<std::size_t>(slot)];
    const auto groups =
        std::span(pods.group_of)
            .subspan(pods.begin[static_cast<std::size_t>(slot)])
            .first(pods.begin[static_cast<std::size_t>(slot) + 1] - pods.begin[static_cast<std::size_t>(slot)]);
    here.reserve(groups.size());
    for (const std::uint32_t group : groups) {
      const std::int32_t pod_set = pod_set_of_group[group];
      PodSet::Place& place = latest[static_cast<std::size_t>(pod_set)];
      if (place.slot != slot) {
        std::vector<PodSet::Place>& places = pod_sets_[pod_set].places;
        place = {slot, static_cast<std::int32_t>(here.size())};
        here.push_back({pod_set, 0, static_cast<std::int32_t>(places.size())});
        places.push_back(place);
      }
      ++here[static_cast<std::size_t>(place.position)].count;
    }
    give_back_room(here);
  }
  for (const std::int32_t pod_set : pod_set_of_group) give_back_room(pod_sets_[pod_set].places);
  count_all();
}

// Counting

void TopologyIndex::add_counts_of(std::int32_t slot, int sign) {
  if (!counts_) return;  // terms are registered, and nothing has been counted yet
  for (const PodSetOnNode& there : pod_sets_on_[static_cast<std::size_t>(slot)])
    snapshot_.write_topology().add_all(moves_of_pod_set(there.pod_set), slot, sign * there.count);
}

/// All tables are zeroes.
void TopologyIndex::count_all() {
  const Interruption* const interruption = current_interruption();
  for (std::int32_t i = 0; i < snapshot_.slot_count(); ++i) {
    check_interruption(interruption);
    add_counts_of(i, 1);
  }
  queries_.take_new_tables();
}

void TopologyIndex::fill(const QueryTable& added, std::span<const AnsweredPod> placed) {
  TopologyCounts& counts = snapshot_.write_topology();
  const bool skips = queries_.skips_terminating(added.query);
  for (const std::int32_t identity : queries_.identities_matching(added.query)) {
    if (static_cast<std::size_t>(identity) >= pod_sets_of_identity_.size()) continue;
    for (const std::int32_t c : pod_sets_of_identity_[static_cast<std::size_t>(identity)]) {
      if (skips && pod_sets_[c].pod.terminating) continue;
      for (const auto& [slot, position] : pod_sets_[c].places)
        counts.add(added.table, slot,
                   pod_sets_on_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(position)].count);
    }
  }
  for (const AnsweredPod& pod : placed)
    if (pod.node >= 0 && !(skips && pod.pod->terminating) &&
        queries_.matches(queries_.identity_of(*pod.pod), added.query))
      counts.add(added.table, pod.node, 1);
}

void TopologyIndex::count_new(std::span<const AnsweredPod> placed) {
  if (!has_terms()) return;
  if (!counts_) {
    read_pods(alike_pods());
    for (const AnsweredPod& pod : placed)
      if (pod.node >= 0) snapshot_.write_topology().add_all(moves_of(counted(*pod.pod)), pod.node, 1);
  }
  for (const QueryTable& added : queries_.take_new_tables()) fill(added, placed);
}

}  // namespace berth
