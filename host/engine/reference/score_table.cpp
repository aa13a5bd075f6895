// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/score_table.h"

#include <optional>
#include <set>
#include <utility>

#include "host/config/node_score.h"
#include "host/engine/reference/affinity_score.h"
#include "host/engine/reference/node_scores.h"
#include "host/engine/reference/score_array.h"
#include "host/engine/reference/spread_score.h"
#include "host/framework/unsupported.h"
#include "host/objects/pod_requests.h"

namespace berth::reference {
namespace {

// PreScore

struct PreScoreResult {
  std::string error;                           ///< of the first plugin that has one
  std::set<std::string, std::less<>> skipped;  ///< plugins that do not score in this cycle
  std::optional<SoftSpreadState> spread;
  std::optional<AffinityScores> affinity;
};

void pre_score_spread(const Request& request, std::span<const NodeState* const> nodes, PreScoreResult& result) {
  constexpr const char* kPlugin = "PodTopologySpread";
  SpreadConstraints constraints = soft_constraints(request);
  if (!constraints.problem.empty()) {
    result.error =
        "running PreScore plugin \"PodTopologySpread\": calculating preScoreState: obtaining pod's soft topology "
        "spread constraints: " +
        constraints.problem;
  } else if (constraints.list.empty()) {
    result.skipped.insert(kPlugin);
  } else {
    result.spread = pre_score(std::move(constraints.list), request, nodes);
  }
}

void pre_score_affinity(const Request& request, PreScoreResult& result) {
  constexpr const char* kPlugin = "InterPodAffinity";
  if (ignores_affinity(request)) {
    result.skipped.insert(kPlugin);
    return;
  }
  PodTerms terms = parse_terms(*request.pod);
  if (!terms.problem.empty()) {
    result.error = "running PreScore plugin \"InterPodAffinity\": failed to parse pod: " + terms.problem;
    return;
  }
  AffinityScores scores = pre_score(std::move(terms), request);
  if (scores.empty()) {
    result.skipped.insert(kPlugin);
  } else {
    result.affinity = std::move(scores);
  }
}

void pre_score_host(const HostPlugin& plugin, const Request& request, PreScoreResult& result) {
  const Status status = ask_pre_score(plugin, {*request.pod, request.cluster->cache});
  if (status.code == StatusCode::kSkip) result.skipped.emplace(plugin.name());
  if (status.code == StatusCode::kError) result.error = status.message();
}

PreScoreResult pre_score_plugins(const Request& request, std::span<const NodeState* const> nodes) {
  PreScoreResult result;
  for (const EnabledPlugin& plugin : request.profile->at(ExtensionPoint::kPreScore)) {
    const bool is_built_in = request.cluster->find_host_plugin(plugin.name) == nullptr;
    if (is_built_in && pre_score_skips(request, plugin.name)) result.skipped.insert(plugin.name);
    if (plugin.name == "NodeAffinity") result.error = node_affinity_error(request);
    if (plugin.name == "PodTopologySpread") pre_score_spread(request, nodes, result);
    if (plugin.name == "InterPodAffinity") pre_score_affinity(request, result);
    if (const HostPlugin* host = request.cluster->find_host_plugin(plugin.name)) pre_score_host(*host, request, result);
    if (!result.error.empty()) break;
  }
  return result;
}

/// What Score says before any number: state or terms that PreScore would have seen to.
std::string score_error(const Request& request) {
  const auto has = [&](ExtensionPoint point) { return request.profile->enables(point, "NodeAffinity"); };
  if (has(ExtensionPoint::kScore) && !has(ExtensionPoint::kPreScore)) {
    if (std::string error = node_affinity_error(request); !error.empty()) return error;
  }
  return missing_score_state(*request.profile, *request.gates).value_or("");
}

// Score and NormalizeScore

/// @return the error of NormalizeScore, or empty
std::string score_host(const HostPlugin& plugin, const Request& request, std::span<const NodeState* const> nodes,
                       PluginColumn& column) {
  const HostQuery query{*request.pod, request.cluster->cache};
  for (const NodeState* state : nodes) {
    const NodeInfo* const node = query.cluster.find_node(state->node->name);
    column.raw.push_back(ask_nodes(plugin, query, {&node, 1}).raws.front());
  }
  column.normalized = column.raw;
  return ask_normalize(plugin, *request.pod, column.normalized);
}

bool score_plugin(const Request& request, const PreScoreResult& state, std::span<const NodeState* const> nodes,
                  PluginColumn& column) {
  if (column.plugin == "PodTopologySpread") {
    for (const NodeState* node : nodes) column.raw.push_back(score(state.spread.value(), request, *node));
    column.normalized = column.raw;
    normalize(*state.spread, nodes, column.normalized);
    return true;
  }
  if (column.plugin == "InterPodAffinity") {
    for (const NodeState* node : nodes) column.raw.push_back(score(state.affinity.value(), *node->node));
    column.normalized = column.raw;
    normalize_affinity(column.normalized);
    return true;
  }
  const Scorer* scorer = find_scorer(column.plugin);
  if (scorer == nullptr) return false;
  for (const NodeState* node : nodes) column.raw.push_back(scorer->score(request, *node));
  column.normalized = column.raw;
  if (scorer->normalization != Normalization::kNone) {
    normalize(column.normalized, scorer->normalization == Normalization::kReverse);
  }
  return true;
}

/// Node by node, and the plugins of each in order, as upstream at parallelism 1 comes upon the first.
std::string range_error(const std::vector<PluginColumn>& columns, std::size_t node_count) {
  for (std::size_t node = 0; node < node_count; ++node) {
    for (const PluginColumn& column : columns) {
      const std::int64_t score = column.normalized[node];
      if (score >= 0 && score <= kMaxNodeScore) continue;
      return "applying score defaultWeights on Score plugins: plugin \"" + std::string(column.plugin) +
             "\" returns an invalid score " + std::to_string(score) +
             ", it should in the range of [0, 100] after normalizing";
    }
  }
  return {};
}

/// No sum overflows: scores are at most 100 by now, weights have 32 bits, and a profile has a score from a plugin once.
void add_totals(ScoreTable& table, const PluginColumn& column) {
  Eigen::Map<ScoreArray> totals(table.totals.data(), std::ssize(table.totals));
  totals += Eigen::Map<const ScoreArray>(column.normalized.data(), totals.size()) * std::int64_t{column.weight};
}

/// "Greater" of 15.3 without extenders: the higher total, and nothing else.
void sift_down(std::vector<std::size_t>& heap, std::span<const std::int64_t> totals, std::size_t at) {
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap.size()) return;
    if (child + 1 < heap.size() && totals[heap[child + 1]] > totals[heap[child]]) ++child;
    if (totals[heap[child]] <= totals[heap[at]]) return;
    std::swap(heap[child], heap[at]);
    at = child;
  }
}

}  // namespace

