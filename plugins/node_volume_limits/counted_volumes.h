// SPDX-License-Identifier: Apache-2.0
#pragma once

// The volumes of pods as they count against the limits of a node: docs/behaviour/plugins-storage-devices.md 2.3.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cluster_storage.h"
#include "host/config/feature_gates.h"
#include "host/framework/host_plugin.h"
#include "host/framework/status.h"

namespace berth {

/// Driver of each volume, by unique name.
using CountedVolumes = std::map<std::string, std::string, std::less<>>;

/// Finds what volumes count as on one node.
class VolumeCounting {
 public:
  VolumeCounting(const ClusterStorage& storage, const CsiNode* node, Release release)
      : storage_(storage), node_(node), release_(release) {}

  /// What was added would be another on another node.
  bool asked_node() const { return asked_node_; }
  /// @param is_new  the pod to be placed, whose claims have to be there
  /// @return the status that ends the Filter
  Status add(const Pod& pod, bool is_new, CountedVolumes& out) const;
  /// Of claims whose volumes are nobody else's: each counts as one.
  void add(const ClaimCopies& claims, CountedVolumes& out) const;

 private:
  struct Attachable {
    std::string driver;
    std::string handle;
  };
  bool is_migrated(std::string_view plugin) const;
  Status look_at(const InlineDisk& disk, Attachable& out) const;
  void look_at(const VolumeClaim& claim, const PersistentVolume* volume, Attachable& out) const;
  void look_at_class(const VolumeClaim& claim, Attachable& out) const;

  const ClusterStorage& storage_;
  const CsiNode* node_;
  Release release_;
  mutable bool asked_node_ = false;
};

/// How many volumes of each driver are on a node: those of its pods, and those that are attached to it.
class VolumesOnNode {
 public:
  /// Before all others. @param attached  driver by unique name
  void attach(CountedVolumes attached);
  /// Of a pod on the node; volumes that are there already count once.
  void add(const CountedVolumes& used);
  bool uses(std::string_view unique_name) const { return used_.contains(unique_name); }
  std::int64_t count(std::string_view driver) const;

 private:
  std::int64_t& count_of(std::string_view driver);
  CountedVolumes used_;
  CountedVolumes attached_;
  std::vector<std::pair<std::string, std::int64_t>> counts_;  ///< by driver: there are few
};

}  // namespace berth
