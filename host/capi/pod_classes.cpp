// SPDX-License-Identifier: Apache-2.0
#include "host/capi/pod_classes.h"

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "host/objects/pod_requests.h"

namespace berth::capi {
namespace {

bool are_alike(const PodToPlace& a, const PodToPlace& b) {
  const Pod& x = *a.pod;
  const Pod& y = *b.pod;
  const auto have_same = [](const auto& p, const auto& q) {
    return p == q || (p != nullptr && q != nullptr && *p == *q);
  };
  return a.profile == b.profile && x.priority == y.priority && x.labels == y.labels && x.namespace_ == y.namespace_ &&
         x.node_name == y.node_name && x.preemption_policy == y.preemption_policy && x.phase == y.phase &&
         x.terminating == y.terminating && have_same(x.spec, y.spec) && have_same(x.owners, y.owners) &&
         x.rare() == y.rare();
}

std::size_t hash_of(const Pod& pod) {
  const ResourceAmounts requested = requested_on_node(pod);
  std::size_t hash = std::hash<std::string_view>()(pod.labels.bytes());
  const auto add = [&](std::size_t value) { hash = hash * 31 + value; };
  add(std::hash<std::string>()(pod.namespace_));
  add(std::hash<std::string>()(pod.node_name));
  add(std::hash<std::int64_t>()(requested.milli_cpu));
  add(std::hash<std::int64_t>()(requested.memory_bytes));
  add(static_cast<std::size_t>(pod.priority));
  return hash;
}

}  // namespace

PodClasses::PodClasses(std::span<const PodHandlePtr> pods, bool as_moved) {
  std::unordered_multimap<std::size_t, std::size_t> first_of_hash;  // the first pod of each class
  of_pod.reserve(pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const PodToPlace& pod = pods[i]->pod->placeable(as_moved);
    const std::size_t hash = hash_of(*pod.pod);
    auto [at, end] = first_of_hash.equal_range(hash);
    while (at != end && !are_alike(pods[at->second]->pod->placeable(as_moved), pod)) ++at;
    if (at == end) {
      first_of_hash.emplace(hash, i);
      of_pod.push_back(static_cast<std::uint32_t>(count++));
    } else {
      of_pod.push_back(of_pod[at->second]);
    }
  }
}

}  // namespace berth::capi
