// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small nodes and pods for the tests of this folder.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/cluster/cache.h"

namespace berth {

inline Quantity units(std::int64_t amount) { return Quantity{static_cast<__int128>(amount) * kNanoPerUnit}; }
inline Quantity millis(std::int64_t amount) { return Quantity{static_cast<__int128>(amount) * kNanoPerMilli}; }

inline NodePtr make_node(const std::string& name, const std::string& zone = "", std::vector<NodeImage> images = {}) {
  Node node;
  node.name = name;
  if (!zone.empty()) node.labels = LabelMap{{"topology.kubernetes.io/zone", zone}};
  node.images = std::move(images);
  return std::make_shared<const Node>(std::move(node));
}

/// One container with these requests; a list is sorted by name.
inline std::shared_ptr<const PodSpec> make_spec(ResourceList requests, std::vector<ContainerPort> ports = {}) {
  PodSpec spec;
  spec.containers.push_back(Container{});
  spec.containers.back().requests = std::move(requests);
  spec.containers.back().ports = std::move(ports);
  return std::make_shared<const PodSpec>(std::move(spec));
}

inline PodPtr make_pod(const std::string& name, const std::string& node_name, std::shared_ptr<const PodSpec> spec) {
  Pod pod;
  pod.name = name;
  pod.stored_uid = "uid-" + name;
  pod.node_name = node_name;
  pod.spec = std::move(spec);
  return std::make_shared<const Pod>(std::move(pod));
}

inline PodPtr make_pod(const std::string& name, const std::string& node_name, std::int64_t milli_cpu = 100) {
  return make_pod(name, node_name, make_spec({{"cpu", millis(milli_cpu)}}));
}

inline std::vector<std::string> names_in_order(const ClusterCache& cache) {
  std::vector<std::string> names;
  for (const NodeInfo* node : cache.nodes_in_order()) names.push_back(node->name);
  return names;
}

inline std::vector<std::string> changed_names(const ClusterCache& cache, std::uint64_t generation) {
  std::vector<std::string> names;
  for (const NodeInfo* node : cache.changed_since(generation)) names.push_back(node->name);
  return names;
}

inline std::vector<std::string> pod_names(const NodeInfo& node) {
  std::vector<std::string> names;
  for (const PodPtr& pod : node.pods) names.push_back(pod->name);
  return names;
}

}  // namespace berth
