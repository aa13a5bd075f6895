// SPDX-License-Identifier: Apache-2.0
#include "host/queue/queued_pod.h"

#include "host/objects/object_pools.h"

namespace berth {

bool has_uid(const Pod& pod, std::string_view uid) {
  if (!pod.stored_uid.empty()) return pod.stored_uid == uid;
  const std::size_t slash = pod.namespace_.size();
  return uid.size() == slash + 1 + pod.name.size() && uid.starts_with(pod.namespace_) && uid[slash] == '/' &&
         uid.ends_with(pod.name);
}

bool same_uid(const Pod& a, const Pod& b) {
  return b.stored_uid.empty() ? has_uid(a, b.uid()) : has_uid(a, b.stored_uid);
}

bool asks_the_same(const Pod& a, const Pod& b) {
  const PodRare& x = a.rare();
  const PodRare& y = b.rare();
  return (a.spec == b.spec || *a.spec == *b.spec) && a.labels == b.labels && a.priority == b.priority &&
         a.preemption_policy == b.preemption_policy && x.scheduling_gates == y.scheduling_gates &&
         x.volumes == y.volumes && x.resource_claims == y.resource_claims;
}

std::uint32_t hash_of_name(std::string_view name_space, std::string_view name) {
  return static_cast<std::uint32_t>(hash_bytes(name) + 31 * hash_bytes(name_space));
}

std::uint32_t hash_of_uid(std::string_view uid) { return static_cast<std::uint32_t>(hash_bytes(uid)); }

}  // namespace berth
