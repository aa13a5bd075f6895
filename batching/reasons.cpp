// SPDX-License-Identifier: Apache-2.0
#include "batching/reasons.h"

#include <optional>
#include <stdexcept>

#include "batching/node_filter.h"

namespace berth {

const DiagnosisRow::Answer& Reasons::of_class(std::int32_t pod_class) {
  return of_class_[pod_class].answer(table_[pod_class], table_.profile_of(pod_class), sides_.of(pod_class), snapshot_,
                                     log_);
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
  for (const std::int32_t node : asked.members()) {
    const Status status = status_on(node);
    if (status.code == StatusCode::kError) diagnosis.reset();
    if (diagnosis) count_reasons(status, narrowing, *diagnosis);
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
