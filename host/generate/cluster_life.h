// SPDX-License-Identifier: Apache-2.0
#pragma once

// An endless history of a cluster whose size stays the same while everything in it is replaced: for soaks of an engine.

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "host/cluster/cache.h"
#include "host/cluster/cluster_change.h"
#include "host/objects/cluster_objects.h"

namespace berth {

struct ClusterLifeOptions {
  int nodes = 5000;
  int pods_per_node = 30;
  int deployments = 1000;
  int images_per_node = 50;
  /// After so many events a Deployment comes with labels, a selector, a Service, a namespace and a resource name that
  /// were never seen, and the oldest one goes with its pods.
  int events_per_deployment = 500;
  std::uint64_t seed = 1;
};

/// The terms of a Deployment as clusters mix them: of 100 Deployments 45 prefer that their pods stand apart, 10 require
/// it, 15 spread over zones.
/// @param own  selects the pods of the Deployment
/// @param percentile  0 to 99
void add_topology_terms(const LabelSelector& own, int percentile, PodSpec& spec);

class ClusterLife {
 public:
  explicit ClusterLife(const ClusterLifeOptions& options);

  /// The cluster as it is now. A node that was replaced stands at the end of the node order.
  std::shared_ptr<ClusterCache> cache() const;
  ClusterObjects objects() const;
  /// One new pod of each Deployment, pending.
  std::vector<PodPtr> pod_of_each();

  /// One event. Either `change` has happened, or `to_place` is to be placed.
  struct Event {
    std::vector<ClusterChange> change;  ///< none or one
    PodPtr to_place;
  };
  Event next();
  /// cache() and objects() are ahead of the events so far.
  bool is_behind() const { return !queue_.empty(); }
  /// The pod of the latest event got a node: it is bound with the next event.
  void placed(const PodPtr& pod, const std::string& node_name);

 private:
  struct Deployment {
    int number = 0;
    std::shared_ptr<const PodSpec> spec;
    std::vector<PodPtr> pods;           ///< on nodes
    std::vector<std::string> offering;  ///< nodes that have its resource
  };
  struct NodeInLife {
    NodePtr object;
    NodeUpsert heartbeat;
    explicit NodeInLife(NodePtr node) : object(node), heartbeat(std::move(node)) {}
  };

  std::uint64_t upto(std::uint64_t below) { return dice_() % below; }
  NodePtr make_node();
  Deployment make_deployment();
  PodPtr make_pod(const Deployment& deployment, const std::string& node);
  Namespace namespace_of(const Deployment& deployment) const;
  Service service_of(const Deployment& deployment) const;
  void replace_deployment();
  void replace_node();
  ClusterChange change_node();
  ClusterChange bind_pod();
  ClusterChange remove_pod();
  NodeInLife* find_node(const std::string& name);
  /// @return the upsert that tells of it
  ClusterChange set_node(NodeInLife& node, Node object);

  ClusterLifeOptions options_;
  std::mt19937_64 dice_;
  std::vector<NodeInLife> nodes_;
  std::deque<Deployment> deployments_;  ///< oldest first
  std::deque<ClusterChange> queue_;     ///< what happens next
  int nodes_made_ = 0;
  int deployments_made_ = 0;
  int pods_made_ = 0;
  std::int64_t events_ = 0;
  std::int64_t pods_on_nodes_ = 0;
};

}  // namespace berth
