// SPDX-License-Identifier: Apache-2.0
#pragma once

// What write_embedding.cpp asks in each of its states, and how upstream is asked the same.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/histories/embedding_calls.h"
#include "tests/histories/embedding_model.h"
#include "tests/histories/history_lines.h"
#include "tests/property/cluster_history.h"

namespace berth::test {

/// What is asked.
struct Place {
  std::string where;
  const berth_snapshot* snapshot = nullptr;  ///< the place, unless it is a fork
  berth_fork* fork = nullptr;
  Model* model = nullptr;
};

/// Each question is a walk, see write_embedding.cpp; those that have nothing to ask about write none.
class Questions {
 public:
  Questions(Dice& dice, const HistoryInput& input, EmbeddingCalls& calls) : dice_(dice), input_(input), calls_(calls) {}

  /// Every pending pod on every node, a few of them on one node, and all in a node set without cordoned nodes.
  nlohmann::json check(const Place& place);
  /// What changes nothing. @param what_if  a fork of the place
  nlohmann::json walks(const Place& place, berth_fork* what_if, const nlohmann::json& checks);
  /// A few pending pods one after another; their fork keeps them. @return null: there are none
  nlohmann::json schedule(berth_fork* fork, Model& model);

  /// A group of pending pods, all or at least a minimum, in one domain; their fork keeps them. @return null: none
  nlohmann::json schedule_group(berth_fork* fork, Model& model);
  /// Copies of a pending pod in the cluster, some of which are given back. @return null: none
  nlohmann::json reserve(Model& model);

  std::vector<PodPtr> pending_pods(const ClusterHistory& history) const;
  /// Upstream's queue has the pod, and a cycle may begin with it.
  bool is_asked(const Pod& pod) const;
  bool has_profile(const Pod& pod) const { return input_.config.find_profile(pod.spec->scheduler_name) != nullptr; }
  static nlohmann::json pending_json(const ClusterHistory& history, const Pod& pod);

 private:
  void explain(const Place& place, nlohmann::json& walks);
  void preempt(const Place& place, const nlohmann::json& checks, nlohmann::json& walks);
  void count_replicas(berth_fork* fork, const ClusterHistory& history, nlohmann::json& walks);
  void check_as_moved(berth_fork* fork, const ClusterHistory& history, nlohmann::json& walks);
  void check_ignoring(berth_fork* fork, const ClusterHistory& history, nlohmann::json& walks);
  void schedule_as_moved(berth_fork* fork, const ClusterHistory& history, nlohmann::json& walks);
  nlohmann::json check_some(berth_fork* fork, const ClusterHistory& history);
  void scale_up(berth_fork* fork, const ClusterHistory& history, nlohmann::json& walks);
  void drain(berth_fork* fork, const ClusterHistory& history, nlohmann::json& walks);
  void replace(berth_fork* fork, const ClusterHistory& history, nlohmann::json& walks);

  ShapeQuestion any_shape(const ClusterHistory& history);
  /// The nodes whose pods are few, each of some profile.
  std::vector<std::string> drainable(const ClusterHistory& history) const;
  DrainQuestion any_drain(berth_fork* fork);
  std::vector<std::string> targets(berth_fork* fork, const DrainQuestion& question, const ClusterHistory& history);
  /// The pod stands on the node from now on, by an attempt that ends its nomination; an empty node: it found none.
  static void attempted(const PodPtr& pod, const std::string& node, Model& model);
  NodeChoice any_nodes(const std::vector<std::string>& names);
  ScheduleChoice any_choice(const std::vector<std::string>& names);
  /// Those of `names` that the choice leaves.
  static std::vector<std::string> left(const std::vector<std::string>& names, const NodeChoice& nodes,
                                       const ClusterHistory& history);
  std::vector<PodPtr> asked_pods(const ClusterHistory& history) const;
  /// Those that some profile takes, with their nodes.
  std::vector<std::pair<PodPtr, std::string>> standing_pods(const ClusterHistory& history) const;

  Dice& dice_;
  const HistoryInput& input_;
  EmbeddingCalls& calls_;
};

}  // namespace berth::test
