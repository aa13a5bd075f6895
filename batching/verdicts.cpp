// SPDX-License-Identifier: Apache-2.0
#include "batching/verdicts.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "batching/load_words.h"
#include "batching/node_filter.h"
#include "batching/prepared_pod.h"

namespace berth {
namespace {

/// Filter on nodes that accept, which are most of those that are asked: nobody needs to know which rule comes first.
class AcceptingFilter {
 public:
  /// @param asked_count  of nodes: of many the loads are compared resource by resource
  AcceptingFilter(const PreparedPod& pod, std::size_t asked_count, const Nominations& nominations,
                  const Snapshot& snapshot)
      : pod_(pod),
        nominations_(nominations),
        snapshot_(snapshot),
        is_plain_(pod.pod_class().host.empty()),
        any_nominated_(nominations.any_against(pod.pod())),
        filters_topology_(pod.pod_class().topology != nullptr && pod.pod_class().topology->filters()) {
    if (is_plain_ && snapshot.guests().empty() && LoadWord::fits(pod.pod_class()) &&
        asked_count >= static_cast<std::size_t>(snapshot.slot_count()) / kSlotsPerAsked)
      loads_ = load_words(pod.pod_class(), snapshot);
  }

  /// @return false: the node may accept all the same
  bool accepts(std::int32_t node) const {
    return is_plain_ && pod_.side_accepts(node) && !(any_nominated_ && nominations_.any_against(pod_.pod(), node)) &&
           load_accepts_on(node) &&
           (!filters_topology_ || filter_topology(pod_.pod_class(), snapshot_, node).accepts());
  }

 private:
  /// Where fewer nodes are asked, each load is compared by itself.
  static constexpr std::size_t kSlotsPerAsked = 4;

  bool load_accepts_on(std::int32_t node) const {
    if (!loads_.empty()) return loads_[static_cast<std::size_t>(node)] == 0;
    return load_accepts(pod_.pod_class(), pod_.profile(), snapshot_, node);
  }

  const PreparedPod& pod_;
  const Nominations& nominations_;
  const Snapshot& snapshot_;
  bool is_plain_;  ///< no plugin on the host may refuse
  bool any_nominated_;
  bool filters_topology_;
  std::vector<std::uint64_t> loads_;  ///< load_words(); empty: few nodes are asked
};

}  // namespace

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
  verdicts.nodes.resize(nodes.size());
  const AcceptingFilter filter(pod, nodes.size(), nominations, snapshot);
  std::optional<Nominations::CrowdedNode> crowded;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::int32_t i = nodes[n].value;
    if (filter.accepts(i)) continue;
    NodeVerdict& verdict = verdicts.nodes[n];
    verdict = kNoNodeVerdict;
    if (pod.is_filtered(i)) {
      if (!crowded) crowded.emplace(nominations.crowded_node(pod.pod_class(), snapshot));
      const NodeSideView side = pod.side_of(i);
      verdict = nominations.verdict_with_nominated_pods(pod.pod(), pod.pod_class(), pod.profile(), side, snapshot, i,
                                                        *crowded);
      if (verdict.code == StatusCode::kError && !pod.is_left_out(i))
        return {{},
                {},
                nominations.filter_with_nominated_pods(pod.pod(), pod.pod_class(), pod.profile(), side, snapshot, i)
                    .message()};
    }
    // Upstream only logs that the nominated node fails, and does not visit it again outside the node set.
    if (pod.is_left_out(i) && (i != pod.own_node() || verdict.code == StatusCode::kError))
      verdict = pod.outside_verdict(i);
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
