// SPDX-License-Identifier: Apache-2.0
#pragma once

// A cluster in the form that the reference's rules read, from the text of a scenario.

#include <stdexcept>
#include <string>
#include <vector>

#include "host/cluster/engine_cluster.h"
#include "host/engine/reference/cluster_view.h"
#include "host/engine/reference/node_state.h"
#include "host/engine/reference/request.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth::test {

/// The rules get the first asked pod of the text. Not movable: its parts point at each other.
class AskedCluster {
 public:
  explicit AskedCluster(const std::string& text)
      : scenario_(parse_scenario(text)), cluster_(fill_cache(scenario_.objects), scenario_.objects), nodes_(states()) {}
  AskedCluster(const AskedCluster&) = delete;
  AskedCluster& operator=(const AskedCluster&) = delete;

  const reference::Request& request() const { return request_; }
  const reference::ClusterView& view() const { return view_; }
  const reference::NodeState& node(const std::string& name) const {
    for (const reference::NodeState& state : nodes_) {
      if (state.node->name == name) return state;
    }
    throw std::out_of_range("no node " + name);
  }
  /// A pod of the cluster, on any node.
  const Pod& pod(const std::string& name) const {
    for (const PodPtr& candidate : scenario_.objects.pods) {
      if (candidate->name == name) return *candidate;
    }
    throw std::out_of_range("no pod " + name);
  }
  /// All nodes, treated as feasible.
  std::vector<const reference::NodeState*> feasible() const {
    std::vector<const reference::NodeState*> all;
    for (const reference::NodeState& state : nodes_) all.push_back(&state);
    return all;
  }

 private:
  std::vector<reference::NodeState> states() const {
    std::vector<reference::NodeState> all;
    for (const NodeInfo* info : cluster_.cache().nodes_in_order()) {
      reference::NodeState state;
      state.node = info->node;
      for (const PodPtr& resident : info->pods) reference::add_pod(state, resident);
      all.push_back(std::move(state));
    }
    return all;
  }

  Scenario scenario_;
  EngineCluster cluster_;
  std::vector<reference::NodeState> nodes_;
  reference::ClusterView view_{nodes_,
                               cluster_.cache().images(),
                               cluster_.objects(),
                               scenario_.engine.upstream_bugs,
                               scenario_.engine.host_plugins,
                               cluster_.cache()};
  reference::Request request_ =
      reference::make_request(*scenario_.asked.at(0), scenario_.config.profiles.front(), scenario_.config.gates, view_);
};

}  // namespace berth::test
