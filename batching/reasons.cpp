// SPDX-License-Identifier: Apache-2.0
#include "batching/reasons.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "batching/load_words.h"
#include "batching/node_filter.h"

namespace berth {

const DiagnosisRow::Answer& Reasons::of_class(std::int32_t pod_class) {
  return of_class_[pod_class].answer(table_[pod_class], table_.profile_of(pod_class), sides_.of(pod_class), snapshot_,
                                     log_);
}

const DiagnosisRow::Answer& Reasons::of_counts(std::int32_t c, std::span<const LoadVerdicts> verdicts) {
  const PodClass& pod_class = table_[c];
  std::vector<std::int64_t> key{pod_class.profile, pod_class.node_side};
  for (const RequestedResource& request : pod_class.requested) key.push_back(request.column);
  for (const LoadVerdicts& of : verdicts)
    for (const std::int64_t part :
         {std::int64_t{of.refusal}, static_cast<std::int64_t>(LoadWord::of(of.load)), of.nodes})
      key.push_back(part);
  if (of_counts_.size() >= kAnswersKeptMax) of_counts_.clear();
  const auto [at, is_new] = of_counts_.try_emplace(std::move(key));
  if (!is_new) return at->second;
  const NodeSideView row = sides_.of(c);
  Diagnosis diagnosis;
  diagnosis.node_count = snapshot_.node_count();
  for (const LoadVerdicts& of : verdicts) {
    const Status status =
        status_of(pod_class, table_.profile_of(c), row.of_class().refusals[of.refusal], {kNotEnabled}, of.load, {});
    count_reasons(status, {}, of.nodes, diagnosis);
  }
  at->second = {message_of(diagnosis), false, kVersionsOfCounts + ++counted_};
  return at->second;
}

/// What filter_with_nominated_pods() says of a node that the pod is not nominated to, and where some nominated pod
/// counts against it, of a class without plugins on the host: without its texts, which are slow to make.
Reasons::RefusedNodes Reasons::refusal_of(const PodToPlace& pod, std::int32_t node,
                                          Nominations::CrowdedNode& crowded) const {
  const PodClass& pod_class = table_[pod.class_index];
  const NodeSideView row = sides_.of(pod.class_index);
  if (is_outside_node_set(pod_class, row, snapshot_, node)) return {0, true, {}, {}, 0};
  crowded.overlay.reset(node);
  nominations_.add_against(*pod.pod, pod_class, crowded.affinity_skips, crowded.overlay);
  RefusedNodes first{row.refusal(node), false, filter_load(pod_class, crowded.overlay),
                     filter_topology(pod_class, crowded.overlay, crowded.affinity_skips), 0};
  const bool accepts = first_refusal(table_.profile_of(pod.class_index), row.of_class().refusals[first.refusal],
                                     {kNotEnabled}, first.load, first.topology)
                           .accepts();
  if (!accepts) return first;
  return {row.refusal(node), false, filter_load(pod_class, snapshot_, node),
          filter_topology(pod_class, snapshot_, node), 0};
}

/// Of the verdict among those that some node had.
std::uint32_t Reasons::verdict_index(const RefusedNodes& now, Refusals& refusals) {
  const auto known = std::find_if(refusals.verdicts.begin(), refusals.verdicts.end(), [&](const RefusedNodes& nodes) {
    return nodes.refusal == now.refusal && nodes.is_outside == now.is_outside && nodes.load == now.load &&
           nodes.topology == now.topology;
  });
  const auto verdict = static_cast<std::uint32_t>(known - refusals.verdicts.begin());
  if (known == refusals.verdicts.end()) refusals.verdicts.push_back(now);
  return verdict;
}

/// @param unkept  empty; used where the answers must not be kept
const Reasons::Refusals& Reasons::refusals_of(const PodToPlace& pod, std::int32_t own_nomination, Refusals& unkept) {
  if (refusals_kept_ > kRefusalsKeptMax) forget_refusals();
  Refusals& kept = refusals_[{pod.class_index, pod.pod->priority}];
  AnswerChanges changes;
  if (own_nomination < 0)
    changes =
        answer_changes(*pod.pod, pod.class_index, kept.basis, {table_, nominations_, snapshot_, log_, /*opened=*/0});
  Refusals& refusals = changes.may_keep ? kept : unkept;
  Nominations::CrowdedNode crowded = nominations_.crowded_node(table_[pod.class_index], snapshot_);
  const std::size_t before = kept.verdict_of.size();
  const auto look_at = [&](std::int32_t node) {
    if (node == own_nomination || refusals.verdict_of.contains(node)) return;
    if (!nominations_.any_against(*pod.pod, node)) return;
    const std::uint32_t verdict = verdict_index(refusal_of(pod, node, crowded), refusals);
    refusals.verdict_of.emplace(node, verdict);
    ++refusals.verdicts[verdict].count;
  };
  if (changes.all) {
    refusals.verdicts.clear();
    refusals.verdict_of.clear();
    for (const std::int32_t node : nominations_.nominated_nodes()) look_at(node);
  } else {
    for (const NodeIndex node : changes.nodes) {
      const auto known = refusals.verdict_of.find(node.value);
      if (known == refusals.verdict_of.end()) continue;
      --refusals.verdicts[known->second].count;
      refusals.verdict_of.erase(known);
    }
    for (const NodeIndex node : changes.nodes) look_at(node.value);
  }
  refusals_kept_ += kept.verdict_of.size() - before;
  return refusals;
}

DiagnosisRow::Answer Reasons::with_nominations(const PodToPlace& pod, std::int32_t own_nomination) {
  const PodClass& pod_class = table_[pod.class_index];
  const CompiledProfile& profile = table_.profile_of(pod.class_index);
  const NodeSideView row = sides_.of(pod.class_index);
  const auto status_on = [&](std::int32_t node) {
    if (node == own_nomination)
      return nominations_.filter_with_nominated_pods(*pod.pod, pod_class, profile,
                                                     sides_.on_own_node(pod.class_index, node), snapshot_, node);
    if (is_outside_node_set(pod_class, row, snapshot_, node))
      return Status{StatusCode::kUnschedulableAndUnresolvable, "", {}};
    return nominations_.filter_with_nominated_pods(*pod.pod, pod_class, profile, row, snapshot_, node);
  };
  const PluginNames narrowing = plugins_with_node_set(pod_class, row.of_class());
  // Nominations change the verdicts of these nodes alone; the others are those of the class.
  ExcludedNodes asked;
  if (own_nomination >= 0) asked.insert(own_nomination);
  Refusals unkept;
  const Refusals* refusals = nullptr;
  if (pod_class.host.empty()) {
    refusals = &refusals_of(pod, own_nomination, unkept);
    for (const auto& [node, verdict] : refusals->verdict_of) asked.insert(node);
  } else {
    for (const std::int32_t node : nominations_.nominated_nodes())
      if (nominations_.any_against(*pod.pod, node)) asked.insert(node);
  }
  std::optional<Diagnosis> diagnosis =
      of_class_[pod.class_index].diagnose_outside(pod_class, profile, row, snapshot_, log_, asked);
  const auto count = [&](const Status& status, std::int64_t nodes) {
    if (status.code == StatusCode::kError) diagnosis.reset();
    if (diagnosis) count_reasons(status, narrowing, nodes, *diagnosis);
  };
  if (refusals == nullptr) {
    for (const std::int32_t node : asked.members()) count(status_on(node), 1);
  } else {
    if (own_nomination >= 0) count(status_on(own_nomination), 1);
    for (const RefusedNodes& nodes : refusals->verdicts) {
      if (nodes.count == 0) continue;
      count(nodes.is_outside ? Status{StatusCode::kUnschedulableAndUnresolvable, "", {}}
                             : status_of(pod_class, profile, row.of_class().refusals[nodes.refusal], {kNotEnabled},
                                         nodes.load, nodes.topology),
            nodes.count);
    }
  }
  if (diagnosis && own_nomination >= 0) name_refused_nomination(status_on(own_nomination), narrowing, *diagnosis);
  if (diagnosis) return {message_of(*diagnosis), false, 0};
  // The first node in node order that ends the cycle names the error.
  for (const std::int32_t node : snapshot_.in_order())
    if (const Status status = status_on(node); status.code == StatusCode::kError)
      return {{status.message(), {}, 0}, true, 0};
  throw std::logic_error("Reasons::with_nominations: no node ends the cycle with an error");
}

}  // namespace berth
