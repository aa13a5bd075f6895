// SPDX-License-Identifier: Apache-2.0
// The parts of random_cluster.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/generate/random.h"
#include "host/generate/random_cluster.h"
#include "host/generate/resource_lists.h"
#include "host/objects/node.h"
#include "host/objects/pod.h"

namespace berth {

/// How often each feature occurs in one cluster, in percent. Drawn per cluster, so that some clusters have a feature
/// often and others never: with fixed rates every pod of a large cluster would meet every obstacle.
struct RandomMoods {
  std::int32_t taints = 0;
  std::int32_t unschedulable = 0;
  std::int32_t odd_labels = 0;
  std::int32_t partial_zones = 0;
  std::int32_t images = 0;
  std::int32_t scalars = 0;
  std::int32_t declared_features = 0;
  std::int32_t scarce_pod_slots = 0;

  std::int32_t init_containers = 0;
  std::int32_t overhead = 0;
  std::int32_t pod_level = 0;
  std::int32_t ports = 0;
  std::int32_t node_selector = 0;
  std::int32_t required_affinity = 0;
  std::int32_t preferred_affinity = 0;
  std::int32_t malformed = 0;
  std::int32_t tolerations = 0;
  std::int32_t priorities = 0;
  std::int32_t nominated = 0;
  std::int32_t terminating = 0;
  std::int32_t overcommit = 0;
  std::int32_t rare = 0;  ///< gates, foreign scheduler names, unknown nodes, in-place resize, volumes
};

RandomMoods draw_moods(Random& random, const RandomClusterOptions& options);

/// A node without a name and without the hostname label.
Node random_node(Random& random, const RandomMoods& moods);

/// @param node_names what matchFields may name
PodSpec random_pod_spec(Random& random, const RandomMoods& moods, const RandomClusterOptions& options,
                        const std::vector<std::string>& node_names);

}  // namespace berth
