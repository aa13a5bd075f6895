// SPDX-License-Identifier: Apache-2.0
#include "plugins/priority_sort/priority_sort.h"

namespace berth {

bool PrioritySort::less(const QueuedPod& a, const QueuedPod& b) const {
  if (a.pod->priority != b.pod->priority) return a.pod->priority > b.pod->priority;
  return a.timestamp_us < b.timestamp_us;
}

std::unique_ptr<Plugin> make_priority_sort(const Profile&, const FrameworkHandle&) {
  return std::make_unique<PrioritySort>();
}

}  // namespace berth
