// SPDX-License-Identifier: Apache-2.0
#include "host/queue/change_events.h"

#include <algorithm>

#include "host/objects/pod_requests.h"

namespace berth {
namespace {

/// Some request became smaller, in thousandths of its unit, or is gone.
bool is_scaled_down(const Pod& before, const Pod& after, Release release) {
  const bool same_status = before.rare().status_resources == after.rare().status_resources &&
                           before.rare().resize_infeasible == after.rare().resize_infeasible;
  if (before.spec == after.spec && same_status) return false;
  const RequestOptions options{.status_resources = true, .status_resources_by_aggregate = release != Release::k1_35};
  const ResourceList old_requests = exact_pod_requests(before, options);
  const ResourceList new_requests = exact_pod_requests(after, options);
  return std::any_of(old_requests.begin(), old_requests.end(), [&](const auto& old_request) {
    const Quantity* now = find(new_requests, old_request.first);
    return now == nullptr || old_request.second.milli_value() > now->milli_value();
  });
}

}  // namespace

std::vector<ClusterEvent> pod_change_events(const Pod& before, const Pod& after, Release release) {
  const EventResource resource =
      after.node_name.empty() ? EventResource::kUnschedulablePod : EventResource::kAssignedPod;
  std::vector<ClusterEvent> events;
  const auto add = [&](bool changed, std::uint16_t actions) {
    if (changed) events.push_back({resource, actions});
  };
  add(before.labels != after.labels, EventAction::kUpdatePodLabel);
  add(is_scaled_down(before, after, release), EventAction::kUpdatePodScaleDown);
  add(after.rare().scheduling_gates.empty() && !before.rare().scheduling_gates.empty(),
      EventAction::kUpdatePodSchedulingGatesEliminated);
  add(before.spec->tolerations.size() != after.spec->tolerations.size(), EventAction::kUpdatePodToleration);
  add(events.empty(), EventAction::kUpdate);
  return events;
}

std::vector<ClusterEvent> node_change_events(const Node& before, const Node& after, bool features) {
  std::vector<ClusterEvent> events;
  const auto add = [&events](bool changed, std::uint16_t actions) {
    if (changed) events.push_back({EventResource::kNode, actions});
  };
  add(before.unschedulable && !after.unschedulable, EventAction::kUpdateNodeTaint);
  add(before.allocatable != after.allocatable || before.allowed_pod_number != after.allowed_pod_number,
      EventAction::kUpdateNodeAllocatable);
  add(before.labels != after.labels, EventAction::kUpdateNodeLabel);
  add(before.taints != after.taints, EventAction::kUpdateNodeTaint);
  // Of annotations the model keeps those that a plugin declared, and only plugins from outside register their events.
  add(before.declared != after.declared, EventAction::kUpdateNodeAnnotation);
  add(features && before.declared_features != after.declared_features, EventAction::kUpdateNodeDeclaredFeature);
  return events;
}

}  // namespace berth
