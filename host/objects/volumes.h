// SPDX-License-Identifier: Apache-2.0
#pragma once

// Storage objects, with what rules read of them: docs/behaviour/plugins-storage-devices.md 1 and 2.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "host/objects/label_map.h"
#include "host/objects/quantity.h"
#include "host/objects/selectors.h"

namespace berth {

/// Access modes as a set of bits.
enum class AccessMode : std::uint8_t {
  kReadWriteOnce = 1,
  kReadOnlyMany = 2,
  kReadWriteMany = 4,
  kReadWriteOncePod = 8,
};
class AccessModes {
 public:
  constexpr void insert(AccessMode mode) { bits_ |= static_cast<unsigned>(mode); }
  constexpr bool contains(AccessMode mode) const { return (bits_ & static_cast<unsigned>(mode)) != 0; }
  constexpr bool contains_all(AccessModes other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr bool empty() const { return bits_ == 0; }
  /// The values of AccessMode, added.
  constexpr unsigned bits() const { return bits_; }
  friend constexpr bool operator==(AccessModes, AccessModes) = default;

 private:
  unsigned bits_ = 0;
};

/// Where the bytes of a volume are, of a pod's inline volume or of a PersistentVolume.
struct VolumeSource {
  enum class Kind : std::uint8_t {
    kOther,  ///< of a kind that no rule looks at
    kCsi,
    kGcePersistentDisk,
    kAwsElasticBlockStore,
    kAzureDisk,
    kCinder,
    kPortworx,
    kIscsi,
    kRbd,
  };
  Kind kind = Kind::kOther;
  std::string id;      ///< pdName, volumeID, diskURI, volumeHandle, iqn, or the image of an rbd
  std::string driver;  ///< of kCsi
  bool read_only = false;
  std::vector<std::string> monitors;  ///< of kRbd
  std::string pool;                   ///< of kRbd
  std::string disk_kind;              ///< `kind` of an azureDisk; empty: not set
  friend bool operator==(const VolumeSource&, const VolumeSource&) = default;
};

/// What csi-translation-lib makes of a volume of an in-tree plugin, where the plugin has migrated to CSI.
struct MigratedVolume {
  std::string plugin;  ///< in-tree: "kubernetes.io/aws-ebs"
  std::string driver;  ///< "ebs.csi.aws.com"
  std::string handle;
  std::string problem;  ///< non-empty: why it cannot be translated; then there is no handle
  /// Of a PersistentVolume: required node affinity with the driver's topology keys; nullopt: none.
  std::optional<std::vector<NodeSelectorTerm>> node_affinity = {};
  friend bool operator==(const MigratedVolume&, const MigratedVolume&) = default;
};

struct ObjectName {
  std::string namespace_;
  std::string name;
  std::string uid;  ///< may be empty
  friend bool operator==(const ObjectName&, const ObjectName&) = default;
};

struct PersistentVolume {
  std::string name;
  LabelMap labels;
  Quantity capacity;
  AccessModes access_modes;
  bool is_block = false;         ///< volumeMode: Block, else Filesystem
  std::string class_name;        ///< the beta annotation, else storageClassName; empty: none
  std::string attributes_class;  ///< volumeAttributesClassName; empty: none
  std::optional<ObjectName> claim_ref;
  /// nodeAffinity.required; nullopt: every node. Field terms are not looked at.
  std::optional<std::vector<NodeSelectorTerm>> node_affinity;
  bool is_available = false;  ///< status.phase is Available
  bool terminating = false;
  VolumeSource source;
  std::shared_ptr<const MigratedVolume> migrated;  ///< null: the source is not one of an in-tree plugin that migrates

