// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_index.h"

#include <algorithm>

namespace berth {
namespace {

bool brings_terms(const Pod& pod) { return pod.spec->pod_affinity || pod.spec->pod_anti_affinity; }

}  // namespace

std::size_t TopologyIndex::KindKeyHash::operator()(const KindKey& key) const {
  const std::uint64_t numbers = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.identity)) << 32) ^
                                (static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.default_selector)) << 8) ^
                                static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.profile));
  return std::hash<const void*>()(key.spec) ^ (numbers * 0x9e3779b97f4a7c15u >> 7);
}

TopologyIndex::TopologyIndex(const ClusterObjects& objects, const SchedulerConfig& config, const UpstreamBugs& bugs,
                             Snapshot& snapshot, const ClusterCache& cache)
    : config_(config),
      snapshot_(snapshot),
      cache_(cache),
      default_selectors_(objects),
      queries_(objects, config, bugs, snapshot) {
  for (const NodeInfo* info : cache.nodes_in_order())
    for (const PodPtr& pod : info->pods) note_terms(*pod);
  count_new({});
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
  const auto [known, is_new] = selector_of_pod_.try_emplace({identity, pod.owners.get()}, 0);
  if (!is_new) return known->second;
  kept_owners_.push_back(pod.owners);
  PodLabelSelector selector = default_selectors_.of(pod);
  if (selector.is_empty()) return 0;
  const auto [at, is_first] =
      selector_of_signature_.try_emplace(selector.signature(), static_cast<std::int32_t>(selectors_.size()));
  if (is_first) selectors_.push_back(std::move(selector));
  return known->second = at->second;
}

std::int32_t TopologyIndex::kind_of(const Pod& pod, std::int32_t profile) {
  if (!concerns(pod, profile)) return kNoKind;
  const std::int32_t identity = queries_.identity_of(pod);
  const std::int32_t default_selector = default_selector_of(pod, identity, profile);
  const KindKey key{pod.spec.get(), identity, default_selector, profile, pod.terminating};
  const auto [at, is_new] = kind_of_key_.try_emplace(key, static_cast<std::int32_t>(kinds_.size()));
  if (!is_new) return at->second;
  const PodLabelSelector& selector = selectors_[static_cast<std::size_t>(default_selector)];
  Kind kind{pod.spec, identity,        queries_.owner_of(pod),
            profile,  pod.terminating, queries_.compile(pod, profile, selector)};
  kinds_.push_back(std::move(kind));
  return at->second;
}

// Compiling

void TopologyIndex::recompile(Kind& kind) {
  OwnProgram all = kind.own;
  queries_.add_existing_pod_terms(kind.identity, kind.profile, all);
  kind.compiled.moves = queries_.moves_of(kind.identity, kind.owner, kind.terminating);
  kind.compiled.signature = signature_of(all.program, kind.compiled.moves);
  kind.compiled.program =
      all.program.empty() ? nullptr : std::make_shared<const TopologyProgram>(std::move(all.program));
  kind.epoch = epoch();
}

const TopologyIndex::Compiled& TopologyIndex::compile(std::int32_t index) {
  Kind& kind = kinds_[static_cast<std::size_t>(index)];
  if (kind.epoch != epoch()) recompile(kind);
  return kind.compiled;
}

const std::vector<CountMove>& TopologyIndex::moves_of(const Pod& pod, std::int32_t profile) {
  static const std::vector<CountMove> kNone;
  const std::int32_t kind = kind_of(pod, profile);
  return kind == kNoKind ? kNone : compile(kind).moves;
}

// Counting

TopologyIndex::CountedPod TopologyIndex::counted(const Pod& pod) {
  return {queries_.identity_of(pod), queries_.owner_of(pod), pod.terminating};
}

void TopologyIndex::read_cache() {
  const auto nodes = cache_.nodes_in_order();
  counted_.assign(nodes.size(), {});
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const PodPtr& pod : nodes[i]->pods) counted_[i].push_back(counted(*pod));
}

std::vector<CountMove> TopologyIndex::moves_of(const CountedPod& pod) {
  return queries_.moves_of(pod.identity, pod.owner, pod.terminating);
}

void TopologyIndex::add_counts(const CountedPod& pod, std::int32_t node, int sign) {
  snapshot_.write_topology().add_all(moves_of(pod), node, sign);
}

/// Caches the changes of new tables, since pods of one template change the same ones.
class TopologyIndex::NewMoves {
 public:
  explicit NewMoves(TopologyIndex& index) : index_(index) {}
  const std::vector<CountMove>& of(const CountedPod& pod) {
    const std::uint64_t key = (static_cast<std::uint64_t>(pod.identity) << 32) |
                              (static_cast<std::uint64_t>(pod.owner) << 1) | (pod.terminating ? 1u : 0u);
    const auto [at, is_new] = moves_.try_emplace(key);
    if (is_new) {
      at->second = index_.moves_of(pod);
      std::erase_if(at->second, [&](const CountMove& move) { return move.table < index_.counted_tables_; });
    }
    return at->second;
  }

 private:
  TopologyIndex& index_;
  std::unordered_map<std::uint64_t, std::vector<CountMove>> moves_;
};

void TopologyIndex::count_new(std::span<const AnsweredPod> placed) {
  if (!has_terms()) return;
  if (counted_.empty()) read_cache();
  if (counted_tables_ == snapshot_.topology().table_count()) return;
  NewMoves new_moves(*this);
  TopologyCounts& counts = snapshot_.write_topology();
  for (std::size_t i = 0; i < counted_.size(); ++i)
    for (const CountedPod& pod : counted_[i]) counts.add_all(new_moves.of(pod), static_cast<std::int32_t>(i), 1);
  for (const AnsweredPod& pod : placed)
    if (pod.node >= 0) counts.add_all(new_moves.of(counted(*pod.pod)), pod.node, 1);
  counted_tables_ = snapshot_.topology().table_count();
}

void TopologyIndex::recount_nodes(std::span<const std::int32_t> nodes, std::span<const AnsweredPod> placed) {
  if (counted_.empty()) return;  // count_new() will read the cache
  count_new(placed);
  for (const AnsweredPod& pod : placed)
    if (pod.node >= 0) add_counts(counted(*pod.pod), pod.node, -1);
  const auto infos = cache_.nodes_in_order();
  for (const std::int32_t node : nodes) {
    std::vector<CountedPod>& here = counted_[static_cast<std::size_t>(node)];
    for (const CountedPod& pod : here) add_counts(pod, node, -1);
    here.clear();
    for (const PodPtr& pod : infos[static_cast<std::size_t>(node)]->pods) here.push_back(counted(*pod));
    for (const CountedPod& pod : here) add_counts(pod, node, 1);
  }
  counted_tables_ = snapshot_.topology().table_count();  // only pods just read can have new terms
}

TopologyCounts TopologyIndex::recount(std::span<const AnsweredPod> placed) {
  TopologyCounts counts = snapshot_.topology().zeroed();
  const auto nodes = cache_.nodes_in_order();
  const auto add = [&](const Pod& pod, std::int32_t node) { counts.add_all(moves_of(counted(pod)), node, 1); };
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const PodPtr& pod : nodes[i]->pods) add(*pod, static_cast<std::int32_t>(i));
  for (const AnsweredPod& pod : placed)
    if (pod.node >= 0) add(*pod.pod, pod.node);
  return counts;
}

void TopologyIndex::rebuild() {
  if (!has_terms()) return;
  queries_.rebuild();
  counted_.clear();
  counted_tables_ = 0;
  count_new({});
}

}  // namespace berth
