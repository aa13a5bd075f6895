// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/intake.h"

#include <algorithm>

#include "host/objects/pod_state.h"
#include "plugins/priority_sort/priority_sort.h"
#include "plugins/scheduling_gates/scheduling_gates.h"

namespace berth {
namespace {

/// Empty when the pod runs or may be queued.
std::string reason_to_skip(const Pod& pod, std::int32_t profile) {
  if (pod.terminating) return "is being deleted";
  if (profile < 0) return "no profile is named \"" + pod.spec->scheduler_name + "\"";
  return {};
}

void add_running(const PodPtr& pod, ClusterCache& cache, Intake& intake) {
  const NodeInfo* node = cache.find_node(pod->node_name);
  if (node == nullptr || node->node == nullptr) {
    intake.skipped.push_back(
        {pod->full_name(), "is bound to node \"" + pod->node_name + "\", which is not in the input"});
  } else if (cache.add_pod(pod) != CacheResult::kOk) {
    intake.skipped.push_back({pod->full_name(), "another running pod has its uid \"" + pod->uid() + "\""});
  } else {
    intake.lowest_priority = std::min(intake.lowest_priority, pod->priority);
  }
}

bool queued_before(const PodPtr& a, const PodPtr& b) {
  static const PrioritySort queue_sort;
  return queue_sort.less({a.get(), a->creation_time_us}, {b.get(), b->creation_time_us});
}

}  // namespace

std::int32_t profile_index(const SchedulerConfig& config, const Pod& pod) {
  const Profile* profile = config.find_profile(pod.spec->scheduler_name);
  return profile == nullptr ? -1 : static_cast<std::int32_t>(profile - config.profiles.data());
}

std::string why_gated(const Pod& pod, const Profile& profile) {
  if (pod.rare_fields == nullptr || !profile.enables(ExtensionPoint::kPreEnqueue, SchedulingGates::kName)) return {};
  const Status status = SchedulingGates().pre_enqueue(pod);
  return status.ok() ? std::string() : status.message();
}

Intake partition_pods(const ClusterObjects& objects, const SchedulerConfig& config, ClusterCache& cache,
                      const Pod* left_out) {
  Intake intake;
  for (const NodePtr& node : objects.nodes) cache.add_node(node);
  cache.storage().add_all(objects.storage);
  std::vector<PodPtr> pending;
  for (const PodPtr& pod : objects.pods) {
    if (pod.get() == left_out) continue;
    if (is_pending(*pod)) pending.push_back(pod);
    if (is_on_node(*pod)) add_running(pod, cache, intake);
  }
  if (!std::is_sorted(pending.begin(), pending.end(), queued_before))
    std::stable_sort(pending.begin(), pending.end(), queued_before);

  for (PodPtr& pod : pending) {
    const std::int32_t profile = profile_index(config, *pod);
    if (std::string reason = reason_to_skip(*pod, profile); !reason.empty()) {
      intake.skipped.push_back({pod->full_name(), std::move(reason)});
      continue;
    }
    std::string gated = why_gated(*pod, config.profiles[static_cast<std::size_t>(profile)]);
    if (gated.empty()) {
      if (!pod->rare().nominated_node_name.empty()) intake.nominated_positions.push_back(intake.queue.size());
      intake.queue.push_back({std::move(pod), profile, -1});
    } else {
      intake.gated.push_back({std::move(pod), std::move(gated), intake.queue.size()});
    }
  }
  return intake;
}

}  // namespace berth
