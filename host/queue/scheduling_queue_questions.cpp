// SPDX-License-Identifier: Apache-2.0
// What a queue can be asked; nothing here changes it.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/queue/scheduling_queue.h"

namespace berth {
namespace {

PodPtr stub_of(const Pod& pod) {
  static const auto kEmptySpec = std::make_shared<const PodSpec>();
  auto stub = std::make_shared<Pod>();
  stub->name = pod.name;
  stub->namespace_ = pod.namespace_;
  stub->stored_uid = pod.stored_uid;
  stub->spec = kEmptySpec;
  return stub;
}

}  // namespace

std::vector<PodPtr> SchedulingQueue::nominated_pods(const std::string& node) const {
  std::vector<PodPtr> pods = nominator_.pods_on(node);
  for (PodPtr& pod : pods) {
    const std::uint32_t slot = records_.find(*pod);
    pod = slot == PodRecords::kNone ? stub_of(*pod) : records_[slot].info.pod;
  }
  return pods;
}

SchedulingQueue::Sizes SchedulingQueue::sizes() const {
  return {active_.size(), backoff_queue_.size() + error_queue_.size(), classes_.size() - gated_, gated_, held_.size()};
}

std::map<std::pair<std::string, std::string>, std::uint64_t> SchedulingQueue::unschedulable_by_plugin(
    bool keeps_zeros) const {
  std::map<std::pair<std::string, std::string>, std::uint64_t> named;
  rejected_.for_each_ever([&](std::uint8_t plugin, std::uint16_t profile, std::uint64_t count) {
    if (count > 0 || keeps_zeros) named[{table_.name_of(plugin), table_.framework(profile).profile_name()}] = count;
  });
  return named;
}

SchedulingQueue::PendingPods SchedulingQueue::pending_pods() const {
  PendingPods pods;
  const auto add_all = [this](const std::vector<std::uint32_t>& slots, std::vector<PodPtr>& to) {
    for (const std::uint32_t slot : slots) to.push_back(records_[slot].info.pod);
  };
  add_all(active_.slots(), pods.active);
  add_all(backoff_queue_.slots(), pods.backoff);
  add_all(error_queue_.slots(), pods.backoff);
  add_all(held_, pods.unschedulable);
  classes_.for_each([&](std::uint32_t slot) { pods.unschedulable.push_back(records_[slot].info.pod); });
  return pods;
}

std::optional<QueuedPodInfo> SchedulingQueue::find(const Pod& pod) const {
  const std::uint32_t slot = records_.find(pod);
  return slot == PodRecords::kNone ? std::nullopt : std::optional(records_[slot].info);
}

}  // namespace berth
