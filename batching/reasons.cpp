// SPDX-License-Identifier: Apache-2.0
#include "batching/reasons.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "batching/node_filter.h"

namespace berth {

const DiagnosisRow::Answer& Reasons::of_class(std::int32_t pod_class) {
  return of_class_[pod_class].answer(table_[pod_class], table_.profile_of(pod_class), sides_.of(pod_class), snapshot_,
                                     log_);
}

/// What filter_with_nominated_pods() says of a node, of a class without plugins on the host: nodes of which it says the
/// same are counted together, since a status with its texts is slow to make.
void Reasons::note_refusal(const PodToPlace& pod, const CompiledProfile& profile, const NodeSideView& row,
                           std::int32_t node, Nominations::CrowdedNode& crowded, std::vector<RefusedNodes>& refused) {
  const PodClass& pod_class = table_[pod.class_index];
  RefusedNodes now{row.refusal(node), filter_load(pod_class, snapshot_, node),
                   filter_topology(pod_class, snapshot_, node), 1};
  if (nominations_.crowd(*pod.pod, pod_class, node, crowded)) {
    const RefusedNodes first{now.refusal, filter_load(pod_class, crowded.overlay),
                             filter_topology(pod_class, crowded.overlay, crowded.affinity_skips), 1};
    if (!first_refusal(profile, row.of_class().refusals[first.refusal], {kNotEnabled}, first.load, first.topology)
             .accepts())
      now = first;
  }
  const auto known = std::find_if(refused.begin(), refused.end(), [&](const RefusedNodes& nodes) {
    return nodes.refusal == now.refusal && nodes.load == now.load && nodes.topology == now.topology;
  });
  if (known == refused.end()) {
    refused.push_back(now);
  } else {
    ++known->count;
  }
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
  for (const std::int32_t node : nominations_.nominated_nodes())
    if (nominations_.any_against(*pod.pod, node)) asked.insert(node);
  std::optional<Diagnosis> diagnosis =
      of_class_[pod.class_index].diagnose_outside(pod_class, profile, row, snapshot_, log_, asked);
  std::vector<RefusedNodes> refused;
  Nominations::CrowdedNode crowded = nominations_.crowded_node(pod_class, snapshot_);
  for (const std::int32_t node : asked.members()) {
    if (node != own_nomination && pod_class.host.empty() && !is_outside_node_set(pod_class, row, snapshot_, node)) {
      note_refusal(pod, profile, row, node, crowded, refused);
      continue;
    }
    const Status status = status_on(node);
    if (status.code == StatusCode::kError) diagnosis.reset();
    if (diagnosis) count_reasons(status, narrowing, 1, *diagnosis);
  }
  for (const RefusedNodes& nodes : refused) {
    const Status status = status_of(pod_class, profile, row.of_class().refusals[nodes.refusal], {kNotEnabled},
                                    nodes.load, nodes.topology);
    if (status.code == StatusCode::kError) diagnosis.reset();
    if (diagnosis) count_reasons(status, narrowing, nodes.count, *diagnosis);
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