ScoreTable score_nodes(const Request& request, std::span<const NodeState* const> nodes) {
  ScoreTable table;
  const std::vector<EnabledPlugin>& plugins = request.profile->at(ExtensionPoint::kScore);
  table.totals.assign(nodes.size(), plugins.empty() ? 1 : 0);
  if (plugins.empty()) return table;  // PreScore is not run either
  const PreScoreResult state = pre_score_plugins(request, nodes);
  table.error = state.error.empty() ? score_error(request) : state.error;
  if (!table.error.empty()) return table;
  for (const EnabledPlugin& plugin : plugins) {
    PluginColumn column{plugin.name, plugin.weight, {}, {}};
    if (state.skipped.contains(plugin.name)) continue;
    if (const HostPlugin* host = request.cluster->find_host_plugin(plugin.name)) {
      const std::string error = score_host(*host, request, nodes, column);
      if (table.error.empty()) table.error = error;
    } else if (!score_plugin(request, state, nodes, column)) {
      continue;
    }
    table.columns.push_back(std::move(column));
  }
  if (table.error.empty()) table.error = range_error(table.columns, nodes.size());
  if (!table.error.empty()) return table;
  for (const PluginColumn& column : table.columns) add_totals(table, column);
  return table;
}

std::size_t heap_root(std::span<const std::int64_t> totals) {
  std::vector<std::size_t> heap(totals.size());
  for (std::size_t i = 0; i < heap.size(); ++i) heap[i] = i;
  for (std::size_t i = heap.size() / 2; i-- > 0;) sift_down(heap, totals, i);
  return heap[0];
}

std::vector<std::size_t> heap_order(std::span<const std::int64_t> totals) {
  std::vector<std::size_t> heap(totals.size());
  for (std::size_t i = 0; i < heap.size(); ++i) heap[i] = i;
  for (std::size_t i = heap.size() / 2; i-- > 0;) sift_down(heap, totals, i);
  std::vector<std::size_t> order;
  while (!heap.empty()) {
    order.push_back(heap.front());
    heap.front() = heap.back();
    heap.pop_back();
    sift_down(heap, totals, 0);
  }
  return order;
}

}  // namespace berth::reference
