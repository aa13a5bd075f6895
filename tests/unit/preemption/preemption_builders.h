// SPDX-License-Identifier: Apache-2.0
#pragma once

// Nodes, pods and budgets for the tests of this folder.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/objects/cluster_objects.h"

namespace berth {

inline std::shared_ptr<const PodSpec> spec_with_milli_cpu(std::int64_t milli_cpu) {
  PodSpec spec;
  spec.scheduler_name = "default-scheduler";
  spec.containers.push_back(Container{});
  spec.containers.back().requests = {{"cpu", Quantity{static_cast<__int128>(milli_cpu) * 1'000'000}}};
  return std::make_shared<const PodSpec>(std::move(spec));
}

/// @param start_time_us  0: absent
inline std::shared_ptr<Pod> make_pod(const std::string& name, std::int32_t priority, std::int64_t start_time_us = 1,
                                     const std::string& node_name = "n", std::int64_t milli_cpu = 1000) {
  auto pod = std::make_shared<Pod>();
  pod->name = name;
  pod->priority = priority;
  pod->start_time_us = start_time_us;
  pod->node_name = node_name;
  pod->spec = spec_with_milli_cpu(milli_cpu);
  pod->labels = LabelMap{{"app", "x"}};
  return pod;
}

inline NodePtr make_node(const std::string& name, std::int64_t milli_cpu) {
  Node node;
  node.name = name;
  node.allocatable.milli_cpu = milli_cpu;
  node.allocatable.memory_bytes = std::int64_t{8} << 30;
  node.allowed_pod_number = 110;
  return std::make_shared<const Node>(std::move(node));
}

/// Over the pods with app=x.
inline PodDisruptionBudget budget(std::int32_t allowed, std::vector<std::string> disrupted = {}) {
  PodDisruptionBudget budget{"b", "default", LabelSelector{}, allowed, std::move(disrupted)};
  budget.selector->match_labels = LabelMap{{"app", "x"}};
  return budget;
}

}  // namespace berth
