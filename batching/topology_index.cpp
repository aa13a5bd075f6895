// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_index.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>

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

bool brings_terms(const Pod& pod) { return pod.spec->pod_affinity || pod.spec->pod_anti_affinity; }

}  // namespace

std::size_t TopologyIndex::KindKey::hash() const {
  const std::uint64_t numbers = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(identity)) << 32) ^
                                (static_cast<std::uint64_t>(static_cast<std::uint32_t>(default_selector)) << 8) ^
                                static_cast<std::uint64_t>(static_cast<std::uint32_t>(profile));
  return std::hash<const void*>()(spec) ^ (numbers * 0x9e3779b97f4a7c15u >> 7);
}

TopologyIndex::TopologyIndex(const EngineCluster& cluster, const SchedulerConfig& config, const UpstreamBugs& bugs,
                             Snapshot& snapshot, std::uint64_t first_epoch)
    : cluster_(cluster),
      config_(config),
      snapshot_(snapshot),
      default_selectors_(cluster.objects().selecting),
      queries_(cluster.objects().namespaces, config, bugs, snapshot),
      epochs_before_(first_epoch),
      all_changed_at_(first_epoch) {
  selectors_.add(PodLabelSelector::everything());
  register_pods();
}

TopologyIndex::AlikePods TopologyIndex::alike_pods() const {
  const Interruption* const interruption = current_interruption();
  tsl::robin_map<SharedByPods, std::uint32_t, SharedByPodsHash> group_of;
  AlikePods alike;
  alike.begin.reserve(static_cast<std::size_t>(snapshot_.slot_count()) + 1);
  for (std::int32_t slot = 0; slot < snapshot_.slot_count(); ++slot) {
    check_interruption(interruption);
    alike.begin.push_back(alike.group_of.size());
    const std::span<const PodPtr> pods = pods_on(slot);
    for (const PodPtr& pod : pods) __builtin_prefetch(&pod->labels);
    for (const PodPtr& pod : pods) {
      const auto next = static_cast<std::uint32_t>(alike.first.size());
      const auto [at, is_new] = group_of.try_emplace(SharedByPods(*pod), next);
      if (is_new) alike.first.push_back(pod.get());
      alike.group_of.push_back(at->second);
    }
  }
  alike.begin.push_back(alike.group_of.size());
  return alike;
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

// Kinds

bool TopologyIndex::concerns(const Pod& pod, std::int32_t profile) const {
  const PodTopologySpreadArgs& spread = config_.profiles[static_cast<std::size_t>(profile)].args.pod_topology_spread;
  return has_terms() || brings_terms(pod) || !pod.spec->topology_spread_constraints.empty() ||
         (uses_default_constraints(*pod.spec, spread) && !default_selectors_.none());
}

std::int32_t TopologyIndex::default_selector_of(const Pod& pod, std::int32_t identity, std::int32_t profile) {
  const PodTopologySpreadArgs& args = config_.profiles[static_cast<std::size_t>(profile)].args.pod_topology_spread;
  if (default_selectors_.none() || !uses_default_constraints(*pod.spec, args)) return 0;
  const auto [at, is_new] = selectors_in_namespace_[pod.namespace_].try_emplace({identity, pod.owners.get()});
  SelectorOfPod& known = at->second;
  known.used_at = sweeps_;
  if (!is_new) return known.selector;
  known.owners = pod.owners;
  PodLabelSelector selector = default_selectors_.of(pod);
  if (selector.is_empty()) return 0;
  const auto [number, is_first] = selector_of_signature_.try_emplace(selector.signature(), 0);
  if (is_first) number->second = selectors_.add(std::move(selector));
  return known.selector = number->second;
}

std::int32_t TopologyIndex::kind_of(const Pod& pod, std::int32_t profile) {
  if (!concerns(pod, profile)) return kNoKind;
  const std::int32_t identity = queries_.identity_of(pod);
  const std::int32_t default_selector = default_selector_of(pod, identity, profile);
  const KindKey key{pod.spec.get(), identity, default_selector, profile, pod.terminating};
  std::int32_t kind = kind_of_hash_.find(key.hash(), [&](std::int32_t number) { return kinds_[number].key == key; });
  if (kind < 0) {
    const std::int32_t owner = queries_.owner_of(pod);
    kind = kinds_.add({key, owner, pod.spec, own_program(pod, key)});
    kind_of_hash_.add(key.hash(), kind);
    kind_of_spec_[key.spec] = kind;
  }
  kinds_[kind].used_at = sweeps_;
  return kind;
}

// Compiling

/// Replicas of a StatefulSet differ in labels that their own terms seldom read.
std::shared_ptr<const OwnProgram> TopologyIndex::own_program(const Pod& pod, const KindKey& key) {
  if (const auto latest = kind_of_spec_.find(key.spec); latest != kind_of_spec_.end()) {
    const Kind& other = kinds_[latest->second];
    if (!other.own->reads_labels && other.key.default_selector == key.default_selector &&
        other.key.profile == key.profile && queries_.namespace_of(other.key.identity) == pod.namespace_)
      return other.own;
  }
  return shared(queries_.compile(pod, key.profile, *selectors_[key.default_selector]));
}

std::shared_ptr<const OwnProgram> TopologyIndex::shared(OwnProgram own) {
  const std::string signature = signature_of(own);
  return shared_value(own_of_signature_, signature, std::move(own));
}

std::shared_ptr<const TopologyIndex::Compiled> TopologyIndex::shared(TopologyProgram program,
                                                                     std::vector<CountMove> moves) {
  const std::string signature = signature_of(program, moves);
  return shared_value(compiled_of_signature_, signature,
                      Compiled{program.empty() ? nullptr : std::make_shared<const TopologyProgram>(std::move(program)),
                               std::move(moves), signature});
}

void TopologyIndex::recompile(Kind& kind) {
  OwnProgram all = *kind.own;
  queries_.add_matching_terms(kind.key.identity, kind.key.profile, all);
  std::shared_ptr<const Compiled> compiled =
      shared(std::move(all.program), queries_.moves_of(kind.key.identity, kind.owner, kind.key.terminating));
  if (compiled != kind.compiled) ++kind.revision;
  kind.compiled = std::move(compiled);
  kind.version = queries_.version(kind.key.identity);
}

const std::shared_ptr<const TopologyIndex::Compiled>& TopologyIndex::compiled(std::int32_t index) {
  Kind& kind = kinds_[index];
  if (kind.version != queries_.version(kind.key.identity)) recompile(kind);
  return kind.compiled;
}

std::uint32_t TopologyIndex::revision(std::int32_t kind) {
  compile(kind);
  return kinds_[kind].revision;
}

const std::vector<CountMove>& TopologyIndex::moves_of(const Pod& pod, std::int32_t profile) {
  static const std::vector<CountMove> kNone;
  const std::int32_t kind = kind_of(pod, profile);
  return kind == kNoKind ? kNone : compile(kind).moves;
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
  for (const Pod* const pod : pods.first) counted_as.push_back(counted(*pod));
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

std::optional<std::vector<CountMove>> TopologyIndex::known_moves(const Pod& pod) const {
  if (!has_terms() && !brings_terms(pod)) return std::vector<CountMove>();
  const std::int32_t identity = queries_.find_identity(pod);
  if (identity < 0 || !queries_.knows_terms_of(pod)) return std::nullopt;
  return moves_of({identity, queries_.known_owner_of(pod), pod.terminating});
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

// Giving up what is not used

void TopologyIndex::keep_only(const InUse& in_use, std::vector<std::int32_t>& dropped) {
  LiveNumbers kinds(kinds_.end());
  for (const std::int32_t kind : in_use.kinds)
    if (kind >= 0 && kind < kinds_.end()) kinds.insert(kind);
  TopologyQueries::Live live = queries_.none_live();
  LiveNumbers selectors(selectors_.end());
  selectors.insert(0);
  // Of an identity that stands on nodes the kind that was asked for last stays: more pods of it will come.
  std::unordered_map<std::int32_t, std::int32_t> latest_of_identity;
  kinds_.for_each([&](std::int32_t number, const Kind& kind) {
    const auto identity = static_cast<std::size_t>(kind.key.identity);
    if (identity >= pod_sets_of_identity_.size() || pod_sets_of_identity_[identity].empty()) return;
    const auto [at, is_first] = latest_of_identity.try_emplace(kind.key.identity, number);
    if (!is_first && kinds_[at->second].used_at <= kind.used_at) at->second = number;
  });
  for (const auto& [identity, kind] : latest_of_identity) kinds.insert(kind);
  kinds_.for_each([&](std::int32_t number, const Kind& kind) {
    if (!is_lately(kind.used_at, sweeps_) && !kinds.contains(number)) {
      dropped.push_back(number);
      return;
    }
    live.insert(*kind.own);
    live.matches.identities.insert(kind.key.identity);
    live.matches.owners.insert(kind.owner);
    selectors.insert(kind.key.default_selector);
  });
  pod_sets_.for_each([&](std::int32_t, const PodSet& pod_set) {
    live.matches.identities.insert(pod_set.pod.identity);
    live.matches.owners.insert(pod_set.pod.owner);
  });
  for (const Pod* pod : in_use.nominated) live.matches.owners.insert(queries_.known_owner_of(*pod));
  for (const std::int32_t number : dropped) {
    const KindKey& key = kinds_[number].key;
    kind_of_hash_.remove(key.hash(), number);
    const auto latest = kind_of_spec_.find(key.spec);
    if (latest != kind_of_spec_.end() && latest->second == number) kind_of_spec_.erase(latest);
    kinds_.remove(number);
  }
  drop_expired(own_of_signature_);
  drop_expired(compiled_of_signature_);
  for (auto at = selectors_in_namespace_.begin(); at != selectors_in_namespace_.end();) {
    std::erase_if(at->second, [&](const auto& entry) {
      const auto& [key, known] = entry;
      return !is_lately(known.used_at, sweeps_) || !live.matches.identities.contains(key.first) ||
             !selectors.contains(known.selector);
    });
    at = at->second.empty() ? selectors_in_namespace_.erase(at) : std::next(at);
  }
  for (std::int32_t s = 0; s < selectors_.end(); ++s) {
    if (!selectors_.has(s) || selectors.contains(s)) continue;
    selector_of_signature_.erase(selectors_[s]->signature());
    selectors_.remove(s);
  }
  queries_.keep_only(live);
  ++sweeps_;
  ++epochs_before_;
  void_all();
}

}  // namespace berth
