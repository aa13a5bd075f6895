// SPDX-License-Identifier: Apache-2.0
#pragma once

// The volumes of a pod's claims on one node: docs/behaviour/plugins-storage-devices.md 1.3 to 1.5.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/cluster/cluster_storage.h"
#include "host/framework/host_plugin.h"
#include "plugins/pod_query.h"

namespace berth {

class FreeVolumes;  // free_volumes.h

/// What a pod's claims find on a node.
struct ClaimsOnNode {
  std::string error;                 ///< non-empty: the attempt ends
  std::vector<std::string> reasons;  ///< why the node is refused; empty: it is accepted, with these:
  /// Claims for whose sake, and the reason of each.
  std::vector<std::pair<const VolumeClaim*, std::string_view>> refused = {};
  std::vector<std::pair<const VolumeClaim*, const PersistentVolume*>> matches = {};
  std::vector<const VolumeClaim*> provisions = {};
  /// [provision] where its capacity is tracked: the object that has enough; else null.
  std::vector<const CsiStorageCapacity*> capacities = {};

  VolumeDecisions decisions(std::string node_name) const;
};

/// What a volume is to a claim that waits, wherever it can be reached: 1.4 without the node.
enum class VolumeFit : std::uint8_t {
  kNone,
  kOwn,   ///< its claimRef is the claim: it is taken, or none is
  kFree,  ///< the smallest such one is taken
};
/// @param selector  of the claim; everything() without one
VolumeFit fit_of(const PersistentVolume& volume, const VolumeClaim& claim, const PodLabelSelector& selector);

/// A provisioner makes the volumes of the class.
bool makes_volumes(const StorageClass& storage_class);

/// The claims of a pod, sorted out once for all nodes. Points into the cluster.
class ClaimSearch {
 public:
  /// @param knows_attributes  the gate VolumeAttributesClass
  ClaimSearch(const HostQuery& query, bool knows_attributes);

  /// Not Success: what PreFilter says. Skip where the pod has no claim.
  const HostPreFilter& pre_filter() const { return pre_filter_; }
  bool has_unbound() const { return !delayed_.empty(); }
  std::vector<const VolumeClaim*> bound() const;                                   ///< in pod order
  std::vector<const VolumeClaim*> delayed() const;                                 ///< likewise
  const std::vector<const VolumeClaim*>& immediate() const { return immediate_; }  ///< for whose sake PreFilter refuses
  ClaimsOnNode on(const Node& node) const;

 private:
  struct Bound {
    const VolumeClaim* claim;
    const PersistentVolume* volume;  ///< null: it does not exist
  };
  /// A claim that waits for its first consumer.
  struct Delayed {
    const VolumeClaim* claim;
    const StorageClass* storage_class;
    std::string problem;  ///< non-empty: looking for a volume is an error
    PodLabelSelector selector;
    // Volumes that suit the claim, whatever their node affinity:
    std::vector<const PersistentVolume*> bound_to_it;  ///< their claimRef is this claim
    std::vector<const PersistentVolume*> free;         ///< smallest first; of a search without FreeVolumes
  };
  bool accepts_claims(const HostQuery& query);
  bool sort_claim(const VolumeClaim& claim);
  std::string problem_of(const VolumeClaim& claim) const;
  void add_volumes(Delayed& delayed) const;
  void check_bound(const Node& node, ClaimsOnNode& found) const;
  bool find_volume(const Delayed& delayed, const Node& node, ClaimsOnNode& found) const;
  /// Which flag of 1.3 a claim that is to be provisioned sets.
  enum class Provisioning : std::uint8_t { kPossible, kNotBound, kNoSpace };
  Provisioning provisioning(const Delayed& delayed, const Node& node, const CsiStorageCapacity*& capacity) const;
  bool tracks_capacity(const Delayed& delayed) const;
  const CsiStorageCapacity* find_capacity(const Delayed& delayed, const Node& node) const;

  const ClusterStorage& storage_;
  FreeVolumes* const known_free_;  ///< null: none are known
  const bool knows_attributes_;
  HostPreFilter pre_filter_;
  std::vector<Bound> bound_;
  std::vector<Delayed> delayed_;  ///< in pod order
  std::vector<const VolumeClaim*> immediate_;
  std::vector<std::size_t> by_request_;  ///< indices of those without a selected node, smallest request first
};

}  // namespace berth
