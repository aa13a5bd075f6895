// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small clusters for the tests of this folder.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "host/cluster/cache.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"

namespace berth {

inline NodePtr make_node(const std::string& name, const std::function<void(Node&)>& change = {}) {
  Node node;
  node.name = name;
  node.allocatable.milli_cpu = 4000;
  node.allocatable.memory_bytes = std::int64_t{8} << 30;
  node.allowed_pod_number = 110;
  if (change) change(node);
  return std::make_shared<const Node>(std::move(node));
}

/// A pod of one container that requests `milli_cpu`; on `node` when that is not empty.
inline PodPtr make_pod(const std::string& name, std::int64_t milli_cpu, const std::string& node = "",
                       const std::function<void(PodSpec&)>& change = {}) {
  PodSpec spec;
  Container container;
  container.requests = {{"cpu", *Quantity::parse(std::to_string(milli_cpu) + "m")}};
  spec.containers.push_back(container);
  if (change) change(spec);
  Pod pod;
  pod.name = name;
  pod.spec = std::make_shared<const PodSpec>(std::move(spec));
  pod.node_name = node;
  return std::make_shared<const Pod>(std::move(pod));
}

/// A profile that filters with every node-level plugin.
inline Profile make_profile() {
  Profile profile;
  for (const char* plugin :
       {"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"}) {
    profile.plugins[static_cast<std::size_t>(ExtensionPoint::kFilter)].push_back({plugin, 0});
  }
  return profile;
}

/// Those nodes, and the pods on them.
inline ClusterCache make_cluster(const ClusterObjects& objects) {
  ClusterCache cluster;
  for (const NodePtr& node : objects.nodes) cluster.add_node(node);
  for (const PodPtr& pod : objects.pods) cluster.add_pod(pod);
  return cluster;
}

}  // namespace berth
