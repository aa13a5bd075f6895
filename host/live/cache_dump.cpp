// SPDX-License-Identifier: Apache-2.0
#include "host/live/cache_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/pod_state.h"

namespace berth {
namespace {

constexpr std::size_t kNamesMax = 100;       ///< in one line of the log
constexpr std::size_t kPodsOfNodeMax = 300;  ///< named for each node

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) text += (i == 0 ? "" : " ") + names[i];
  if (names.size() > kNamesMax) text += fmt::format(" and {} more", names.size() - kNamesMax);
  return text;
}

/// Upstream's comparer: missed are those that the watches know and the cache does not.
void compare(std::string_view what, const std::set<std::string>& watched, const std::set<std::string>& cached,
             LiveLog& log) {
  std::vector<std::string> missed;
  std::vector<std::string> redundant;
  std::set_difference(watched.begin(), watched.end(), cached.begin(), cached.end(), std::back_inserter(missed));
  std::set_difference(cached.begin(), cached.end(), watched.begin(), watched.end(), std::back_inserter(redundant));
  if (missed.empty() && redundant.empty()) return;
  log.warning("Cache mismatch",
              {{"of", std::string(what)}, {"missed", joined(missed)}, {"redundant", joined(redundant)}});
}

std::string phase_name(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending:
      return "Pending";
    case PodPhase::kRunning:
      return "Running";
    case PodPhase::kSucceeded:
      return "Succeeded";
    case PodPhase::kFailed:
      return "Failed";
    case PodPhase::kUnknown:
      break;
  }
  return "Unknown";
}

std::string pod_line(const Pod& pod) {
  return fmt::format("name: {}, namespace: {}, uid: {}, phase: {}, nominated node: {}", pod.name, pod.namespace_,
                     pod.uid(), phase_name(pod.phase), pod.rare().nominated_node_name);
}

std::string lines_of(const std::vector<PodPtr>& pods) {
  std::string text;
  for (std::size_t i = 0; i < std::min(pods.size(), kPodsOfNodeMax); ++i)
    text += (i == 0 ? "" : "\n") + pod_line(*pods[i]);
  if (pods.size() > kPodsOfNodeMax) text += fmt::format("\nand {} more", pods.size() - kPodsOfNodeMax);
  return text;
}

void dump_node(const NodeInfo& node, const SchedulingLoop& loop, LiveLog& log) {
  const auto assumed = std::count_if(node.pods.begin(), node.pods.end(),
                                     [&](const PodPtr& pod) { return loop.cache().is_assumed(pod->uid()); });
  log.info("Dump of cached NodeInfo", {{"node", node.node->name},
                                       {"requestedMilliCPU", std::to_string(node.requested.milli_cpu)},
                                       {"requestedMemory", std::to_string(node.requested.memory_bytes)},
                                       {"allocatableMilliCPU", std::to_string(node.node->allocatable.milli_cpu)},
                                       {"allocatableMemory", std::to_string(node.node->allocatable.memory_bytes)},
                                       {"pods", std::to_string(node.pods.size())},
                                       {"assumed", std::to_string(assumed)},
                                       {"scheduled", lines_of(node.pods)},
                                       {"nominated", lines_of(loop.queue().nominated_pods(node.node->name))}});
}

}  // namespace

void dump_cache(const SchedulingLoop& loop, const StoreContents& known, LiveLog& log) {
  log.info("Cache comparer started");
  std::set<std::string> watched_nodes;
  std::set<std::string> watched_pods;
  for (const auto& node : known.of<Node>()) watched_nodes.insert(node->object->name);
  for (const auto& pod : known.of<Pod>()) {
    const bool is_ours = is_assigned(*pod->object) || loop.queue().has_profile(pod->object->spec->scheduler_name);
    if (is_ours) watched_pods.insert(pod->object->uid());
  }
  std::set<std::string> cached_nodes;
  std::set<std::string> cached_pods;
  const std::vector<const NodeInfo*> nodes = loop.cache().nodes();
  for (const NodeInfo* const node : nodes) cached_nodes.insert(node->node->name);
  for (const PodPtr& pod : loop.cache().pods()) cached_pods.insert(pod->uid());
  const SchedulingQueue::PendingPods pending = loop.queue().pending_pods();
  for (const auto* const pods : {&pending.active, &pending.backoff, &pending.unschedulable})
    for (const PodPtr& pod : *pods) cached_pods.insert(pod->uid());
  compare("nodes", watched_nodes, cached_nodes, log);
  compare("pods", watched_pods, cached_pods, log);
  log.info("Cache comparer finished",
           {{"nodes", std::to_string(nodes.size())}, {"pods", std::to_string(cached_pods.size())}});
  for (const NodeInfo* const node : nodes) dump_node(*node, loop, log);
  for (const auto& [name, pods] : {std::pair{"activeQ", &pending.active}, std::pair{"backoffQ", &pending.backoff},
                                   std::pair{"unschedulablePods", &pending.unschedulable}})
    log.info("Dump of scheduling queue",
             {{"queue", name}, {"size", std::to_string(pods->size())}, {"pods", lines_of(*pods)}});
}

}  // namespace berth
