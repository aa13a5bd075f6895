// SPDX-License-Identifier: Apache-2.0
#include "host/perf/pod_counts.h"

#include <algorithm>
#include <utility>

#include "host/objects/pod_state.h"

namespace berth {

bool PodFilter::matches(const Pod& pod) const {
  if (!namespaces.empty() && std::find(namespaces.begin(), namespaces.end(), pod.namespace_) == namespaces.end())
    return false;
  return std::all_of(selector.begin(), selector.end(),
                     [&](const auto& label) { return pod.labels.find(label.first) == label.second; });
}

PodStage stage_of(const StoredPod& pod) {
  if (is_assigned(*pod.object)) return PodStage::kScheduled;
  return pod.find_condition("PodScheduled") != nullptr ? PodStage::kAttempted : PodStage::kUnattempted;
}

PodCounts::PodCounts(const ObjectStore& store, PodFilter filter) : filter_(std::move(filter)) {
  store.for_each<Pod>([this](const StoredPodPtr& pod) { add(pod, 1); });
}

void PodCounts::apply(const ObjectChange<Pod>& change) {
  add(change.before, -1);
  add(change.after, 1);
}

void PodCounts::add(const StoredPodPtr& pod, std::int64_t amount) {
  if (pod == nullptr || !filter_.matches(*pod->object)) return;
  const PodStage stage = stage_of(*pod);
  if (stage == PodStage::kAttempted) attempted_ += amount;
  if (stage == PodStage::kScheduled) scheduled_ += amount;
}

bool got_scheduled(const ObjectChange<Pod>& change, const PodFilter& filter) {
  if (change.after == nullptr || !is_assigned(*change.after->object)) return false;
  const bool had_node = change.before != nullptr && is_assigned(*change.before->object);
  return !had_node && filter.matches(*change.after->object);
}

}  // namespace berth
