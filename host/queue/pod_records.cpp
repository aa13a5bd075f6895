// SPDX-License-Identifier: Apache-2.0
#include "host/queue/pod_records.h"

#include <utility>

namespace berth {

std::uint32_t PodRecords::find(const Pod& pod) const {
  return by_name_.find(hash_of_name(pod.namespace_, pod.name),
                       [&](std::uint32_t slot) { return same_name(*records_[slot].info.pod, pod); });
}

std::uint32_t PodRecords::create(PodRecord record) {
  reserve_one();
  const Pod& pod = *record.info.pod;
  record.name_hash = hash_of_name(pod.namespace_, pod.name);
  const std::uint32_t slot = records_.take();
  by_name_.insert(record.name_hash, slot);
  records_[slot] = std::move(record);
  return slot;
}

QueuedPodInfo PodRecords::destroy(std::uint32_t slot) {
  by_name_.erase(records_[slot].name_hash, slot);
  QueuedPodInfo info = std::move(records_[slot].info);
  records_.give_back(slot);
  return info;
}

}  // namespace berth
