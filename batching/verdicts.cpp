// SPDX-License-Identifier: Apache-2.0
#include "batching/verdicts.h"

#include <string>
#include <utility>
#include <vector>

#include "batching/node_filter.h"
#include "batching/prepared_pod.h"

namespace berth {
namespace {

/// Where Filter runs on a node: on it, or nowhere.
class FilteredNodes {
 public:
  FilteredNodes(const PreparedPod& pod, const NodeSides& sides, const Snapshot& snapshot)
      : pod_(pod), sides_(sides), snapshot_(snapshot), row_(sides.view(pod.row(), pod.class_index())) {}

  bool is_left_out(std::int32_t node) const { return is_outside_node_set(pod_.pod_class(), row_, snapshot_, node); }
  /// Outside PreFilter's node set only the pod's own nominated node is filtered.
  bool is_filtered(std::int32_t node) const { return !is_left_out(node) || node == pod_.own_node(); }
  NodeSideView side_of(std::int32_t node) const {
    return is_left_out(node) ? sides_.view(pod_.open_row(), pod_.class_index(), NodeSet::kIgnored) : row_;
  }
  NodeVerdict outside_verdict(std::int32_t node) const {
    return {StatusCode::kUnschedulableAndUnresolvable,
            plugin_without_node(pod_.pod_class(), pod_.profile(), row_, node, snapshot_.node(node).name), true};
  }

 private:
  const PreparedPod& pod_;
  const NodeSides& sides_;
  const Snapshot& snapshot_;
  NodeSideView row_;
};

}  // namespace

PodVerdicts verdicts_of_pod_on(const PodToPlace& to_place, std::span<const NodeIndex> nodes, const NodeSides& sides,
                               const Nominations& nominations, const Snapshot& snapshot) {
  const PreparedPod pod(to_place, sides.table(), nominations, snapshot);
  PodVerdicts verdicts;
  if (snapshot.node_count() == 0) return verdicts;
  verdicts.error = pod.error();
  if (!verdicts.error.empty()) return verdicts;
  if (pod.is_refused()) {
    verdicts.nodes.assign(nodes.size(), {pod.pre_filter().code, pod.pre_filter().plugin, true});
    return verdicts;
  }
  const FilteredNodes filtered(pod, sides, snapshot);
  verdicts.nodes.reserve(nodes.size());
  Nominations::CrowdedNode crowded = nominations.crowded_node(pod.pod_class(), snapshot);
  for (const auto [i] : nodes) {
    NodeVerdict verdict = kNoNodeVerdict;
    if (filtered.is_filtered(i)) {
      const NodeSideView side = filtered.side_of(i);
      verdict = nominations.verdict_with_nominated_pods(pod.pod(), pod.pod_class(), pod.profile(), side, snapshot, i,
                                                        crowded);
      if (verdict.code == StatusCode::kError && !filtered.is_left_out(i))
        return {{},
                {},
                nominations.filter_with_nominated_pods(pod.pod(), pod.pod_class(), pod.profile(), side, snapshot, i)
                    .message()};
    }
    // Upstream only logs that the nominated node fails, and does not visit it again outside the node set.
    if (filtered.is_left_out(i) && (i != pod.own_node() || verdict.code == StatusCode::kError))
      verdict = filtered.outside_verdict(i);
    verdicts.nodes.push_back(verdict);
  }
  return verdicts;
}

PodStatuses statuses_of_pod_on(const PodToPlace& to_place, std::span<const NodeIndex> nodes, const NodeSides& sides,
                               const Nominations& nominations, const Snapshot& snapshot) {
  const PodVerdicts verdicts = verdicts_of_pod_on(to_place, nodes, sides, nominations, snapshot);
  if (!verdicts.error.empty() || verdicts.nodes.empty()) return {{}, verdicts.error};
  const PreparedPod pod(to_place, sides.table(), nominations, snapshot);
  const FilteredNodes filtered(pod, sides, snapshot);
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
      status = nominations.filter_with_nominated_pods(pod.pod(), pod.pod_class(), pod.profile(), filtered.side_of(i),
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
  verdicts.rejectors = PreparedPod(to_place, sides.table(), nominations, snapshot).pre_filter_rejectors();
  verdicts.nodes.resize(static_cast<std::size_t>(snapshot.slot_count()), kNoNodeVerdict);
  for (std::size_t n = 0; n < in_order.size(); ++n) {
    const NodeVerdict& verdict = listed.nodes[n];
    if (!verdict.accepts() && !verdict.plugin.empty()) verdicts.rejectors.insert(verdict.plugin);
    verdicts.nodes[static_cast<std::size_t>(in_order[n].value)] = verdict;
  }
  return verdicts;
}

}  // namespace berth
