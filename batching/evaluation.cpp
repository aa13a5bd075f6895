// SPDX-License-Identifier: Apache-2.0
#include "batching/evaluation.h"

#include <algorithm>
#include <optional>

#include "batching/diagnosis_row.h"
#include "batching/node_filter.h"
#include "batching/topology_scores.h"
#include "host/objects/interruption.h"

namespace berth {
namespace {

/// The inputs of filters and scores of a class.
struct Compiled {
  const PodClass& pod_class;
  const CompiledProfile& profile;
  NodeSideView row;
};

/// The status of a node on which no Filter plugin runs. @param reason  empty outside PreFilter's node set
Status pre_filter_status(const std::string& reason, StatusCode code) {
  Status status{code, "PreFilter", {}};
  if (!reason.empty()) status.reasons.push_back(reason);
  return status;
}

/// The Filter plugins on a node, or that PreFilter leaves it out.
Status status_on(const PodToPlace& pod, const Compiled& compiled, const Nominations& nominations,
                 const Snapshot& snapshot, std::int32_t node) {
  return is_outside_node_set(compiled.pod_class, compiled.row, snapshot, node)
             ? pre_filter_status("", PreFilterAnswer().code)
             : nominations.filter_with_nominated_pods(*pod.pod, compiled.pod_class, compiled.profile, compiled.row,
                                                      snapshot, node);
}

Evaluation failed_evaluation(std::string error) {
  Evaluation evaluation;
  evaluation.error = std::move(error);
  return evaluation;
}

/// Scores in the profile's order. @param score_of  score_of(plugin); nullopt: PreScore skips it, or it is not built
template <class ScoreOf>
void write_scores(const CompiledProfile& profile, ScoreOf score_of, NodeEvaluation& node) {
  for (const EnabledPlugin& plugin : profile.profile->at(ExtensionPoint::kScore)) {
    const std::optional<RuleScore> score = score_of(plugin.name);
    if (!score) continue;
    node.scores.push_back({plugin.name, score->raw, score->normalized, plugin.weight});
    node.total += score->normalized * plugin.weight;
  }
  if (!profile.scores_anything) node.total = 1;
}

void note_best(Evaluation& evaluation) {
  std::int64_t highest = 0;
  for (const NodeEvaluation& node : evaluation.nodes)
    if (node.feasible) highest = std::max(highest, node.total);
  for (const NodeEvaluation& node : evaluation.nodes)
    if (node.feasible && node.total == highest) evaluation.best.push_back(node.node);
}

/// The scores of the plugins for feasible nodes, normalised over all of them.
class Scores {
 public:
  Scores(const Compiled& compiled, const Snapshot& snapshot, const std::vector<std::int32_t>& feasible,
         const HostScores& host)
      : compiled_(compiled), snapshot_(snapshot), host_(host), maxima_(raw_maxima(compiled.row, snapshot, feasible)) {
    if (compiled.pod_class.topology != nullptr)
      topology_ = score_topology(*compiled.pod_class.topology, snapshot.topology(), feasible);
  }

  /// @param in_list  position of the node among the feasible ones
  void write(NodeEvaluation& node, std::size_t in_list) const {
    write_scores(
        compiled_.profile, [&](std::string_view plugin) { return score_of(plugin, node.node.value, in_list); }, node);
  }

 private:
  /// nullopt: PreScore skips the plugin, or it is not built
  std::optional<RuleScore> score_of(std::string_view plugin, std::int32_t node, std::size_t in_list) const {
    const auto& [pod_class, profile, row] = compiled_;
    if (const auto score = row.score(plugin, snapshot_, node, maxima_)) return score;
    if (const auto raw = load_score(plugin, pod_class, profile, snapshot_, node)) return RuleScore{*raw, *raw};
    if (const auto score = host_.score(plugin, in_list)) return RuleScore{score->raw, score->normalized};
    return topology_.score(plugin, in_list);
  }

