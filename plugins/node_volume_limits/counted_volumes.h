// SPDX-License-Identifier: Apache-2.0
#pragma once

// The volumes of pods as they count against the limits of a node: docs/behaviour/plugins-storage-devices.md 2.3.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/cluster/cluster_storage.h"
#include "host/config/feature_gates.h"
#include "host/framework/host_plugin.h"
#include "host/framework/status.h"

namespace berth {

/// Driver of each volume, by unique name.
using CountedVolumes = std::map<std::string, std::string, std::less<>>;
/// Number of volumes of each driver: there are few.
using DriverCounts = std::vector<std::pair<std::string, std::int64_t>>;
std::int64_t& count_of(std::string_view driver, DriverCounts& counts);

/// Finds what volumes count as on one node.
class VolumeCounting {
 public:
  VolumeCounting(const ClusterStorage& storage, const CsiNode* node, Release release)
      : storage_(storage), node_(node), release_(release) {}

  /// What was added would be another on another node.
  bool asked_node() const { return asked_node_; }
  /// Calls visit(unique name, driver) for each volume that counts, both valid during the call; one may come twice.
  /// @param is_new  the pod to be placed, whose claims have to be there
  /// @return the status that ends the Filter
  template <class Visit>
  Status for_each(const Pod& pod, bool is_new, Visit visit) const {
    std::string name;
    for (const PodVolume& volume : pod.rare().volumes) {
      Attachable found;
      if (Status status = look_at(pod, volume, is_new, found); !status.ok()) return status;
      if (found.driver.empty() || found.handle.empty()) continue;
      name.assign(found.driver).append("/").append(found.handle);
      visit(std::string_view(name), found.driver);
    }
    return {};
  }
  Status add(const Pod& pod, bool is_new, CountedVolumes& out) const;
  /// Of claims whose volumes are nobody else's: each counts as one.
  void add(const ClaimCopies& claims, DriverCounts& out) const;

 private:
  struct Attachable {
    std::string_view driver;
    std::string handle;
  };
  bool is_migrated(std::string_view plugin) const;
  Status look_at(const Pod& pod, const PodVolume& volume, bool is_new, Attachable& out) const;
  Status look_at(const InlineDisk& disk, Attachable& out) const;
  void look_at(const VolumeClaim& claim, const PersistentVolume* volume, Attachable& out) const;
  void look_at_class(const VolumeClaim& claim, Attachable& out) const;

  const ClusterStorage& storage_;
  const CsiNode* node_;
  Release release_;
  mutable bool asked_node_ = false;
};

/// The volumes on a node: those of its pods, and those that are attached to it.
class VolumesOnNode {
  struct Use {
    std::uint32_t driver;   ///< position in counts_
    std::int32_t pods = 0;  ///< that use it, each as often as it names it
  };

 public:
  /// A volume of a pod, valid until it is taken away.
  using Used = ByName<Use>::value_type*;

  /// Before all others. @param attached  driver by unique name
  void attach(CountedVolumes attached);
  /// Of a pod on the node; a volume that is there already counts once.
  Used add(std::string_view unique_name, std::string_view driver);
  void remove(Used used);
  bool uses(std::string_view unique_name) const { return used_.contains(unique_name); }
  /// How many volumes of the driver there are. @param added  volumes of more pods
  std::int64_t count(std::string_view driver, const CountedVolumes& added) const;

 private:
  ByName<Use> used_;
  CountedVolumes attached_;
  DriverCounts counts_;
};

}  // namespace berth
