// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/usage.h"

#include <Eigen/Core>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/objects/heap_bytes.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

constexpr double kPercentMax = 1000;
constexpr double kAmountMax = 0x1p62;  // sums beyond would not fit into 64 bits

/// Amounts of the two resources that nearly every pod asks for: a row per node; cpu in millicores, memory in bytes.
using NodeAmounts = Eigen::Array<double, Eigen::Dynamic, 2, Eigen::RowMajor>;

Eigen::Array2d cpu_and_memory(const ResourceAmounts& amounts) {
  return {static_cast<double>(amounts.milli_cpu), static_cast<double>(amounts.memory_bytes)};
}

/// Requested of allocatable. A node that offers none of a resource is full of it once a pod there asks for some.
NodeAmounts used_shares(const NodeAmounts& requested, const NodeAmounts& allocatable) {
  return (allocatable > 0).select(requested / allocatable.max(1), (requested > 0).cast<double>());
}

/// Percent of the fuller resource of each node, truncated.
std::vector<std::int32_t> use_percent(const NodeAmounts& requested, const NodeAmounts& allocatable) {
  const Eigen::ArrayXi percent =
      (used_shares(requested, allocatable).rowwise().maxCoeff() * 100).max(0).min(kPercentMax).cast<int>();
  return {percent.begin(), percent.end()};
}

/// What stays free of each resource when pods fill every node and ask for both in the proportion that the node offers:
/// free share beyond that of the node's scarcer resource.
Eigen::Array2d stranded(const NodeAmounts& requested, const NodeAmounts& allocatable) {
  const NodeAmounts free = (allocatable > 0).select(1 - used_shares(requested, allocatable), 0).max(0);
  return ((free.colwise() - free.rowwise().minCoeff()) * allocatable).colwise().sum();
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

/// Bytes of values that several objects may share, each of them once.
class SharedBytes {
 public:
  void add(const void* value, std::uint64_t bytes) {
    if (values_.empty() || values_.back().first != value) values_.emplace_back(value, bytes);
  }
  std::uint64_t sum() {
    std::sort(values_.begin(), values_.end());
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
    return std::accumulate(values_.begin(), values_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& value) { return sum + value.second; });
  }

 private:
  std::vector<std::pair<const void*, std::uint64_t>> values_;
};

struct SharedParts {
  SharedBytes labels, specs, owners, image_names;

  void add_labels(const LabelMap& of) {
    if (!of.empty()) labels.add(of.bytes().data(), of.bytes().size() + kSharedPointerBlock);
  }
};

std::uint64_t pod_bytes(const Pod& pod, SharedParts& shared) {
  std::uint64_t bytes = sizeof(Pod) + kSharedPointerBlock + heap_bytes(pod.name) + heap_bytes(pod.namespace_) +
                        heap_bytes(pod.stored_uid) + heap_bytes(pod.node_name);
  shared.add_labels(pod.labels);
  shared.specs.add(pod.spec.get(), sizeof(PodSpec) + pod.spec->containers.size() * (sizeof(Container) + 128));
  if (pod.owners != nullptr)
    shared.owners.add(pod.owners.get(), pod.owners->size() * sizeof(OwnerReference) + kSharedPointerBlock);
  if (pod.rare_fields != nullptr) bytes += sizeof(PodRare) + 16;
  return bytes;
}

std::uint64_t node_bytes(const Node& node, SharedParts& shared) {
  std::uint64_t bytes = sizeof(Node) + kSharedPointerBlock + heap_bytes(node.name) + heap_bytes(node.taints) +
                        heap_bytes(node.images) + heap_bytes(node.allocatable.scalars);
  for (const auto& [name, amount] : node.allocatable.scalars) bytes += heap_bytes(name);
  for (const NodeImage& image : node.images) {
    std::uint64_t of_names = heap_bytes(image.names.list()) + sizeof(SharedTexts::List) + kSharedPointerBlock;
    for (const std::string& name : image.names) of_names += heap_bytes(name);
    if (!image.names.empty()) shared.image_names.add(&image.names.list(), of_names);
  }
  shared.add_labels(node.labels);
  return bytes;
}

}  // namespace

void fill_usage(const ClusterCache& cache, bool evicted_pods_are_gone, ScheduleResult& result) {
  const auto nodes = cache.nodes_in_order();
  ResourceSums allocatable;
  ResourceSums before;
  ResourceSums placed;
  NodeAmounts node_allocatable(nodes.size(), 2);
  NodeAmounts node_before(nodes.size(), 2);
  for (Eigen::Index row = 0; const NodeInfo* info : nodes) {
    node_allocatable.row(row) = cpu_and_memory(info->node->allocatable);
    node_before.row(row++) = cpu_and_memory(info->requested);
    allocatable.add(info->node->allocatable, 1);
    allocatable.add(std::string(kPods), info->node->allowed_pod_number);
    before.add(info->requested, 1);
    before.add(std::string(kPods), static_cast<std::int64_t>(info->pods.size()));
  }
  NodeAmounts node_after = node_before;
  std::unordered_map<const PodSpec*, std::pair<ResourceAmounts, std::int64_t>> placed_of_spec;
  for (const Placement& placement : result.placements) {
    if (has_status_resources(*placement.pod)) {
      const ResourceAmounts amounts = requested_on_node(*placement.pod);
      placed.add(amounts, 1);
      node_after.row(placement.node.value) += cpu_and_memory(amounts).transpose();
      continue;
    }
    auto [at, is_new] = placed_of_spec.try_emplace(placement.pod->spec.get());
    if (is_new) at->second.first = filter_requests(*placement.pod);
    ++at->second.second;
    node_after.row(placement.node.value) += cpu_and_memory(at->second.first).transpose();
  }
  for (const auto& [spec, amounts] : placed_of_spec) placed.add(amounts.first, amounts.second);
  placed.add(std::string(kPods), static_cast<std::int64_t>(result.placements.size()));
  for (const Eviction& eviction : result.evictions) {
    // A pod that the run placed before it was evicted is not among the placements.
    if (!evicted_pods_are_gone || cache.get_pod(eviction.victim->uid()) == nullptr) continue;
    const ResourceAmounts amounts = requested_on_node(*eviction.victim);
    node_after.row(eviction.node.value) -= cpu_and_memory(amounts).transpose();
    placed.add(amounts, -1);
    placed.add(std::string(kPods), -1);
  }

  const Eigen::Array2d lost = stranded(node_after, node_allocatable);
  const std::map<std::string_view, double> stranded_after = {{kCpu, lost(0)}, {kMemory, lost(1)}};
  for (const std::string& name : allocatable.names()) {
    ResourceUse use{name, allocatable.of(name), before.of(name), saturating_add(before.of(name), placed.of(name)), {}};
    if (const auto at = stranded_after.find(name); at != stranded_after.end())
      use.stranded_after = static_cast<std::int64_t>(std::min(at->second, kAmountMax));
    result.resources.push_back(std::move(use));
  }
  result.node_use_percent_before = use_percent(node_before, node_allocatable);
  result.node_use_percent_after = use_percent(node_after, node_allocatable);
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
  SharedParts shared;
  std::uint64_t bytes = 0;
  for (const PodPtr& pod : objects.pods) bytes += pod_bytes(*pod, shared) + sizeof(PodPtr);
  for (const NodePtr& node : objects.nodes) bytes += node_bytes(*node, shared) + sizeof(NodePtr);
  return bytes + shared.labels.sum() + shared.specs.sum() + shared.owners.sum();
}

}  // namespace berth