  /// What is migrated follows from the rest.
  friend bool operator==(const PersistentVolume& a, const PersistentVolume& b) {
    const auto parts = [](const PersistentVolume& v) {
      return std::tie(v.name, v.labels, v.capacity, v.access_modes, v.is_block, v.class_name, v.attributes_class,
                      v.claim_ref, v.node_affinity, v.is_available, v.terminating, v.source);
    };
    return parts(a) == parts(b);
  }
};

struct VolumeClaim {
  std::string name;
  std::string namespace_;
  std::string uid;                  ///< may be empty
  std::string volume_name;          ///< of the PersistentVolume that it is or is to be bound to; empty: none
  std::string class_name;           ///< the beta annotation, else storageClassName; empty: none
  std::optional<Quantity> request;  ///< of storage
  AccessModes access_modes;
  bool is_block = false;                     ///< volumeMode: Block, else Filesystem
  std::string attributes_class;              ///< volumeAttributesClassName; empty: none
  std::optional<LabelSelector> selector;     ///< nullopt: every volume
  std::optional<std::string> selected_node;  ///< annotation volume.kubernetes.io/selected-node
  bool is_bind_completed = false;            ///< annotation pv.kubernetes.io/bind-completed is there
  bool is_lost = false;                      ///< status.phase is Lost
  bool terminating = false;
  std::string controller_uid;  ///< of the owner with `controller`; empty: none

  std::string full_name() const { return namespace_ + "/" + name; }
  bool is_bound() const { return !volume_name.empty() && is_bind_completed; }
  friend bool operator==(const VolumeClaim&, const VolumeClaim&) = default;
};

struct StorageClass {
  struct TopologyTerm {
    std::vector<std::pair<std::string, std::vector<std::string>>> expressions;  ///< key, and the values that it allows
    friend bool operator==(const TopologyTerm&, const TopologyTerm&) = default;
  };
  enum class BindingMode : std::uint8_t { kUnset, kImmediate, kWaitForFirstConsumer };
  std::string name;
  std::string provisioner;
  BindingMode binding_mode = BindingMode::kUnset;
  std::vector<TopologyTerm> allowed_topologies;  ///< empty: everywhere
  friend bool operator==(const StorageClass&, const StorageClass&) = default;
};

struct CsiNode {
  struct Driver {
    std::string name;
    std::optional<std::int32_t> limit;            ///< allocatable.count
    std::vector<std::string> topology_keys = {};  ///< labels of nodes that say where the driver's volumes are reached
    friend bool operator==(const Driver&, const Driver&) = default;
  };
  std::string name;  ///< of the node
  std::vector<Driver> drivers;
  std::vector<std::string> migrated_plugins;  ///< annotation storage.alpha.kubernetes.io/migrated-plugins
  friend bool operator==(const CsiNode&, const CsiNode&) = default;
};

struct CsiDriver {
  std::string name;
  bool tracks_capacity = false;    ///< spec.storageCapacity
  bool needs_node_plugin = false;  ///< spec.preventPodSchedulingIfMissing, which v1.36 reads
  friend bool operator==(const CsiDriver&, const CsiDriver&) = default;
};

struct CsiStorageCapacity {
  std::string name;
  std::string namespace_;
  std::string class_name;
  std::optional<LabelSelector> node_topology;  ///< nullopt: no node
  std::optional<Quantity> capacity;
  std::optional<Quantity> volume_size_max;

  /// The largest volume that can be made there; nullptr: unknown.
  const Quantity* limit() const {
    if (volume_size_max) return &*volume_size_max;
    return capacity ? &*capacity : nullptr;
  }
  friend bool operator==(const CsiStorageCapacity&, const CsiStorageCapacity&) = default;
};

struct VolumeAttachment {
  std::string name;
  std::string attacher;
  std::string node_name;
  std::optional<std::string> volume_name;  ///< nullopt: of an inline volume
  friend bool operator==(const VolumeAttachment&, const VolumeAttachment&) = default;
};

/// All storage objects of an input, in its order.
struct StorageObjects {
  std::vector<PersistentVolume> volumes;
  std::vector<VolumeClaim> claims;
  std::vector<StorageClass> classes;
  std::vector<CsiNode> csi_nodes;
  std::vector<CsiDriver> csi_drivers;
  std::vector<CsiStorageCapacity> capacities;
  std::vector<VolumeAttachment> attachments;
};

}  // namespace berth
