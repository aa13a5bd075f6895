// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/other_loads.h"

#include <algorithm>
#include <span>

#include "plugins/node_ports/compile.h"

namespace berth {
namespace {

bool checks_ports(const PodClass& pod_class, const CompiledProfile& profile) {
  return profile.filters<NodePorts>() && !pod_class.ports.empty();
}

bool checks_request(const RequestedResource& request, const CompiledProfile& profile) {
  return profile.filters<NodeResourcesFit>() && request.amount > 0 && request.column != kCpuColumn &&
         request.column != kMemoryColumn;
}

}  // namespace

bool asks_for_other_loads(const PodClass& pod_class, const CompiledProfile& profile) {
  return checks_ports(pod_class, profile) ||
         std::any_of(pod_class.requested.begin(), pod_class.requested.end(),
                     [&](const RequestedResource& request) { return checks_request(request, profile); });
}

void mark_refusing_other_loads(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                               std::vector<double>& refused) {
  for (const RequestedResource& request : pod_class.requested) {
    if (!checks_request(request, profile)) continue;
    if (request.column == kNoColumn) {
      std::fill(refused.begin(), refused.end(), 1.0);
      continue;
    }
    snapshot.for_each_run(request.column, [&](std::int32_t first, std::span<const std::int64_t> allocatable,
                                              std::span<const std::int64_t> requested) {
      double* const of_run = refused.data() + first;
      for (std::size_t i = 0; i < allocatable.size(); ++i)
        of_run[i] = NodeResourcesFit::is_short(request.amount, allocatable[i], requested[i]) ? 1.0 : of_run[i];
    });
  }
  for (std::int32_t i = 0; checks_ports(pod_class, profile) && i < snapshot.slot_count(); ++i)
    if (!snapshot.used_ports(i).empty() && ports_conflict(pod_class.ports, snapshot.used_ports(i)))
      refused[static_cast<std::size_t>(i)] = 1.0;
}

}  // namespace berth
