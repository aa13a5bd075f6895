// SPDX-License-Identifier: Apache-2.0
#include "batching/verdicts.h"

#include "batching/node_filter.h"
#include "batching/prepared_pod.h"

namespace berth {

PodVerdicts judge_pod(const PodToPlace& to_place, const ClassTable& table, const Nominations& nominations,
                      const Snapshot& snapshot) {
  const PreparedPod pod(to_place, table, nominations);
  PodVerdicts verdicts;
  if (snapshot.node_count() == 0) return verdicts;
  verdicts.error = pod.error();
  if (!verdicts.error.empty()) return verdicts;
  PluginNames rejectors = pod.pre_filter_rejectors();
  verdicts.nodes.resize(static_cast<std::size_t>(snapshot.slot_count()), kNoNodeVerdict);
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i) {
    if (!snapshot.has_node(i)) continue;
    const NodeSideRow* row = pod.row_on(i);
    const NodeVerdict verdict = row == nullptr ? pod.pre_filter_verdict()
                                               : nominations.judge_with_nominated_pods(
                                                     pod.pod(), pod.pod_class(), pod.profile(), *row, snapshot, i);
    // Only the node side can end a cycle with an error.
    if (row != nullptr && verdict.code == StatusCode::kError) return {{}, {}, row->refusals[row->refusal(i)].reason};
    if (!verdict.accepts()) rejectors.insert(verdict.plugin);
    verdicts.nodes[static_cast<std::size_t>(i)] = verdict;
  }
  verdicts.rejectors = std::move(rejectors);
  return verdicts;
}

}  // namespace berth
