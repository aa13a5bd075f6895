// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/explain_document.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "host/objects/json_out.h"

namespace berth {
namespace {

constexpr std::int64_t kExplainSchemaVersion = 1;

void write_scores(const std::vector<PluginScore>& scores, DocumentWriter& writer) {
  if (scores.empty()) return;
  writer.key("scores");
  writer.begin_array();
  for (const PluginScore& score : scores) {
    writer.begin_object();
    writer.string_field("plugin", score.plugin);
    writer.integer_field("raw", score.raw);
    writer.integer_field("normalized", score.normalized);
    writer.integer_field("weight", score.weight);
    writer.end_object();
  }
  writer.end_array();
}

void write_refusal(const Status& status, DocumentWriter& writer) {
  writer.string_field("plugin", status.plugin);
  writer.string_field("code", to_string(status.code));
  if (status.reasons.empty()) return;
  writer.key("reasons");
  writer.begin_array();
  for (const std::string& reason : status.reasons) writer.string(reason);
  writer.end_array();
}

void write_node(const NodeEvaluation& node, std::string_view name, DocumentWriter& writer) {
  writer.begin_object();
  writer.string_field("node", name);
  writer.key("feasible");
  writer.boolean(node.feasible);
  if (node.feasible) {
    write_scores(node.scores, writer);
  } else {
    write_refusal(node.status, writer);
  }
  writer.integer_field("total", node.total);
  writer.end_object();
}

std::string_view to_string(CandidateCriterion criterion) {
  switch (criterion) {
    case CandidateCriterion::kViolations:
      return "violations";
    case CandidateCriterion::kHighestPriority:
      return "highestPriority";
    case CandidateCriterion::kPrioritySum:
      return "prioritySum";
    case CandidateCriterion::kVictimCount:
      return "victimCount";
    case CandidateCriterion::kEarliestStart:
      break;
  }
  return "earliestStart";
}

void write_compared(std::string_view key, const CandidateLoss& loss, std::int64_t value, DocumentWriter& writer) {
  if (loss.criterion != CandidateCriterion::kEarliestStart) {
    writer.integer_field(key, value);
  } else if (value != CandidateLoss::kNoStart) {
    writer.string_field(key, format_time(value));
  }
}

void write_loss(const CandidateLoss& loss, DocumentWriter& writer) {
  writer.key("notChosen");
  writer.begin_object();
  writer.string_field("criterion", to_string(loss.criterion));
  write_compared("value", loss, loss.value, writer);
  write_compared("best", loss, loss.best, writer);
  writer.end_object();
}

void write_candidate(const PreemptionCandidate& candidate, const PreemptionCandidate& best, const NodeNames& node_name,
                     DocumentWriter& writer) {
  writer.begin_object();
  writer.string_field("node", node_name(candidate.node));
  writer.key("victims");
  writer.begin_array();
  for (const Pod* victim : candidate.victims) writer.string(victim->full_name());
  writer.end_array();
  writer.integer_field("violations", candidate.violations);
  if (const std::optional<CandidateLoss> loss = why_not_chosen(candidate, best)) write_loss(*loss, writer);
  writer.end_object();
}

void write_preemption(const PreemptionResult& preemption, const NodeNames& node_name, DocumentWriter& writer) {
  writer.key("preemption");
  writer.begin_object();
  writer.key("eligible");
  writer.boolean(preemption.eligible);
  if (!preemption.message.empty()) writer.string_field("message", preemption.message);
  if (!preemption.error.empty()) writer.string_field("error", preemption.error);
  writer.key("candidates");
  writer.begin_array();
  for (const PreemptionCandidate& candidate : preemption.candidates)
    write_candidate(candidate, preemption.candidates[preemption.best.front()], node_name, writer);
  writer.end_array();
  writer.key("best");
  writer.begin_array();
  for (const std::size_t best : preemption.best) writer.string(node_name(preemption.candidates[best].node));
  writer.end_array();
  writer.end_object();
}

/// Nodes of one verdict, those that accept the pod first, then by the order of the nodes.
void write_verdicts(const Evaluation& evaluation, DocumentWriter& writer) {
  struct Verdict {
    const NodeEvaluation* first;
    std::int64_t nodes = 0;
  };
  std::vector<Verdict> verdicts;
  std::map<std::tuple<bool, std::string_view, StatusCode, std::vector<std::string>>, std::size_t> places;
  for (const NodeEvaluation& node : evaluation.nodes) {
    const Status& status = node.status;
    const auto [at, is_new] = places.try_emplace(
        node.feasible ? std::tuple(true, std::string_view(), StatusCode::kSuccess, std::vector<std::string>())
                      : std::tuple(false, std::string_view(status.plugin), status.code, status.reasons),
        verdicts.size());
    if (is_new) verdicts.push_back({&node});
    ++verdicts[at->second].nodes;
  }
  std::stable_partition(verdicts.begin(), verdicts.end(), [](const Verdict& one) { return one.first->feasible; });
  writer.key("verdicts");
  writer.begin_array();
  for (const Verdict& verdict : verdicts) {
    writer.begin_object();
    writer.key("feasible");
    writer.boolean(verdict.first->feasible);
    if (!verdict.first->feasible) write_refusal(verdict.first->status, writer);
    writer.integer_field("nodes", verdict.nodes);
    writer.end_object();
  }
  writer.end_array();
}

std::vector<const NodeEvaluation*> listed_nodes(const Evaluation& evaluation, std::optional<std::size_t> nodes_max) {
  std::vector<const NodeEvaluation*> accepting;
  std::vector<const NodeEvaluation*> refusing;
  std::vector<const NodeEvaluation*> all;
  for (const NodeEvaluation& node : evaluation.nodes) {
    all.push_back(&node);
    (node.feasible ? accepting : refusing).push_back(&node);
  }
  if (!nodes_max) return all;
  std::stable_sort(accepting.begin(), accepting.end(),
                   [](const NodeEvaluation* a, const NodeEvaluation* b) { return a->total > b->total; });
  accepting.resize(std::min(accepting.size(), *nodes_max));
  refusing.resize(std::min(refusing.size(), *nodes_max));
  accepting.insert(accepting.end(), refusing.begin(), refusing.end());
  return accepting;
}

}  // namespace

void write_explain_record(const Explanation& explanation, const NodeNames& node_name, DocumentWriter& writer,
                          std::optional<std::size_t> nodes_max) {
  const Evaluation& evaluation = explanation.evaluation;
  const PodStanding& standing = explanation.standing;
  writer.begin_object();
  writer.integer_field("schemaVersion", kExplainSchemaVersion);
  writer.string_field("pod", explanation.name);
  writer.string_field("state", to_string(standing.state));
  if (!standing.message.empty()) writer.string_field("stateMessage", standing.message);
  const Pod& pod = *explanation.pod;
  writer.string_field("profile", pod.spec->scheduler_name);
  const bool was_placed = standing.state == PodState::kRunning || standing.state == PodState::kFinished;
  if (was_placed && !pod.node_name.empty()) writer.string_field("node", pod.node_name);
  const std::vector<const NodeEvaluation*> listed = listed_nodes(evaluation, nodes_max);
  if (nodes_max) {
    write_verdicts(evaluation, writer);
    writer.integer_field("nodesLeftOut", static_cast<std::int64_t>(evaluation.nodes.size() - listed.size()));
  }
  writer.key("nodes");
  writer.begin_array();
  for (const NodeEvaluation* const node : listed) write_node(*node, node_name(node->node), writer);
  writer.end_array();
  writer.key("best");
  writer.begin_array();
  for (const NodeIndex node : evaluation.best) writer.string(node_name(node));
  writer.end_array();
  if (!evaluation.message.empty()) writer.string_field("message", evaluation.message);
  if (!evaluation.error.empty()) writer.string_field("error", evaluation.error);
  if (explanation.preemption) write_preemption(*explanation.preemption, node_name, writer);
  writer.end_object();
  writer.end_document();
}

}  // namespace berth
