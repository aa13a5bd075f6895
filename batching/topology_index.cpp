// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_index.h"

#include <algorithm>

namespace berth {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

bool brings_terms(const Pod& pod) { return pod.spec->pod_affinity || pod.spec->pod_anti_affinity; }

template <class Number>
void append_number(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string signature_of(const TopologyProgram& program, const std::vector<CountMove>& moves) {
  std::string out;
  for (const HardSpread& hard : program.hard)
    for (const std::int32_t number : {hard.table, hard.max_skew, hard.min_domains, hard.self, hard.query})
      append_number(out, number);
  out.push_back('s');
  for (const SoftSpread& soft : program.soft)
    for (const std::int32_t number : {soft.table, soft.label_column, soft.max_skew}) append_number(out, number);
  out.push_back(program.ignores_incomplete ? 'I' : 'a');
  for (const std::int32_t table : program.affinity) append_number(out, table);
  append_number(out, program.affinity_query);
  out.push_back(program.matches_itself ? 'S' : 'b');
  for (const OwnAntiTerm& anti : program.anti) append_number(out, anti.table);
  out.push_back('e');
  for (const std::int32_t table : program.existing_anti) append_number(out, table);
  out.push_back('p');
  for (const ScoredTable& score : program.scores) {
    append_number(out, score.table);
    append_number(out, score.multiplier);
  }
  out.append(program.pre_filter_error).push_back('|');
  out.append(program.pre_filter_message).push_back('|');
  out.append(program.pre_score_error).push_back('m');
  for (const CountMove& move : moves) {
    append_number(out, move.table);
    append_number(out, move.amount);
  }
  return out;
}

/// Each table once, with the sum of what was said of it.
void merge(std::vector<CountMove>& moves) {
  std::sort(moves.begin(), moves.end(), [](const auto& a, const auto& b) { return a.table < b.table; });
  std::vector<CountMove> merged;
  for (const CountMove& move : moves)
    if (!merged.empty() && merged.back().table == move.table) {
      merged.back().amount += move.amount;
    } else {
      merged.push_back(move);
    }
  moves = std::move(merged);
}

std::vector<std::string> sorted_keys(const std::vector<SpreadConstraint>& constraints) {
  std::vector<std::string> keys;
  for (const SpreadConstraint& constraint : constraints) keys.push_back(constraint.key);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

EligibleNodes eligible_nodes(const SpreadConstraint& constraint, std::vector<std::string> complete_keys,
                             const std::shared_ptr<const PodSpec>& spec) {
  return {std::move(complete_keys), constraint.honors_node_affinity ? spec : nullptr,
          constraint.honors_node_taints ? spec : nullptr};
}

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
      bugs_(bugs),
      snapshot_(snapshot),
      cache_(cache),
      default_selectors_(objects),
      match_label_keys_(config.gates.enabled("MatchLabelKeysInPodTopologySpread")),
      matches_(namespace_labels(objects)),
      tables_(snapshot, config.gates.enabled("TaintTolerationComparisonOperators")) {
  for (const NodeInfo* info : cache.nodes_in_order()) {
    if (alive_) break;
    for (const PodPtr& pod : info->pods) alive_ = alive_ || brings_terms(*pod);
  }
  if (alive_) read_cache();
  count_new({});
}

// Kinds

bool TopologyIndex::concerns(const Pod& pod, std::int32_t profile) const {
  const PodTopologySpreadArgs& spread = config_.profiles[static_cast<std::size_t>(profile)].args.pod_topology_spread;
  return alive_ || brings_terms(pod) || !pod.spec->topology_spread_constraints.empty() ||
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
  const std::int32_t identity = matches_.identity_of(pod);
  const std::int32_t default_selector = default_selector_of(pod, identity, profile);
  const KindKey key{pod.spec.get(), identity, default_selector, profile, pod.terminating};
  const auto [at, is_new] = kind_of_key_.try_emplace(key, static_cast<std::int32_t>(kinds_.size()));
  if (!is_new) return at->second;
  Kind kind;
  kind.spec = pod.spec;
  kind.identity = identity;
  kind.profile = profile;
  kind.terminating = pod.terminating;
  kind.owner = owner_of(pod);
  ask_spread(pod, default_selector, kind);
  ask_affinity(pod, kind);
  kinds_.push_back(std::move(kind));
  return at->second;
}

// Asking

std::int32_t TopologyIndex::add_query(PodQuery query) {
  const std::int32_t q = matches_.add_query(std::move(query));
  tables_of_query_.resize(static_cast<std::size_t>(matches_.query_count()));
  alive_ = true;
  return q;
}

std::int32_t TopologyIndex::owner_of(const Pod& pod) {
  const std::int32_t known = matches_.term_count();
  const std::int32_t owner = matches_.owner_of(pod);
  for (std::int32_t t = known; t < matches_.term_count(); ++t) {
    alive_ = true;
    const ExistingTerm& term = matches_.term(t);
    matches_.set_table(t, tables_.table("term " + std::to_string(t), tables_.key_column(term.term.key), {}, false));
  }
  return owner;
}

void TopologyIndex::note_nominated(const Pod& pod) { owner_of(pod); }

std::int32_t TopologyIndex::spread_query(const SpreadConstraint& constraint, const Pod& pod) {
  NamespaceSet own;
  own.add(pod.namespace_);
  return add_query({{{own, constraint.selector}}, true});
}

std::int32_t TopologyIndex::query_table(std::int32_t query, std::int32_t column) {
  const std::int32_t table = tables_.table("query " + std::to_string(query), column, {}, false);
  std::vector<std::int32_t>& fed = tables_of_query_[static_cast<std::size_t>(query)];
  if (std::find(fed.begin(), fed.end(), table) == fed.end()) fed.push_back(table);
  return table;
}

std::int32_t TopologyIndex::spread_table(std::int32_t query, const SpreadConstraint& constraint, std::int32_t column,
                                         const EligibleNodes& eligible, bool tracks_minimum) {
  const bool counts_nothing = constraint.selector.matches_nothing() ||
                              (constraint.selector.is_empty() && bugs_.empty_spread_selector_counts_nothing);
  const std::int32_t table =
      tables_.table((counts_nothing ? "nothing " : "query ") + std::to_string(query), column, eligible, tracks_minimum);
  std::vector<std::int32_t>& fed = tables_of_query_[static_cast<std::size_t>(query)];
  if (!counts_nothing && std::find(fed.begin(), fed.end(), table) == fed.end()) fed.push_back(table);
  return table;
}

HardSpread TopologyIndex::hard_spread(const SpreadConstraint& constraint, const EligibleNodes& eligible,
                                      const Pod& pod) {
  HardSpread hard;
  hard.max_skew = constraint.max_skew;
  hard.min_domains = constraint.min_domains;
  hard.self = constraint.selector.matches(pod.labels) ? 1 : 0;
  hard.query = spread_query(constraint, pod);
  hard.table = spread_table(hard.query, constraint, tables_.key_column(constraint.key), eligible, true);
  return hard;
}

SoftSpread TopologyIndex::soft_spread(const SpreadConstraint& constraint, const EligibleNodes& eligible, const Pod& pod,
                                      bool absent_is_empty) {
  SoftSpread soft;
  soft.max_skew = constraint.max_skew;
  soft.counts_nodes = constraint.key == kHostname;
  soft.label_column = tables_.key_column(constraint.key);
  const std::int32_t query = spread_query(constraint, pod);
  // Of a node itself every pod counts, whatever the inclusion policies say.
  soft.table = soft.counts_nodes ? spread_table(query, constraint, tables_.node_column(), {}, false)
                                 : spread_table(query, constraint, tables_.key_column(constraint.key, absent_is_empty),
                                                eligible, false);
  return soft;
}

void TopologyIndex::ask_spread(const Pod& pod, std::int32_t default_selector, Kind& kind) {
  const Profile& profile = config_.profiles[static_cast<std::size_t>(kind.profile)];
  const SpreadConstraints constraints =
      compile_spread_constraints(*pod.spec, pod.labels, selectors_[static_cast<std::size_t>(default_selector)],
                                 profile.args.pod_topology_spread, match_label_keys_);
  TopologyProgram& asks = kind.asks;
  if (profile.enables(ExtensionPoint::kPreFilter, PodTopologySpread::name)) {
    if (!constraints.hard_error.empty())
      asks.pre_filter_error =
          "running PreFilter plugin \"PodTopologySpread\": get constraints from pod: obtaining "
          "pod's hard topology spread constraints: " +
          constraints.hard_error;
    if (profile.enables(ExtensionPoint::kFilter, PodTopologySpread::name)) {
      const std::vector<std::string> keys = sorted_keys(constraints.hard);
      for (const SpreadConstraint& constraint : constraints.hard)
        asks.hard.push_back(hard_spread(constraint, eligible_nodes(constraint, keys, pod.spec), pod));
    }
  }
  if (!profile.enables(ExtensionPoint::kPreScore, PodTopologySpread::name)) return;
  if (!constraints.soft_error.empty())
    asks.pre_score_error =
        "running PreScore plugin \"PodTopologySpread\": calculating preScoreState: obtaining pod's "
        "soft topology spread constraints: " +
        constraints.soft_error;
  if (!profile.enables(ExtensionPoint::kScore, PodTopologySpread::name)) return;
  asks.ignores_incomplete = constraints.requires_all_topologies;
  const std::vector<std::string> keys =
      constraints.requires_all_topologies ? sorted_keys(constraints.soft) : std::vector<std::string>{};
  for (const SpreadConstraint& constraint : constraints.soft)
    asks.soft.push_back(
        soft_spread(constraint, eligible_nodes(constraint, keys, pod.spec), pod, !constraints.requires_all_topologies));
}

PodCondition TopologyIndex::condition(const AffinityTerm& term) const {
  return condition_of(term, matches_.namespaces(), bugs_.negative_namespace_selector_matches_all);
}

void TopologyIndex::ask_affinity(const Pod& pod, Kind& kind) {
  const Profile& profile = config_.profiles[static_cast<std::size_t>(kind.profile)];
  const bool pre_filters = profile.enables(ExtensionPoint::kPreFilter, InterPodAffinity::name);
  const bool filters = pre_filters && profile.enables(ExtensionPoint::kFilter, InterPodAffinity::name);
  const bool scores = profile.enables(ExtensionPoint::kPreScore, InterPodAffinity::name) &&
                      profile.enables(ExtensionPoint::kScore, InterPodAffinity::name);
  const AffinityTerms terms = compile_affinity_terms(*pod.spec, pod.namespace_);
  TopologyProgram& asks = kind.asks;
  if (pre_filters && !terms.error.empty()) asks.pre_filter_message = "parsing pod: " + terms.error;
  if (filters && !terms.required.empty()) {
    PodQuery all;
    for (const AffinityTerm& term : terms.required) all.conditions.push_back(condition(term));
    asks.affinity_query = add_query(std::move(all));
    asks.matches_itself = matches_.matches(kind.identity, asks.affinity_query);
    for (const AffinityTerm& term : terms.required) {
      const std::int32_t table = query_table(asks.affinity_query, tables_.key_column(term.key));
      if (std::find(asks.affinity.begin(), asks.affinity.end(), table) == asks.affinity.end())
        asks.affinity.push_back(table);
    }
  }
  if (filters)
    for (const AffinityTerm& term : terms.anti_required) {
      const std::int32_t query = add_query({{condition(term)}, false});
      asks.anti.push_back({query_table(query, tables_.key_column(term.key)), query});
    }
  kind.has_preferred = (pod.spec->pod_affinity && !pod.spec->pod_affinity->preferred.empty()) ||
                       (pod.spec->pod_anti_affinity && !pod.spec->pod_anti_affinity->preferred.empty());
  const InterPodAffinityArgs& args = profile.args.inter_pod_affinity;
  const bool looks_at_scores = profile.enables(ExtensionPoint::kPreScore, InterPodAffinity::name) &&
                               !(args.ignore_preferred_terms_of_existing_pods && !kind.has_preferred);
  if (looks_at_scores && !terms.error.empty() && asks.pre_score_error.empty())
    asks.pre_score_error = "running PreScore plugin \"InterPodAffinity\": failed to parse pod: " + terms.error;
  if (!scores) return;
  for (const AffinityTerm& term : terms.preferred)
    asks.scores.push_back(
        {query_table(add_query({{condition(term)}, false}), tables_.key_column(term.key)), term.weight});
}

// Compiling

void TopologyIndex::hear_others(const Kind& kind, TopologyProgram& program) {
  const Profile& profile = config_.profiles[static_cast<std::size_t>(kind.profile)];
  const InterPodAffinityArgs& args = profile.args.inter_pod_affinity;
  const bool filters = profile.enables(ExtensionPoint::kPreFilter, InterPodAffinity::name) &&
                       profile.enables(ExtensionPoint::kFilter, InterPodAffinity::name);
  const bool scores = profile.enables(ExtensionPoint::kPreScore, InterPodAffinity::name) &&
                      profile.enables(ExtensionPoint::kScore, InterPodAffinity::name) &&
                      !(args.ignore_preferred_terms_of_existing_pods && !kind.has_preferred);
  for (const std::int32_t t : matches_.terms_met(kind.identity)) {
    const ExistingTerm& term = matches_.term(t);
    if (term.role == TermRole::kAntiRequired) {
      if (filters) program.existing_anti.push_back(term.table);
    } else if (scores && term.role == TermRole::kPreferred) {
      program.scores.push_back({term.table, term.term.weight});
    } else if (scores && args.hard_pod_affinity_weight > 0) {
      program.scores.push_back({term.table, args.hard_pod_affinity_weight});
    }
  }
}

std::vector<CountMove> TopologyIndex::moves_of(std::int32_t identity, std::int32_t owner, bool terminating) {
  std::vector<CountMove> moves;
  for (const std::int32_t q : matches_.queries_met(identity)) {
    if (terminating && matches_.query(q).skips_terminating) continue;
    for (const std::int32_t table : tables_of_query_[static_cast<std::size_t>(q)]) moves.push_back({table, 1});
  }
  for (const std::int32_t t : matches_.terms_of_owner(owner)) moves.push_back({matches_.term(t).table, 1});
  merge(moves);
  return moves;
}

void TopologyIndex::recompile(Kind& kind) {
  TopologyProgram program = kind.asks;
  hear_others(kind, program);
  kind.compiled.moves = moves_of(kind.identity, kind.owner, kind.terminating);
  kind.compiled.signature = signature_of(program, kind.compiled.moves);
  kind.compiled.program = program.empty() ? nullptr : std::make_shared<const TopologyProgram>(std::move(program));
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

std::vector<CountMove> TopologyIndex::overlay(const Pod& nominated, const TopologyProgram& program, bool affinity) {
  const std::int32_t identity = matches_.identity_of(nominated);
  std::vector<CountMove> moves;
  const auto add_once = [&](std::int32_t table) {
    if (std::find(moves.begin(), moves.end(), CountMove{table, 1}) == moves.end()) moves.push_back({table, 1});
  };
  for (const HardSpread& hard : program.hard)
    if (matches_.matches(identity, hard.query)) add_once(hard.table);
  if (!affinity) return moves;
  if (program.affinity_query >= 0 && matches_.matches(identity, program.affinity_query))
    for (const std::int32_t table : program.affinity) add_once(table);
  for (const OwnAntiTerm& anti : program.anti)
    if (matches_.matches(identity, anti.query)) add_once(anti.table);
  for (const std::int32_t t : matches_.terms_of_owner(owner_of(nominated))) {
    const auto& heard = program.existing_anti;
    if (std::find(heard.begin(), heard.end(), matches_.term(t).table) != heard.end()) add_once(matches_.term(t).table);
  }
  return moves;
}

// Counting

TopologyIndex::CountedPod TopologyIndex::counted(const Pod& pod) {
  return {matches_.identity_of(pod), owner_of(pod), pod.terminating};
}

void TopologyIndex::read_cache() {
  const auto nodes = cache_.nodes_in_order();
  counted_.assign(nodes.size(), {});
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const PodPtr& pod : nodes[i]->pods) counted_[i].push_back(counted(*pod));
}

void TopologyIndex::add_counts(const CountedPod& pod, std::int32_t node, int sign) {
  snapshot_.write_topology().add_all(moves_of(pod.identity, pod.owner, pod.terminating), node, sign);
}

void TopologyIndex::add_new_counts(const CountedPod& pod, std::int32_t node) {
  TopologyCounts& counts = snapshot_.write_topology();
  for (const std::int32_t q : matches_.queries_met(pod.identity)) {
    if (pod.terminating && matches_.query(q).skips_terminating) continue;
    for (const std::int32_t table : tables_of_query_[static_cast<std::size_t>(q)])
      if (table >= counted_tables_) counts.add(table, node, 1);
  }
  for (const std::int32_t t : matches_.terms_of_owner(pod.owner))
    if (matches_.term(t).table >= counted_tables_) counts.add(matches_.term(t).table, node, 1);
}

void TopologyIndex::count_new(std::span<const AnsweredPod> placed) {
  if (!alive_) return;
  if (counted_.empty()) read_cache();
  if (counted_tables_ == snapshot_.topology().table_count()) return;
  for (std::size_t i = 0; i < counted_.size(); ++i)
    for (const CountedPod& pod : counted_[i]) add_new_counts(pod, static_cast<std::int32_t>(i));
  for (const AnsweredPod& pod : placed)
    if (pod.node >= 0) add_new_counts(counted(*pod.pod), pod.node);
  counted_tables_ = snapshot_.topology().table_count();
}

void TopologyIndex::recount_node(std::int32_t node, const NodeInfo& info, std::span<const AnsweredPod> placed) {
  if (counted_.empty()) return;  // count_new() will read the cache
  std::vector<CountedPod>& here = counted_[static_cast<std::size_t>(node)];
  for (const CountedPod& pod : here) add_counts(pod, node, -1);
  for (const AnsweredPod& pod : placed)
    if (pod.node == node) add_counts(counted(*pod.pod), node, -1);
  here.clear();
  for (const PodPtr& pod : info.pods) here.push_back(counted(*pod));
  for (const CountedPod& pod : here) add_counts(pod, node, 1);
  counted_tables_ = snapshot_.topology().table_count();  // only pods just read can have brought new terms
}

TopologyCounts TopologyIndex::recount(std::span<const AnsweredPod> placed) {
  TopologyCounts counts = snapshot_.topology().zeroed();
  const auto nodes = cache_.nodes_in_order();
  const auto add = [&](const Pod& pod, std::int32_t node) {
    const CountedPod one = counted(pod);
    counts.add_all(moves_of(one.identity, one.owner, one.terminating), node, 1);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const PodPtr& pod : nodes[i]->pods) add(*pod, static_cast<std::int32_t>(i));
  for (const AnsweredPod& pod : placed)
    if (pod.node >= 0) add(*pod.pod, pod.node);
  return counts;
}

void TopologyIndex::rebuild() {
  if (!alive_) return;
  tables_.rebuild();
  counted_.clear();
  counted_tables_ = 0;
  count_new({});
}

}  // namespace berth
