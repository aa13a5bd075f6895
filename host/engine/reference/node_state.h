// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the reference knows of a node: its object and what lies on it, counted here and nowhere else.

#include <cstdint>
#include <memory>
#include <vector>

#include "host/cluster/cache.h"
#include "host/engine/reference/affinity_terms.h"
#include "host/objects/node.h"
#include "host/objects/pod.h"
#include "host/objects/resources.h"

namespace berth::reference {

/// Sums over the pods of a node: docs/behaviour/plugins-node.md 1.4.
struct NodeUsage {
  ResourceAmounts requested;
  std::int64_t non_zero_milli_cpu = 0;
  std::int64_t non_zero_memory_bytes = 0;
  std::vector<HostPort> ports;  ///< a set in no order
};

/// A pod as a node holds it.
struct PodOnNode {
  PodPtr pod;
  std::shared_ptr<const PodTerms> terms;  ///< never null; parsed when the pod comes
};

struct NodeState {
  NodePtr node;
  std::vector<PodOnNode> pods;
  NodeUsage usage;
};

/// Host ports of app containers and sidecars, each once: docs/behaviour/plugins-node.md 9.
std::vector<HostPort> host_ports_of(const PodSpec& spec);

/// Puts `pod` on the node, whether it fits or not.
void add_pod(NodeState& state, const PodPtr& pod);

/// Takes `pod` off the node; its ports are free afterwards, whoever else has them: docs/behaviour/plugins-node.md 9.
/// @throws std::logic_error naming the pod when it is not on the node
void remove_pod(NodeState& state, const Pod& pod);

}  // namespace berth::reference