  const Compiled& compiled_;
  const Snapshot& snapshot_;
  const HostScores& host_;
  RawScores maxima_;
  TopologyScores topology_;
};

void score(const Compiled& compiled, const Snapshot& snapshot, Evaluation& evaluation) {
  std::vector<std::int32_t> feasible;
  std::vector<NodeEvaluation*> evaluations;
  for (NodeEvaluation& node : evaluation.nodes) {
    if (!node.feasible) continue;
    feasible.push_back(node.node.value);
    evaluations.push_back(&node);
  }
  const HostScores host(compiled.pod_class.host, *compiled.profile.profile, feasible);
  evaluation.error = host.error();
  if (evaluation.error.empty())
    evaluation.error = score_range_error(compiled.pod_class, compiled.profile, snapshot, feasible, &host);
  if (!evaluation.error.empty()) return;
  const Scores scores(compiled, snapshot, feasible, host);
  const Interruption* const interruption = current_interruption();
  for (std::size_t i = 0; i < feasible.size(); ++i) {
    check_interruption(interruption);
    scores.write(*evaluations[i], i);
  }
  note_best(evaluation);
}

}  // namespace

Evaluation evaluate_pod(const PodToPlace& pod, const NodeSides& sides, const Nominations& nominations,
                        const Snapshot& snapshot) {
  ClassTable& table = sides.table();
  if (snapshot.node_count() == 0) return {{}, {}, std::string(kNoNodesText), "", {}};
  if (ClassTable::is_error(pod.class_index)) return failed_evaluation(table.error(pod.class_index));
  const Compiled compiled{table[pod.class_index], table.profile_of(pod.class_index), sides.of(pod.class_index)};
  const PreFilterAnswer pre_filter = table.pre_filter(pod.class_index);
  if (!pre_filter.error.empty()) return failed_evaluation(pre_filter.error);

  Evaluation evaluation;
  Diagnosis diagnosis{snapshot.node_count(),
                      {},
                      pre_filter.message,
                      pre_filter_rejectors(pre_filter, compiled.pod_class, compiled.row.of_class())};
  const PluginNames narrowing = plugins_with_node_set(compiled.pod_class, compiled.row.of_class());
  bool any_feasible = false;
  const Interruption* const interruption = current_interruption();
  for (const std::int32_t i : snapshot.in_order()) {
    check_interruption(interruption);
    const Status status = pre_filter.message.empty() ? status_on(pod, compiled, nominations, snapshot, i)
                                                     : pre_filter_status(pre_filter.message, pre_filter.code);
    if (status.code == StatusCode::kError) return failed_evaluation(status.message());
    any_feasible = any_feasible || status.ok();
    if (pre_filter.message.empty() && !status.ok()) count_reasons(status, narrowing, 1, diagnosis);
    evaluation.nodes.push_back({{i}, status.ok(), status, {}, 0});
  }
  evaluation.rejectors = diagnosis.rejectors;
  if (!any_feasible) {
    evaluation.message = fit_error_text(diagnosis);
  } else if (const std::string& error = table.score_error(pod.class_index); !error.empty()) {
    evaluation.error = error;
  } else {
    score(compiled, snapshot, evaluation);
  }
  return evaluation;
}

Evaluation evaluate_pod(const PodToPlace& pod, const NodeSides& sides, const Nominations& nominations,
                        const Snapshot& snapshot, const KnownScores& known) {
  ClassTable& table = sides.table();
  const PodClass& pod_class = table[pod.class_index];
  const CompiledProfile& profile = table.profile_of(pod.class_index);
  const CompiledNodeSide& side = table.compiled_node_side(pod.class_index);
  const PluginNames narrowing = plugins_with_node_set(pod_class, side);
  Evaluation evaluation;
  Diagnosis diagnosis{snapshot.node_count(), {}, "", narrowing};
  std::optional<NodeSideView> row;  // of the whole cluster: built when reasons are needed
  bool any_feasible = false;
  const Interruption* const interruption = current_interruption();
  for (const std::int32_t i : snapshot.in_order()) {
    check_interruption(interruption);
    Status status;
    if (!known.is_feasible(i)) {
      if (!row) row.emplace(sides.of(pod.class_index));
      status = is_outside_node_set(pod_class, *row, snapshot, i)
                   ? pre_filter_status("", PreFilterAnswer().code)
                   : nominations.filter_with_nominated_pods(*pod.pod, pod_class, profile, *row, snapshot, i);
      if (status.code == StatusCode::kError) return failed_evaluation(status.message());
      count_reasons(status, narrowing, 1, diagnosis);
    }
    any_feasible = any_feasible || status.ok();
    evaluation.nodes.push_back({{i}, status.ok(), status, {}, 0});
  }
  evaluation.rejectors = diagnosis.rejectors;
  if (!any_feasible) {
    evaluation.message = fit_error_text(diagnosis);
    return evaluation;
  }
  evaluation.error = table.score_error(pod.class_index);
  if (!evaluation.error.empty()) return evaluation;
  for (NodeEvaluation& node : evaluation.nodes)
    if (node.feasible)
      write_scores(profile, [&](std::string_view plugin) { return known.score(plugin, node.node.value); }, node);
  note_best(evaluation);
  return evaluation;
}

FailedSearch failed_search(const PodToPlace& pod, std::span<const NodeIndex> nodes, std::int32_t own_nomination,
                           const NodeSides& sides, const Nominations& nominations, const Snapshot& snapshot) {
  ClassTable& table = sides.table();
  const std::int32_t c = pod.class_index;
  const Compiled compiled{table[c], table.profile_of(c), sides.of(c)};
  const PluginNames narrowing = plugins_with_node_set(compiled.pod_class, compiled.row.of_class());
  std::optional<Status> own_status;
  FailedSearch search{{static_cast<std::int64_t>(nodes.size()), {}, "", narrowing}, ""};
  for (const auto [i] : nodes) {
    const Status status = i == own_nomination
                              ? nominations.filter_with_nominated_pods(*pod.pod, compiled.pod_class, compiled.profile,
                                                                       sides.on_own_node(c, i), snapshot, i)
                              : status_on(pod, compiled, nominations, snapshot, i);
    if (status.code == StatusCode::kError) return {{}, status.message()};
    count_reasons(status, narrowing, 1, search.diagnosis);
    if (i == own_nomination) own_status = status;
  }
  if (own_status) name_refused_nomination(*own_status, narrowing, search.diagnosis);
  return search;
}

}  // namespace berth
