// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/usage.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "host/objects/heap_bytes.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

constexpr std::int64_t kFullPercent = 100;

/// What placed pods add to a node, in the two figures of the histogram.
struct Added {
  std::int64_t milli_cpu = 0;
  std::int64_t memory_bytes = 0;
};

std::int32_t percent(std::int64_t used, std::int64_t allocatable) {
  if (allocatable <= 0) return used > 0 ? static_cast<std::int32_t>(kFullPercent) : 0;
  const double ratio = static_cast<double>(used) / static_cast<double>(allocatable);
  return static_cast<std::int32_t>(std::clamp(ratio * 100.0, 0.0, 1000.0));
}

std::int32_t use_percent(const NodeInfo& info, const Added& added) {
  const ResourceAmounts& allocatable = info.node->allocatable;
  return std::max(percent(info.requested.milli_cpu + added.milli_cpu, allocatable.milli_cpu),
                  percent(info.requested.memory_bytes + added.memory_bytes, allocatable.memory_bytes));
}

/// Sums per resource over nodes or pods.
class ResourceSums {
 public:
  void add(const ResourceAmounts& amounts, std::int64_t times) {
    add(std::string(kCpu), amounts.milli_cpu * times);
    add(std::string(kMemory), amounts.memory_bytes * times);
    add(std::string(kEphemeralStorage), amounts.ephemeral_storage_bytes * times);
    for (const auto& [name, amount] : amounts.scalars) add(name, amount * times);
  }
  void add(const std::string& name, std::int64_t amount) { sums_[name] = saturating_add(sums_[name], amount); }
  std::int64_t of(const std::string& name) const {
    const auto at = sums_.find(name);
    return at == sums_.end() ? 0 : at->second;
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& [name, amount] : sums_)
      if (amount != 0) names.insert(name);
    return names;
  }

 private:
  std::map<std::string, std::int64_t> sums_;
};

constexpr std::uint64_t kSharedPointerBlock = 32;

std::uint64_t pod_bytes(const Pod& pod, std::unordered_set<const void*>& seen) {
  std::uint64_t bytes = sizeof(Pod) + kSharedPointerBlock + heap_bytes(pod.name) + heap_bytes(pod.namespace_) +
                        heap_bytes(pod.stored_uid) + heap_bytes(pod.node_name);
  if (!pod.labels.empty() && seen.insert(pod.labels.bytes().data()).second)
    bytes += pod.labels.bytes().size() + 2 * kSharedPointerBlock;
  if (seen.insert(pod.spec.get()).second)
    bytes += sizeof(PodSpec) + pod.spec->containers.size() * (sizeof(Container) + 128);
  if (pod.owners != nullptr && seen.insert(pod.owners.get()).second)
    bytes += pod.owners->size() * sizeof(OwnerReference) + kSharedPointerBlock;
  if (pod.rare_fields != nullptr) bytes += sizeof(PodRare) + 16;
  return bytes;
}

std::uint64_t node_bytes(const Node& node, std::unordered_set<const void*>& seen) {
  std::uint64_t bytes = sizeof(Node) + kSharedPointerBlock + heap_bytes(node.name) + heap_bytes(node.taints) +
                        heap_bytes(node.images) + heap_bytes(node.allocatable.scalars);
  for (const auto& [name, amount] : node.allocatable.scalars) bytes += heap_bytes(name);
  for (const NodeImage& image : node.images) {
    bytes += heap_bytes(image.names);
    for (const std::string& name : image.names) bytes += heap_bytes(name);
  }
  if (!node.labels.empty() && seen.insert(node.labels.bytes().data()).second) bytes += node.labels.bytes().size() + 64;
  return bytes;
}

}  // namespace

void fill_usage(const ClusterCache& cache, ScheduleResult& result) {
  const auto nodes = cache.nodes_in_order();
  ResourceSums allocatable;
  ResourceSums before;
  ResourceSums placed;
  for (const NodeInfo* info : nodes) {
    allocatable.add(info->node->allocatable, 1);
    allocatable.add(std::string(kPods), info->node->allowed_pod_number);
    before.add(info->requested, 1);
    before.add(std::string(kPods), static_cast<std::int64_t>(info->pods.size()));
  }
  std::vector<Added> added(nodes.size());
  std::unordered_map<const PodSpec*, std::pair<ResourceAmounts, std::int64_t>> placed_of_spec;
  for (const Placement& placement : result.placements) {
    auto [at, is_new] = placed_of_spec.try_emplace(placement.pod->spec.get());
    if (is_new) at->second.first = filter_requests(*placement.pod);
    ++at->second.second;
    Added& here = added[static_cast<std::size_t>(placement.node.value)];
    here.milli_cpu += at->second.first.milli_cpu;
    here.memory_bytes += at->second.first.memory_bytes;
  }
  for (const auto& [spec, amounts] : placed_of_spec) placed.add(amounts.first, amounts.second);
  placed.add(std::string(kPods), static_cast<std::int64_t>(result.placements.size()));

  for (const std::string& name : allocatable.names())
    result.resources.push_back(
        {name, allocatable.of(name), before.of(name), saturating_add(before.of(name), placed.of(name))});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    result.node_use_percent_before.push_back(use_percent(*nodes[i], {}));
    result.node_use_percent_after.push_back(use_percent(*nodes[i], added[i]));
  }
}

std::uint64_t peak_rss_bytes() {
  // getrusage() would count what the parent held when it started this process.
  std::ifstream status("/proc/self/status");
  constexpr std::string_view kKey = "VmHWM:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(kKey)) return std::strtoull(line.c_str() + kKey.size(), nullptr, 10) * 1024;
  return 0;
}

std::uint64_t model_bytes(const ClusterObjects& objects) {
  std::unordered_set<const void*> seen;
  std::uint64_t bytes = 0;
  for (const PodPtr& pod : objects.pods) bytes += pod_bytes(*pod, seen) + sizeof(PodPtr);
  for (const NodePtr& node : objects.nodes) bytes += node_bytes(*node, seen) + sizeof(NodePtr);
  return bytes;
}

}  // namespace berth
