// SPDX-License-Identifier: Apache-2.0
#include "batching/verdicts.h"

#include "batching/node_filter.h"
#include "batching/prepared_pod.h"

namespace berth {

PodVerdicts verdicts_of_pod(const PodToPlace& to_place, const ClassTable& table, const Nominations& nominations,
                            const Snapshot& snapshot) {
  const PreparedPod pod(to_place, table, nominations, snapshot);
  PodVerdicts verdicts;
  if (snapshot.node_count() == 0) return verdicts;
  verdicts.error = pod.error();
  if (!verdicts.error.empty()) return verdicts;
  PluginNames rejectors = pod.pre_filter_rejectors();
  verdicts.nodes.resize(static_cast<std::size_t>(snapshot.slot_count()), kNoNodeVerdict);
  for (const std::int32_t i : snapshot.in_order()) {
    const NodeSideRow* row = pod.is_refused() ? nullptr : pod.row_on(i);
    NodeVerdict verdict = row == nullptr ? pod.pre_filter_verdict(i)
                                         : nominations.verdict_with_nominated_pods(pod.pod(), pod.pod_class(),
                                                                                   pod.profile(), *row, snapshot, i);
    // Upstream only logs that the nominated node fails, and does not visit it again outside the node set.
    if (verdict.code == StatusCode::kError && row != nullptr && pod.is_left_out(i))
      verdict = pod.verdict_without_row(i);
    if (verdict.code == StatusCode::kError)
      return {{},
              {},
              nominations.filter_with_nominated_pods(pod.pod(), pod.pod_class(), pod.profile(), *row, snapshot, i)
                  .message()};
    if (!verdict.accepts() && !verdict.plugin.empty()) rejectors.insert(verdict.plugin);
    verdicts.nodes[static_cast<std::size_t>(i)] = verdict;
  }
  verdicts.rejectors = std::move(rejectors);
  return verdicts;
}

}  // namespace berth
