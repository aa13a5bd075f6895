// SPDX-License-Identifier: Apache-2.0
#include "batching/reasons.h"

#include "batching/node_filter.h"

namespace berth {

const DiagnosisRow::Answer& Reasons::of_class(std::int32_t pod_class) {
  return of_class_[pod_class].answer(table_[pod_class], table_.profile_of(pod_class), table_.node_side(pod_class),
                                     snapshot_, log_);
}

DiagnosisRow::Answer Reasons::with_nominations(const PodToPlace& pod, std::int32_t own_nomination) {
  const PodClass& pod_class = table_[pod.class_index];
  const CompiledProfile& profile = table_.profile_of(pod.class_index);
  const NodeSideRow& row = table_.node_side(pod.class_index);
  const auto status_on = [&](std::int32_t node) {
    if (node == own_nomination)
      return nominations_.filter_with_nominated_pods(
          *pod.pod, pod_class, profile, table_.node_side_on_own_node(pod.class_index, node), snapshot_, node);
    if (row.is_outside_node_set(node)) return filter_node(pod_class, profile, row, snapshot_, node);
    return nominations_.filter_with_nominated_pods(*pod.pod, pod_class, profile, row, snapshot_, node);
  };
  Diagnosis diagnosis;
  diagnosis.node_count = snapshot_.node_count();
  diagnosis.rejectors = row.plugins_with_node_set();
  for (const std::int32_t i : snapshot_.in_order()) {
    const Status status = status_on(i);
    if (status.code == StatusCode::kError) return {status.message(), true, {}, 0};
    count_reasons(status, diagnosis);
  }
  return {fit_error_text(diagnosis), false, diagnosis.rejectors, 0};
}

}  // namespace berth
