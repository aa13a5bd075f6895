// SPDX-License-Identifier: Apache-2.0
#pragma once

// Volumes that a claim may still take, by where they can be reached: docs/behaviour/plugins-storage-devices.md 1.4.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cluster_storage.h"
#include "host/framework/host_plugin.h"
#include "plugins/pod_query.h"

namespace berth {

/// The volumes without a claim of a cluster whose storage objects stay, but for what placements assume of them. A class
/// is read when it is first asked for.
class FreeVolumes : public HostMemory {
 public:
  using IsTaken = std::function<bool(const PersistentVolume*)>;

  /// Volumes that a claim has are none of these.
  void forget(const NodeInfo& /*node*/) override {}
  void note_nodes() override { nodes_.clear(); }
  std::vector<std::string> take(const VolumeDecisions& decisions, const ClusterCache& cluster,
                                bool with_others) override;

  /// The volume that the claim takes on the node. @param selector  of the claim; everything() without one
  /// @param is_taken  by another claim of the pod  @return null: none
  const PersistentVolume* smallest(const VolumeClaim& claim, const PodLabelSelector& selector, const Node& node,
                                   const ClusterStorage& storage, const IsTaken& is_taken);

 private:
  /// Volumes of one node affinity.
  struct Group {
    std::optional<std::vector<NodeSelectorTerm>> affinity;
    std::vector<const PersistentVolume*> volumes;  ///< by capacity, then by name
  };
  struct OfClass {
    std::vector<Group> groups;
    std::map<std::string, std::size_t> group_of_affinity;
    /// By a label and its value, without which no node reaches the group.
    std::map<std::string, ByName<std::vector<std::size_t>>> by_label;
    std::vector<std::size_t> others;  ///< groups for which there is no such label
  };
  OfClass& of_class(const std::string& class_name, const ClusterStorage& storage);
  static void add(const PersistentVolume& volume, OfClass& to);
  std::vector<std::string> nodes_of(const Group& group, const ClusterCache& cluster);

  ByName<OfClass> classes_;
  /// Names of nodes, by a label and its value.
  std::map<std::string, ByName<std::vector<std::string>>> nodes_;
};

}  // namespace berth
