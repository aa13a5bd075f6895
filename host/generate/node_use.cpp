// SPDX-License-Identifier: Apache-2.0
#include "host/generate/node_use.h"

#include <algorithm>
#include <string>

namespace berth {
namespace {

bool fits(std::int64_t asked, std::int64_t allocatable, std::int64_t used) {
  return asked == 0 || asked <= allocatable - used;
}

void add_scalar(ResourceAmounts& sum, const std::string& name, std::int64_t amount) {
  const auto at = std::lower_bound(sum.scalars.begin(), sum.scalars.end(), name,
                                   [](const auto& entry, const std::string& wanted) { return entry.first < wanted; });
  if (at != sum.scalars.end() && at->first == name) {
    at->second = saturating_add(at->second, amount);
  } else {
    sum.scalars.insert(at, {name, amount});
  }
}

}  // namespace

bool NodeUse::has_room(const Node& node, const ResourceAmounts& request) const {
  bool room = pod_count < node.allowed_pod_number &&
              fits(request.milli_cpu, node.allocatable.milli_cpu, requested.milli_cpu) &&
              fits(request.memory_bytes, node.allocatable.memory_bytes, requested.memory_bytes) &&
              fits(request.ephemeral_storage_bytes, node.allocatable.ephemeral_storage_bytes,
                   requested.ephemeral_storage_bytes);
  for (const auto& [name, amount] : request.scalars) {
    room = room && fits(amount, node.allocatable.scalar(name), requested.scalar(name));
  }
  return room;
}

void NodeUse::add_pod(const ResourceAmounts& request) {
  requested.milli_cpu = saturating_add(requested.milli_cpu, request.milli_cpu);
  requested.memory_bytes = saturating_add(requested.memory_bytes, request.memory_bytes);
  requested.ephemeral_storage_bytes =
      saturating_add(requested.ephemeral_storage_bytes, request.ephemeral_storage_bytes);
  for (const auto& [name, amount] : request.scalars) add_scalar(requested, name, amount);
  ++pod_count;
}

}  // namespace berth
