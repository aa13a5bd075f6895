// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/generate/random.h"
#include "host/generate/random_parts.h"
#include "host/generate/random_selector.h"
#include "host/objects/cluster_objects.h"
#include "host/objects/object_pools.h"

namespace berth {

/// Draws what PodTopologySpread and InterPodAffinity read, biased to the edges of docs/behaviour/plugins-topology.md.
/// It has a stream of its own, so that a cluster without it is the same as before.
class RandomTopology {
 public:
  RandomTopology(std::uint64_t seed, const RandomClusterOptions& options);

  /// Whether this cluster has any of it; when not, none of the other functions may be called.
  bool is_drawn() const { return is_drawn_; }

  /// Makes what keeps pods from nodes for other reasons rarer, in most clusters: these two plugins come late.
  void calm(RandomMoods& moods) const;
  /// For the same end.
  void enlarge(Node& node) const;

  std::vector<Namespace> namespaces();
  /// Names of namespaces, one without an object among them; the first ones are the most frequent.
  const std::string& pick_namespace();
  /// Redraws the labels that topology keys name.
  /// @param names  of the nodes before this one, and of this one as the last
  void label_node(Node& node, const std::vector<std::string>& names);
  LabelMap pod_labels() { return random_labels(random_, LabelsOf::kPod); }
  /// Whether a pod has other labels than the rest of its shape.
  bool relabels_pod() { return random_.chance(relabelled_); }
  /// Spread constraints and pod affinity.
  /// @param labels  of most pods that will have the spec
  void add_rules(PodSpec& spec, const LabelMap& labels);
  std::vector<Service> services();
  std::vector<Workload> workloads();
  OwnersPtr owners();

 private:
  std::string topology_key();
  TopologySpreadConstraint constraint(const LabelMap& labels);
  void add_constraints(PodSpec& spec, const LabelMap& labels);
  PodAffinityTerm term(const LabelMap& labels);
  void restrict_namespaces(PodAffinityTerm& term);
  PodAffinity affinity(const LabelMap& labels, std::int32_t required_percent);
  OwnerReference owner();

  Random random_;
  bool is_drawn_;
  bool is_calm_ = false;
  // Shares in percent, drawn per cluster.
  SelectorMoods selectors_;
  std::int32_t partial_labels_ = 0;
  std::int32_t spread_ = 0;
  std::int32_t affinity_ = 0;
  std::int32_t anti_affinity_ = 0;
  std::int32_t foreign_namespaces_ = 0;  ///< terms that say where they look
  std::int32_t label_keys_ = 0;
  std::int32_t policies_ = 0;
  std::int32_t selected_by_others_ = 0;  ///< services and workloads
  std::int32_t relabelled_ = 0;
  std::int32_t nominated_ = 0;
  std::int32_t odd_ = 0;  ///< what an API server would refuse and a scheduler takes
};

}  // namespace berth
