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

TopologyIndex::TopologyIndex(const EngineCluster& cluster, const SchedulerConfig& config, const UpstreamBugs& bugs,
                             Snapshot& snapshot)
    : cluster_(cluster), config_(config), bugs_(bugs), snapshot_(snapshot), default_selectors_(cluster.objects()) {
  register_pods();
}

void TopologyIndex::register_pods() {
  queries_.emplace(cluster_.objects(), config_, bugs_, snapshot_);
  for (std::int32_t slot = 0; slot < snapshot_.slot_count(); ++slot)
    for (const PodPtr& pod : pods_on(slot)) note_terms(*pod);
  count_new({});
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
  const std::int32_t identity = queries_->identity_of(pod);
  const std::int32_t default_selector = default_selector_of(pod, identity, profile);
  const KindKey key{pod.spec.get(), identity, default_selector, profile, pod.terminating};
  const auto [at, is_new] = kind_of_key_.try_emplace(key, static_cast<std::int32_t>(kinds_.size()));
  if (!is_new) return at->second;
  const PodLabelSelector& selector = selectors_[static_cast<std::size_t>(default_selector)];
  Kind kind{pod.spec, identity,        queries_->owner_of(pod),
            profile,  pod.terminating, queries_->compile(pod, profile, selector)};
  kinds_.push_back(std::move(kind));
  return at->second;
}

// Compiling

void TopologyIndex::recompile(Kind& kind) {
  OwnProgram all = kind.own;
  queries_->add_existing_pod_terms(kind.identity, kind.profile, all);
  kind.compiled.moves = queries_->moves_of(kind.identity, kind.owner, kind.terminating);
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
  return {queries_->identity_of(pod), queries_->owner_of(pod), pod.terminating};
}

void TopologyIndex::read_pods_of(std::int32_t slot) {
  std::vector<CountedPod>& here = counted_[static_cast<std::size_t>(slot)];
  here.clear();
  for (const PodPtr& pod : pods_on(slot)) here.push_back(counted(*pod));
}

void TopologyIndex::read_pods() {
  counted_.assign(static_cast<std::size_t>(snapshot_.slot_count()), {});
  for (std::int32_t i = 0; i < snapshot_.slot_count(); ++i) read_pods_of(i);
}

std::uint64_t TopologyIndex::key_of(const CountedPod& pod) {
  return (static_cast<std::uint64_t>(pod.identity) << 32) | (static_cast<std::uint64_t>(pod.owner) << 1) |
         (pod.terminating ? 1u : 0u);
}

const std::vector<CountMove>* TopologyIndex::known_moves(const Pod& pod) const {
  static const std::vector<CountMove> kNone;
  if (!has_terms() && !brings_terms(pod)) return &kNone;
  const std::int32_t identity = queries_->find_identity(pod);
  if (identity < 0 || !queries_->knows_terms_of(pod)) return nullptr;
  const auto known = known_moves_.find(key_of({identity, queries_->known_owner_of(pod), pod.terminating}));
  return known != known_moves_.end() && known->second.epoch == epoch() ? &known->second.moves : nullptr;
}

const std::vector<CountMove>& TopologyIndex::moves_of(const CountedPod& pod) {
  KnownMoves& known = known_moves_[key_of(pod)];
  if (known.epoch != epoch()) known = {epoch(), queries_->moves_of(pod.identity, pod.owner, pod.terminating)};
  return known.moves;
}

void TopologyIndex::add_counts_of(std::int32_t slot, int sign) {
  if (counted_.empty()) return;  // terms are registered, and nothing has been counted yet
  for (const CountedPod& pod : counted_[static_cast<std::size_t>(slot)])
    snapshot_.write_topology().add_all(moves_of(pod), slot, sign);
}

void TopologyIndex::count_new(std::span<const AnsweredPod> placed) {
  if (!has_terms()) return;
  if (counted_.empty()) read_pods();
  if (counted_tables_ == snapshot_.topology().table_count()) return;
  TopologyCounts& counts = snapshot_.write_topology();
  const auto add_new = [&](const CountedPod& pod, std::int32_t node) {
    for (const CountMove& move : moves_of(pod))
      if (move.table >= counted_tables_) counts.add(move.table, node, move.amount);
  };
  for (std::size_t i = 0; i < counted_.size(); ++i)
    for (const CountedPod& pod : counted_[i]) add_new(pod, static_cast<std::int32_t>(i));
  for (const AnsweredPod& pod : placed)
    if (pod.node >= 0) add_new(counted(*pod.pod), pod.node);
  counted_tables_ = snapshot_.topology().table_count();
}

// Cluster events

void TopologyIndex::take_over(std::span<const AnsweredPod> placed) {
  if (counted_.empty()) return;  // count_new() will read the cluster
  for (const AnsweredPod& pod : placed)
    if (pod.node >= 0) counted_[static_cast<std::size_t>(pod.node)].push_back(counted(*pod.pod));
}

void TopologyIndex::change_pods(std::int32_t slot) {
  const bool was_counted = !counted_.empty();
  add_counts_of(slot, -1);
  if (was_counted) counted_[static_cast<std::size_t>(slot)].clear();
  for (const PodPtr& pod : pods_on(slot)) note_terms(*pod);
  count_new({});
  if (!was_counted) return;  // count_new() has read the pods of all nodes, if there is anything to count
  read_pods_of(slot);
  add_counts_of(slot, 1);
}

bool TopologyIndex::move_node(std::int32_t slot) {
  if (!has_terms() || !queries_->is_moved(slot)) return false;
  add_counts_of(slot, -1);
  queries_->move_node(slot);
  add_counts_of(slot, 1);
  return true;
}

void TopologyIndex::change_selectors() {
  default_selectors_ = DefaultSelectors(cluster_.objects());
  selector_of_pod_.clear();
  kept_owners_.clear();
  ++epochs_before_;
}

void TopologyIndex::change_namespaces() {
  epochs_before_ = epoch() + 1;
  kind_of_key_.clear();
  kinds_.clear();
  known_moves_.clear();
  selector_of_pod_.clear();
  kept_owners_.clear();
  counted_.clear();
  counted_tables_ = 0;
  snapshot_.write_topology() = {};
  register_pods();
}

void TopologyIndex::rebuild() {
  if (!has_terms()) return;
  queries_->rebuild();
  counted_.clear();
  counted_tables_ = 0;
  count_new({});
}

TopologyCounts TopologyIndex::recount(std::span<const AnsweredPod> placed) {
  TopologyCounts counts = snapshot_.topology().zeroed();
  const auto add = [&](const Pod& pod, std::int32_t node) { counts.add_all(moves_of(counted(pod)), node, 1); };
  for (const NodeInfo* info : cluster_.cache().nodes())
    for (const PodPtr& pod : info->pods) add(*pod, snapshot_.find_node(info->name));
  for (const AnsweredPod& pod : placed)
    if (pod.node >= 0) add(*pod.pod, pod.node);
  return counts;
}

}  // namespace berth
