// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/engine/cpu/cpu_backend.h"

namespace berth {

/// An engine with warm rows over the cluster of issue "The living engine": 5,000 nodes with 20 labels and 50 images
/// each, a tenth of them with a taint PreferNoSchedule, 30 running pods a node in five priorities. Of the 1,000
/// Deployments, each with a Service, half have the terms of realmix; the others prefer nodes or zones by affinity,
/// tolerate the taint, spread over racks and zones, prefer the racks of namespaces that a selector names, or are
/// StatefulSets, whose pods have labels of their own.
class LoadedEngine {
 public:
  static constexpr int kNodes = 5000;
  static constexpr int kDeployments = 1000;
  static constexpr int kPodsPerNode = 30;
  static constexpr int kNamespaces = 50;
  static constexpr int kImagesPerNode = 50;

  LoadedEngine();

  int any_deployment() { return static_cast<int>(dice() % kDeployments); }
  const NodePtr& any_node() { return nodes[dice() % nodes.size()]; }
  /// @param node  its name; empty: pending
  PodPtr make_pod(int deployment, const std::string& node);
  /// A pod of a Deployment with labels, selector and Service never seen, and two terms about its own pods.
  PodPtr make_new_deployment();
  /// A node that the engine does not know.
  NodePtr make_node(const std::string& name, int number);
  /// Any node with `change` made to it; the next call knows it so.
  NodePtr changed(const std::function<void(Node&)>& change);
  /// Any namespace in another tier: terms of ten Deployments name each of them.
  Namespace relabelled_namespace();
  /// A Service of any namespace that begins to select the ten Deployments, and ends to select ten others.
  struct Relabelled {
    Service service;
    std::vector<int> deployments;
  };
  Relabelled relabelled_service();
  /// One pod of each Deployment, prepared.
  std::vector<PodToPlace> prepare_one_each();
  /// Places a pod of any class, and takes it back.
  void place_one();

  std::mt19937_64 dice{1};
  std::vector<NodePtr> nodes;
  std::vector<PodPtr> running;
  std::unique_ptr<CpuBackend> backend;

 private:
  std::shared_ptr<const PodSpec> spec_of(int deployment);

  SchedulerConfig config_;
  ClusterObjects objects_;
  std::vector<std::shared_ptr<const PodSpec>> specs_;  ///< [deployment]
  std::vector<int> service_selects_;                   ///< [namespace] half of its Deployments; -1: there is no Service
  int made_ = 0;
};

/// A node as an API server sends it, with five conditions.
std::string node_as_json(const Node& node);

}  // namespace berth
