// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_index.h"

#include <cstdint>
#include <utility>

namespace berth {
namespace {

bool brings_terms(const Pod& pod) { return pod.spec->pod_affinity || pod.spec->pod_anti_affinity; }

}  // namespace

std::size_t TopologyIndex::KindKey::hash() const {
  const std::uint64_t numbers = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(identity)) << 32) ^
                                (static_cast<std::uint64_t>(static_cast<std::uint32_t>(default_selector)) << 8) ^
                                static_cast<std::uint64_t>(static_cast<std::uint32_t>(profile));
  return std::hash<const void*>()(spec) ^ (numbers * 0x9e3779b97f4a7c15u >> 7);
}

TopologyIndex::TopologyIndex(const EngineCluster& cluster, const SchedulerConfig& config, const UpstreamBugs& bugs,
                             Snapshot& snapshot, std::uint64_t first_epoch, std::shared_ptr<WorkArena> arena)
    : cluster_(cluster),
      config_(config),
      snapshot_(snapshot),
      arena_(std::move(arena)),
      default_selectors_(cluster.objects().selecting),
      queries_(cluster.objects().namespaces, config, bugs, snapshot),
      epochs_before_(first_epoch),
      all_changed_at_(first_epoch) {
  selectors_.add(PodLabelSelector::everything());
  register_pods();
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

std::optional<std::vector<CountMove>> TopologyIndex::known_moves(const Pod& pod) const {
  if (!has_terms() && !brings_terms(pod)) return std::vector<CountMove>();
  const std::int32_t identity = queries_.find_identity(pod);
  if (identity < 0 || !queries_.knows_terms_of(pod)) return std::nullopt;
  return moves_of({identity, queries_.known_owner_of(pod), pod.terminating});
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
