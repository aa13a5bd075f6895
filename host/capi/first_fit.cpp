// SPDX-License-Identifier: Apache-2.0
#include "host/capi/first_fit.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "host/framework/status.h"

namespace berth::capi {
namespace {

constexpr std::array<std::string_view, 4> kReadNodes = {"NodeUnschedulable", "NodeName", "TaintToleration",
                                                        "NodeAffinity"};
/// Pods that come make them refuse more.
constexpr std::array<std::string_view, 2> kReadLoads = {"NodePorts", "NodeResourcesFit"};

bool is_about_node_sets(const std::vector<std::string>& reasons) {
  static const std::string text = node_set_text({});
  const std::string_view begin = std::string_view(text).substr(0, text.find('[') + 1);
  return std::ranges::any_of(reasons, [&](const std::string& reason) { return reason.starts_with(begin); });
}

}  // namespace

std::string why_nowhere(Fork& fork, const PodToPlace& pod, std::span<const NodeIndex> nodes) {
  if (nodes.empty()) return std::string(kNoNodesText);
  const PodStatuses statuses = fork.statuses_on(pod, nodes);
  Diagnosis diagnosis;
  diagnosis.node_count = static_cast<std::int64_t>(nodes.size());
  bool is_refused = true;  // by a PreFilter plugin, and not because those name other nodes
  for (const NodeStatus& status : statuses.nodes) {
    for (const std::string& reason : status.status.reasons) ++diagnosis.reason_counts[reason];
    is_refused = is_refused && status.is_of_pre_filter && !is_about_node_sets(status.status.reasons);
  }
  if (is_refused && diagnosis.reason_counts.size() == 1)
    diagnosis.pre_filter_message = diagnosis.reason_counts.begin()->first;
  return fit_error_text(diagnosis);
}

bool is_for_good(const NodeVerdict& verdict, bool may_get_room) {
  if (verdict.accepts() || verdict.code == StatusCode::kError) return false;
  return std::ranges::find(kReadNodes, verdict.plugin) != kReadNodes.end() ||
         (!may_get_room && std::ranges::find(kReadLoads, verdict.plugin) != kReadLoads.end());
}

void FirstFit::add(std::string name, NodeIndex node, bool may_get_room) {
  nodes_.push_back({std::move(name), node, may_get_room});
}

void FirstFit::follow_nodes() {
  if (fork_.keeps_indices()) return;
  for (Listed& node : nodes_) node.index = fork_.find_node(node.name);
}

std::optional<std::size_t> FirstFit::find(const PodToPlace& pod, std::uint64_t kind, std::string& error) {
  Open& open = open_[kind];
  for (; open.seen < nodes_.size(); ++open.seen) open.positions.push_back(static_cast<std::uint32_t>(open.seen));
  std::size_t next = open.begin;
  std::optional<std::size_t> found;
  std::vector<std::uint32_t> kept;
  // The node that took the last pod of the kind mostly takes the next one.
  for (std::size_t chunk = open.has_found ? 1 : kAskedFirst; next < open.positions.size() && !found;
       chunk = std::min(2 * chunk, kAskedMax)) {
    const std::size_t end = std::min(next + chunk, open.positions.size());
    asked_.clear();
    for (std::size_t i = next; i < end; ++i) asked_.push_back(nodes_[open.positions[i]].index);
    const PodVerdicts verdicts = fork_.verdicts_on(pod, asked_);
    error = verdicts.error;
    if (!error.empty()) return std::nullopt;
    for (std::size_t i = 0; i < asked_.size(); ++i, ++next) {
      const std::uint32_t position = open.positions[next];
      if (verdicts.nodes[i].accepts()) {
        found = position;
        break;
      }
      if (!is_for_good(verdicts.nodes[i], nodes_[position].may_get_room)) kept.push_back(position);
    }
  }
  open.has_found = found.has_value();
  // Those that refused for now stand right before the next one.
  open.begin = next - kept.size();
  std::ranges::copy(kept, open.positions.begin() + static_cast<std::ptrdiff_t>(open.begin));
  return found;
}

}  // namespace berth::capi
