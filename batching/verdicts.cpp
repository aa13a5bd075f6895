// SPDX-License-Identifier: Apache-2.0
#include "batching/verdicts.h"

#include <string>
#include <utility>
#include <vector>

#include "batching/node_filter.h"
#include "batching/prepared_pod.h"

namespace berth {

PodVerdicts verdicts_of_pod_on(const PodToPlace& to_place, std::span<const NodeIndex> nodes, const NodeSides& sides,
                               const Nominations& nominations, const Snapshot& snapshot) {
  const PreparedPod pod(to_place, sides, nominations, snapshot);
  PodVerdicts verdicts;
  if (snapshot.node_count() == 0) return verdicts;
  verdicts.error = pod.error();
  if (!verdicts.error.empty()) return verdicts;
  if (pod.is_refused()) {
    verdicts.nodes.assign(nodes.size(), {pod.pre_filter().code, pod.pre_filter().plugin, true});
    return verdicts;
  }
  verdicts.nodes.reserve(nodes.size());
  Nominations::CrowdedNode crowded = nominations.crowded_node(pod.pod_class(), snapshot);
  for (const auto [i] : nodes) {
    NodeVerdict verdict = kNoNodeVerdict;
    if (pod.is_filtered(i)) {
      const NodeSideView side = pod.side_of(i);
      verdict = nominations.verdict_with_nominated_pods(pod.pod(), pod.pod_class(), pod.profile(), side, snapshot, i,
                                                        crowded);
      if (verdict.code == StatusCode::kError && !pod.is_left_out(i))
        return {{},
                {},
                nominations.filter_with_nominated_pods(pod.pod(), pod.pod_class(), pod.profile(), side, snapshot, i)
                    .message()};
    }
    // Upstream only logs that the nominated node fails, and does not visit it again outside the node set.
    if (pod.is_left_out(i) && (i != pod.own_node() || verdict.code == StatusCode::kError))
      verdict = pod.outside_verdict(i);
    verdicts.nodes.push_back(verdict);
  }
  return verdicts;
}

PodStatuses statuses_of_pod_on(const PodToPlace& to_place, std::span<const NodeIndex> nodes, const NodeSides& sides,
                               const Nominations& nominations, const Snapshot& snapshot) {
  const PodVerdicts verdicts = verdicts_of_pod_on(to_place, nodes, sides, nominations, snapshot);
  if (!verdicts.error.empty() || verdicts.nodes.empty()) return {{}, verdicts.error};
  const PreparedPod pod(to_place, sides, nominations, snapshot);
  PodStatuses statuses;
  statuses.nodes.reserve(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const NodeVerdict& verdict = verdicts.nodes[n];
    Status status{verdict.code, std::string(verdict.plugin), {}};
    if (verdict.is_of_pre_filter) {
      status.reasons = {pod.is_refused() ? pod.pre_filter().message
                                         : node_set_text(plugins_with_node_set(pod.pod_class(), pod.row()))};
    } else if (!verdict.accepts()) {
      const std::int32_t i = nodes[n].value;
      status = nominations.filter_with_nominated_pods(pod.pod(), pod.pod_class(), pod.profile(), pod.side_of(i),
                                                      snapshot, i);
    }
    statuses.nodes.push_back({std::move(status), verdict.is_of_pre_filter});
  }
  return statuses;
}

PodVerdicts verdicts_of_pod(const PodToPlace& to_place, const NodeSides& sides, const Nominations& nominations,
                            const Snapshot& snapshot) {
  std::vector<NodeIndex> in_order;
  in_order.reserve(static_cast<std::size_t>(snapshot.node_count()));
  for (const std::int32_t i : snapshot.in_order()) in_order.push_back({i});
  PodVerdicts listed = verdicts_of_pod_on(to_place, in_order, sides, nominations, snapshot);
  if (!listed.error.empty() || in_order.empty()) return listed;
  PodVerdicts verdicts;
  verdicts.rejectors = PreparedPod(to_place, sides, nominations, snapshot).pre_filter_rejectors();
  verdicts.nodes.resize(static_cast<std::size_t>(snapshot.slot_count()), kNoNodeVerdict);
  for (std::size_t n = 0; n < in_order.size(); ++n) {
    const NodeVerdict& verdict = listed.nodes[n];
    if (!verdict.accepts() && !verdict.plugin.empty()) verdicts.rejectors.insert(verdict.plugin);
    verdicts.nodes[static_cast<std::size_t>(in_order[n].value)] = verdict;
  }
  return verdicts;
}

}  // namespace berth
