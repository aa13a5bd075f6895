// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/cache_consistency.h"

#include <algorithm>

#include "host/cluster/pod_footprint.h"

namespace berth {
namespace {

void compare_amounts(const NodeInfo& node, const NodeInfo& counted, Differences& differences) {
  const std::string who = "node " + node.name + ": ";
  const ResourceAmounts& kept = node.requested;
  differences.expect(who + "requested cpu", kept.milli_cpu, counted.requested.milli_cpu);
  differences.expect(who + "requested memory", kept.memory_bytes, counted.requested.memory_bytes);
  differences.expect(who + "requested ephemeral-storage", kept.ephemeral_storage_bytes,
                     counted.requested.ephemeral_storage_bytes);
  for (const auto& [name, amount] : kept.scalars) {
    differences.expect(who + "requested " + name, amount, counted.requested.scalar(name));
  }
  for (const auto& [name, amount] : counted.requested.scalars) {
    if (!kept.has_scalar(name)) differences.expect(who + "requested " + name, 0, amount);
  }
  differences.expect(who + "non-zero cpu", node.non_zero_milli_cpu, counted.non_zero_milli_cpu);
  differences.expect(who + "non-zero memory", node.non_zero_memory_bytes, counted.non_zero_memory_bytes);
}

/// A wanted port may be missing, because another pod with it was removed; a used port without a pod may not exist.
void compare_ports(const NodeInfo& node, const NodeInfo& counted, Differences& differences) {
  for (const HostPort& port : node.used_ports) {
    if (std::binary_search(counted.used_ports.begin(), counted.used_ports.end(), port)) continue;
    differences.add("node " + node.name + ": port " + port.ip + "/" + port.protocol + "/" + std::to_string(port.port) +
                    " is used, but no pod wants it");
  }
}

}  // namespace

void check_node(const NodeEntry& entry, Differences& differences) {
  NodeInfo counted;
  for (const PodPtr& pod : entry.pods) add_footprint(counted, pod_footprint(*pod));
  compare_amounts(entry, counted, differences);
  compare_ports(entry, counted, differences);
  if (entry.is_real() != (entry.zone != nullptr)) {
    differences.add("node " + entry.name + ": in a zone without a node object, or the other way round");
  } else if (entry.is_real() && entry.zone->key != zone_key(*entry.node)) {
    differences.add("node " + entry.name + ": stands in another zone than its labels say");
  }
}

void compare_images(const ImageTable& kept, const ImageTable& counted, Differences& differences) {
  const auto& counted_states = counted.states();
  for (const auto& [name, state] : kept.states()) {
    const auto found = counted_states.find(name);
    differences.expect("number of nodes with image " + name, state.node_count,
                       found == counted_states.end() ? 0 : found->second.node_count);
  }
  differences.expect("number of images", static_cast<std::int64_t>(kept.states().size()),
                     static_cast<std::int64_t>(counted_states.size()));
}

}  // namespace berth
