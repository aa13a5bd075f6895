// SPDX-License-Identifier: Apache-2.0
// Questions about pods that CommitState answers without placing one: verdicts, dry runs, evaluations, probes.

#include <vector>

#include "batching/answer_changes.h"
#include "batching/commit_state.h"
#include "batching/copies_that_fit.h"
#include "batching/evaluation.h"
#include "batching/feasible_list.h"
#include "batching/node_local.h"
#include "batching/verdicts.h"

namespace berth {

PodVerdicts CommitState::verdicts(const PodToPlace& pod) const {
  check_prepared(pod);
  return verdicts_of_pod(current(pod), sides, nominations, snapshot);
}

PodVerdicts CommitState::verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  check_prepared(pod);
  return verdicts_of_pod_on(current(pod), nodes, sides, nominations, snapshot);
}

PodStatuses CommitState::statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  check_prepared(pod);
  return statuses_of_pod_on(current(pod), nodes, sides, nominations, snapshot);
}

PodTotals CommitState::totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  check_prepared(pod);
  return totals_of_pod_on(current(pod), nodes, sides, snapshot);
}

CopiesAnswer CommitState::copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) const {
  return berth::copies_that_fit(prepared(pods), limits, sides, nominations, snapshot);
}

bool CommitState::is_node_local(const PodToPlace& pod) const {
  check_prepared(pod);
  return berth::is_node_local(current(pod), sides, nominations, snapshot);
}

AnswerChanges CommitState::answer_changes(const PodToPlace& pod, AnswerBasis& basis) const {
  check_prepared(pod);
  return berth::answer_changes(current(pod), basis, {table, nominations, snapshot, log, reopened_});
}

DryRunResult CommitState::dry_run(const DryRunRequest& request, const ForBlocks& for_blocks) const {
  dry_runs_.fetch_add(static_cast<std::int64_t>(request.runs.size()), std::memory_order_relaxed);
  const std::vector<PodToPlace> preemptors = prepared(request.preemptors);
  const VictimMemoryOfCall memory(victim_memory_.get());
  return berth::dry_run({preemptors, request.lists, request.runs}, sides, nominations, snapshot, memory.get(),
                        for_blocks);
}

std::vector<Status> CommitState::statuses_without_victims(const DryRunRequest& request,
                                                          const ForBlocks& for_blocks) const {
  const std::vector<PodToPlace> preemptors = prepared(request.preemptors);
  const VictimMemoryOfCall memory(victim_memory_.get());
  return berth::statuses_without_victims({preemptors, request.lists, request.runs}, sides, nominations, snapshot,
                                         memory.get(), for_blocks);
}

Evaluation CommitState::evaluate(const PodToPlace& pod) const {
  check_prepared(pod);
  return evaluate_pod(current(pod), sides, nominations, snapshot);
}

NodeProbe CommitState::probe(const PodToPlace& pod, std::string_view node_name) const {
  check_prepared(pod);
  const std::int32_t c = current(pod).class_index;
  if (snapshot.node_count() == 0 || ClassTable::is_error(c) || !table.pre_filter(c).passes()) return {};
  const std::int32_t node = node_name.empty() ? -1 : snapshot.find_node(node_name);
  if (node < 0) return {true, false, false};
  const NodeVerdict verdict =
      verdict_of_node(table[c], table.profile_of(c), sides.on_own_node(c, node), snapshot, node);
  return {true, true, is_rejected(verdict.code)};
}

}  // namespace berth
