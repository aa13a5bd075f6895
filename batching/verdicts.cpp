// SPDX-License-Identifier: Apache-2.0
#include "batching/verdicts.h"

#include <utility>
#include <vector>

#include "batching/node_filter.h"
#include "batching/prepared_pod.h"

namespace berth {

PodVerdicts verdicts_of_pod_on(const PodToPlace& to_place, std::span<const NodeIndex> nodes, const ClassTable& table,
                               const Nominations& nominations, const Snapshot& snapshot) {
  const PreparedPod pod(to_place, table, nominations, snapshot);
  PodVerdicts verdicts;
  if (snapshot.node_count() == 0) return verdicts;
  verdicts.error = pod.error();
  if (!verdicts.error.empty()) return verdicts;
  verdicts.nodes.reserve(nodes.size());
  Nominations::CrowdedNode crowded = nominations.crowded_node(pod.pod_class(), snapshot);
  for (const auto [i] : nodes) {
    const NodeSideRow* row = pod.is_refused() ? nullptr : pod.row_on(i);
    NodeVerdict verdict = row == nullptr ? pod.pre_filter_verdict(i)
                                         : nominations.verdict_with_nominated_pods(
                                               pod.pod(), pod.pod_class(), pod.profile(), *row, snapshot, i, crowded);
    // Upstream only logs that the nominated node fails, and does not visit it again outside the node set.
    if (verdict.code == StatusCode::kError && row != nullptr && pod.is_left_out(i))
      verdict = pod.verdict_without_row(i);
    if (verdict.code == StatusCode::kError)
      return {{},
              {},
              nominations.filter_with_nominated_pods(pod.pod(), pod.pod_class(), pod.profile(), *row, snapshot, i)
                  .message()};
    verdicts.nodes.push_back(verdict);
  }
  return verdicts;
}

PodVerdicts verdicts_of_pod(const PodToPlace& to_place, const ClassTable& table, const Nominations& nominations,
                            const Snapshot& snapshot) {
  std::vector<NodeIndex> in_order;
  in_order.reserve(static_cast<std::size_t>(snapshot.node_count()));
  for (const std::int32_t i : snapshot.in_order()) in_order.push_back({i});
  PodVerdicts listed = verdicts_of_pod_on(to_place, in_order, table, nominations, snapshot);
  if (!listed.error.empty() || in_order.empty()) return listed;
  PodVerdicts verdicts;
  verdicts.rejectors = PreparedPod(to_place, table, nominations, snapshot).pre_filter_rejectors();
  verdicts.nodes.resize(static_cast<std::size_t>(snapshot.slot_count()), kNoNodeVerdict);
  for (std::size_t n = 0; n < in_order.size(); ++n) {
    const NodeVerdict& verdict = listed.nodes[n];
    if (!verdict.accepts() && !verdict.plugin.empty()) verdicts.rejectors.insert(verdict.plugin);
    verdicts.nodes[static_cast<std::size_t>(in_order[n].value)] = verdict;
  }
  return verdicts;
}

}  // namespace berth
