// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_queries.h"

#include <algorithm>

#include "batching/add_once.h"
#include "batching/shared_values.h"

namespace berth {
namespace {

/// The points at which a plugin of both phases is enabled. Filter and Score read what PreFilter and PreScore write, so
/// a plugin without those has no effect.
struct Points {
  Points(const Profile& profile, std::string_view plugin)
      : pre_filter(profile.enables(ExtensionPoint::kPreFilter, plugin)),
        filter(pre_filter && profile.enables(ExtensionPoint::kFilter, plugin)),
        pre_score(profile.enables(ExtensionPoint::kPreScore, plugin)),
        score(pre_score && profile.enables(ExtensionPoint::kScore, plugin)) {}
  bool pre_filter;
  bool filter;
  bool pre_score;
  bool score;
};

/// Adds up the changes of each table.
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
  keys.reserve(constraints.size());
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

/// matchLabelKeys: selectors contain values of the pod's own labels.
bool takes_values_of_labels(const PodSpec& spec) {
  return std::any_of(spec.topology_spread_constraints.begin(), spec.topology_spread_constraints.end(),
                     [](const TopologySpreadConstraint& constraint) { return !constraint.match_label_keys.empty(); });
}

bool prefers_pods(const PodSpec& spec) {
  return (spec.pod_affinity && !spec.pod_affinity->preferred.empty()) ||
         (spec.pod_anti_affinity && !spec.pod_anti_affinity->preferred.empty());
}

}  // namespace

TopologyQueries::TopologyQueries(const std::vector<Namespace>& namespaces, const SchedulerConfig& config,
                                 const UpstreamBugs& bugs, Snapshot& snapshot)
    : config_(config),
      bugs_(bugs),
      matches_(namespace_labels(namespaces)),
      tables_(snapshot, config.gates.enabled("TaintTolerationComparisonOperators")) {}

// Compiling

std::string signature_of(const OwnProgram& own) {
  std::string signature = signature_of(own.program, {});
  signature.push_back(own.affinity_pre_score_skips ? '1' : '0');
  signature.push_back(own.reads_labels ? '1' : '0');
  append_numbers(signature, own.queries);
  append_numbers(signature, own.tables);
  return signature;
}

OwnProgram TopologyQueries::compile(const Pod& pod, std::int32_t profile, const PodLabelSelector& default_selector) {
  const Profile& enabled = config_.profiles[static_cast<std::size_t>(profile)];
  OwnProgram own;
  asked_queries_.clear();
  asked_tables_.clear();
  compile_spread(pod, enabled, default_selector, own.program);
  compile_affinity(pod, enabled, own);
  own.queries = asked_queries_;
  own.tables = asked_tables_;
  own.reads_labels = !own.program.hard.empty() || takes_values_of_labels(*pod.spec);
  return own;
}

std::int32_t TopologyQueries::add_query(PodQuery query) {
  const std::int32_t q = matches_.add_query(std::move(query));
  tables_of_query_.resize(static_cast<std::size_t>(matches_.query_end()));
  asked_queries_.push_back(q);
  return q;
}

void TopologyQueries::add_table(std::int32_t query, std::int32_t table) {
  std::vector<std::int32_t>& known = tables_of_query_[static_cast<std::size_t>(query)];
  if (std::find(known.begin(), known.end(), table) != known.end()) return;
  known.push_back(table);
  new_tables_.push_back({query, table});
  matches_.note_change(query);
}

std::int32_t TopologyQueries::owner_of(const Pod& pod) {
  const std::int32_t owner = matches_.owner_of(pod);
  for (const std::int32_t t : matches_.terms_of_owner(owner))
    if (matches_.term(t).table < 0)
      matches_.set_table(
          t, tables_.table("term " + std::to_string(t), tables_.key_column(matches_.term(t).term.key), {}, false));
  return owner;
}

std::int32_t TopologyQueries::spread_query(const SpreadConstraint& constraint, const Pod& pod) {
  NamespaceSet own;
  own.add(pod.namespace_);
  return add_query({{{own, constraint.selector}}, true});
}

std::int32_t TopologyQueries::spread_table(std::int32_t query, const SpreadConstraint& constraint, std::int32_t column,
                                           const EligibleNodes& eligible, bool tracks_minimum) {
  const bool counts_nothing = constraint.selector.matches_nothing() ||
                              (constraint.selector.is_empty() && bugs_.empty_spread_selector_counts_nothing);
  const std::int32_t table =
      tables_.table((counts_nothing ? "nothing " : "query ") + std::to_string(query), column, eligible, tracks_minimum);
  asked_tables_.push_back(table);
  if (!counts_nothing) add_table(query, table);
  return table;
}

HardSpread TopologyQueries::hard_spread(const SpreadConstraint& constraint, const EligibleNodes& eligible,
                                        const Pod& pod) {
  HardSpread hard;
  hard.max_skew = constraint.max_skew;
  hard.min_domains = constraint.min_domains;
  hard.self = constraint.selector.matches(pod.labels) ? 1 : 0;
  hard.query = spread_query(constraint, pod);
  hard.table = spread_table(hard.query, constraint, tables_.key_column(constraint.key), eligible, true);
  return hard;
}

SoftSpread TopologyQueries::soft_spread(const SpreadConstraint& constraint, const EligibleNodes& eligible,
                                        const Pod& pod, bool absent_is_empty) {
  SoftSpread soft;
  soft.max_skew = constraint.max_skew;
  soft.counts_nodes = constraint.key == kHostnameKey;
  soft.label_column = tables_.key_column(constraint.key);
  const std::int32_t query = spread_query(constraint, pod);
  // A constraint on hosts counts every pod of the node: the inclusion policies do not apply.
  soft.table = soft.counts_nodes ? spread_table(query, constraint, tables_.node_column(), {}, false)
                                 : spread_table(query, constraint, tables_.key_column(constraint.key, absent_is_empty),
                                                eligible, false);
  return soft;
}

void TopologyQueries::compile_spread(const Pod& pod, const Profile& profile, const PodLabelSelector& default_selector,
                                     TopologyProgram& program) {
  const Points points(profile, PodTopologySpread::name);
  const SpreadConstraints constraints =
      compile_spread_constraints(*pod.spec, pod.labels, default_selector, profile.args.pod_topology_spread,
                                 config_.gates.enabled("MatchLabelKeysInPodTopologySpread"));
  if (points.pre_filter && !constraints.hard_error.empty())
    program.pre_filter_error =
        "running PreFilter plugin \"PodTopologySpread\": get constraints from pod: obtaining pod's hard topology "
        "spread constraints: " +
        constraints.hard_error;
  if (points.filter) {
    const std::vector<std::string> keys = sorted_keys(constraints.hard);
    for (const SpreadConstraint& constraint : constraints.hard)
      program.hard.push_back(hard_spread(constraint, eligible_nodes(constraint, keys, pod.spec), pod));
  }
  if (points.pre_score && !constraints.soft_error.empty())
    program.pre_score_error =
        "running PreScore plugin \"PodTopologySpread\": calculating preScoreState: obtaining pod's soft topology "
        "spread constraints: " +
        constraints.soft_error;
  if (!points.score) return;
  program.ignores_incomplete = constraints.requires_all_topologies;
  const std::vector<std::string> keys =
      constraints.requires_all_topologies ? sorted_keys(constraints.soft) : std::vector<std::string>{};
  for (const SpreadConstraint& constraint : constraints.soft)
    program.soft.push_back(
        soft_spread(constraint, eligible_nodes(constraint, keys, pod.spec), pod, !constraints.requires_all_topologies));
}

/// The pods that a term of the incoming pod counts.
PodQueryTerm TopologyQueries::condition(const AffinityTerm& term) {
  PodQueryTerm condition{term.namespaces, term.selector};
  if (selects_all_namespaces(term.namespace_selector, bugs_.negative_namespace_selector_matches_all)) {
    condition.namespaces = {true, {}};
  } else {
    condition.namespaces.selected = matches_.namespaces_of(term.namespace_selector);
  }
  return condition;
}

std::int32_t TopologyQueries::query_table(std::int32_t query, const std::string& key) {
  const std::int32_t table = tables_.table("query " + std::to_string(query), tables_.key_column(key), {}, false);
  asked_tables_.push_back(table);
  add_table(query, table);
  return table;
}

void TopologyQueries::compile_affinity(const Pod& pod, const Profile& profile, OwnProgram& own) {
  const Points points(profile, InterPodAffinity::name);
  const AffinityTerms terms = compile_affinity_terms(*pod.spec, pod.namespace_);
  TopologyProgram& program = own.program;
  own.affinity_pre_score_skips =
      profile.args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods && !prefers_pods(*pod.spec);
  if (points.pre_filter && !terms.error.empty()) program.pre_filter_message = "parsing pod: " + terms.error;
  if (points.filter) {
    compile_required(terms.required, program);
    for (const AffinityTerm& term : terms.anti_required) {
      const std::int32_t query = add_query({{condition(term)}, false});
      program.anti.push_back({query_table(query, term.key), query});
    }
  }
  if (points.pre_score && !own.affinity_pre_score_skips && !terms.error.empty() && program.pre_score_error.empty())
    program.pre_score_error = "running PreScore plugin \"InterPodAffinity\": failed to parse pod: " + terms.error;
  if (points.score)
    for (const AffinityTerm& term : terms.preferred)
      program.scores.push_back({query_table(add_query({{condition(term)}, false}), term.key), term.weight});
}

/// Required terms share one query: pods that match all of them, counted once per topology key.
void TopologyQueries::compile_required(const std::vector<AffinityTerm>& terms, TopologyProgram& program) {
  if (terms.empty()) return;
  PodQuery all;
  for (const AffinityTerm& term : terms) all.conditions.push_back(condition(term));
  program.affinity_query = add_query(std::move(all));
  for (const AffinityTerm& term : terms) add_once(program.affinity, query_table(program.affinity_query, term.key));
}

void TopologyQueries::add_matching_terms(std::int32_t identity, std::int32_t profile, OwnProgram& own) {
  const Profile& enabled = config_.profiles[static_cast<std::size_t>(profile)];
  const Points points(enabled, InterPodAffinity::name);
  const bool scores = points.score && !own.affinity_pre_score_skips;
  const std::int32_t hard_weight = enabled.args.inter_pod_affinity.hard_pod_affinity_weight;
  own.program.matches_itself =
      own.program.affinity_query >= 0 && matches_.matches(identity, own.program.affinity_query);
  for (const std::int32_t t : matches_.matching_terms(identity)) {
    const ExistingTerm& term = matches_.term(t);
    if (term.role == TermRole::kAntiRequired) {
      if (points.filter) own.program.existing_anti.push_back(term.table);
    } else if (scores && term.role == TermRole::kPreferred) {
      own.program.scores.push_back({term.table, term.term.weight});
    } else if (scores && hard_weight > 0) {
      own.program.scores.push_back({term.table, hard_weight});
    }
  }
}

// Counting

std::vector<CountMove> TopologyQueries::moves_of(std::int32_t identity, std::int32_t owner, bool terminating) const {
  std::vector<CountMove> moves;
  for (const std::int32_t q : matches_.matching_queries(identity)) {
    if (terminating && matches_.query(q).skips_terminating) continue;
    for (const std::int32_t table : tables_of_query_[static_cast<std::size_t>(q)]) moves.push_back({table, 1});
  }
  for (const std::int32_t t : matches_.terms_of_owner(owner)) moves.push_back({matches_.term(t).table, 1});
  merge(moves);
  return moves;
}

void TopologyQueries::keep_only(Live& live) {
  matches_.keep_only(live.matches);
  for (std::int32_t t = 0; t < matches_.term_end(); ++t)
    if (live.matches.terms.contains(t)) live.tables.insert(matches_.term(t).table);
  for (std::int32_t q = 0; q < matches_.query_end(); ++q) {
    std::vector<std::int32_t>& counting = tables_of_query_[static_cast<std::size_t>(q)];
    if (!live.matches.queries.contains(q)) {
      counting.clear();
    } else if (std::erase_if(counting, [&](std::int32_t table) { return !live.tables.contains(table); }) > 0) {
      matches_.note_change(q);
    }
  }
  tables_.keep_only(live.tables);
}

std::vector<CountMove> TopologyQueries::effect(const Pod& pod, std::int32_t owner, const TopologyProgram& program,
                                               bool affinity) const {
  const auto matches = [&](std::int32_t query) { return matches_.query(query).matches(pod.namespace_, pod.labels); };
  std::vector<std::int32_t> tables;  // that count the pod once
  for (const HardSpread& hard : program.hard)
    if (matches(hard.query)) add_once(tables, hard.table);
  std::vector<CountMove> moves;
  if (affinity) {
    if (program.affinity_query >= 0 && matches(program.affinity_query))
      for (const std::int32_t table : program.affinity) add_once(tables, table);
    for (const OwnAntiTerm& anti : program.anti)
      if (matches(anti.query)) add_once(tables, anti.table);
    // A pod that repeats a term counts once for each.
    for (const std::int32_t t : matches_.terms_of_owner(owner))
      if (std::find(program.existing_anti.begin(), program.existing_anti.end(), matches_.term(t).table) !=
          program.existing_anti.end())
        moves.push_back({matches_.term(t).table, 1});
  }
  for (const std::int32_t table : tables) moves.push_back({table, 1});
  merge(moves);
  return moves;
}

}  // namespace berth
