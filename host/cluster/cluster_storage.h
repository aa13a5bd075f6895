// SPDX-License-Identifier: Apache-2.0
#pragma once

// The storage objects of a cluster, and what placements assume of them until the API server says more:
// docs/behaviour/plugins-storage-devices.md 1.6.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "host/cluster/text_hash.h"
#include "host/objects/volumes.h"

namespace berth {

class UndoSteps;  // undo_steps.h

/// In no order.
template <class T>
using ByName = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;

using StorageObject =
    std::variant<PersistentVolume, VolumeClaim, StorageClass, CsiNode, CsiDriver, CsiStorageCapacity, VolumeAttachment>;
using StorageObjectPtr = std::shared_ptr<const StorageObject>;
/// In the order of the alternatives of StorageObject.
enum class StorageKind : std::uint8_t {
  kVolume,
  kClaim,
  kClass,
  kCsiNode,
  kCsiDriver,
  kCapacity,
  kAttachment,
};
constexpr StorageKind kind_of(const StorageObject& object) { return static_cast<StorageKind>(object.index()); }

/// What is decided about the unbound claims of a pod with its node.
struct VolumeDecisions {
  struct Match {
    std::string claim;   ///< "namespace/name"
    std::string volume;  ///< an existing PersistentVolume
    friend bool operator==(const Match&, const Match&) = default;
  };
  struct Provision {
    std::string claim;       ///< "namespace/name"
    std::string class_name;  ///< whose provisioner makes a volume that the node can reach
    friend bool operator==(const Provision&, const Provision&) = default;
  };
  std::string node_name;
  std::vector<Match> matches;
  std::vector<Provision> provisions;
  friend bool operator==(const VolumeDecisions&, const VolumeDecisions&) = default;
};
/// null: nothing is decided, because all claims of the pod are bound or it has none.
using VolumeDecisionsPtr = std::shared_ptr<const VolumeDecisions>;

/// Which pods the change of a storage object may concern.
struct StorageReach {
  bool is_wide = false;             ///< any
  std::vector<std::string> claims;  ///< the users of these, by "namespace/name"
};

/// Objects by name. A reader sees an object as it is assumed. A newer version of an object from outside ends what was
/// assumed of the older one.
class ClusterStorage {
 public:
  // null: there is no such object
  const PersistentVolume* volume(std::string_view name) const;
  const VolumeClaim* claim(std::string_view name_space, std::string_view name) const;
  const StorageClass* storage_class(std::string_view name) const;
  const CsiNode* csi_node(std::string_view node_name) const;
  const CsiDriver* csi_driver(std::string_view name) const;
  /// By name, for which they are sorted.
  void for_each_volume(const std::function<void(const PersistentVolume&)>& visit) const;
  // By name:
  void for_each_capacity(const std::function<void(const CsiStorageCapacity&)>& visit) const;
  void for_each_attachment(const std::function<void(const VolumeAttachment&)>& visit) const;
  /// Volumes of the class that no claim has, as they are stored; "" for those without a class. By name.
  void for_each_unclaimed(std::string_view class_name, const std::function<void(const PersistentVolume&)>& visit) const;
  bool has_unclaimed(std::string_view class_name) const;
  /// Some volume is for the claim by its claimRef, as it is stored or assumed.
  bool is_reserved(const VolumeClaim& claim) const;
  /// These volumes, each once, as they are assumed. By name.
  void for_each_reserved(const VolumeClaim& claim, const std::function<void(const PersistentVolume&)>& visit) const;
  /// Several volumes have the handle for the driver, those that migrate to it included.
  bool is_shared_handle(std::string_view driver, std::string_view handle) const;
  /// Every object as it is stored, whatever is assumed of it, in no order. @param visit  visit(const T&), for each kind
  /// of object T
  template <class Visit>
  void for_each_stored(Visit visit) const {
    const auto visit_all = [&visit](const auto& table) {
      for (const auto& [key, entry] : table) visit(*entry.stored);
    };
    visit_all(volumes_), visit_all(claims_), visit_all(classes_), visit_all(csi_nodes_), visit_all(csi_drivers_);
    visit_all(capacities_), visit_all(attachments_);
  }

  bool empty() const;
  /// From now on changes are noted in `steps`; null: no longer. As ClusterCache::note_changes_in().
  void note_changes_in(UndoSteps* steps) noexcept { undo_ = steps; }
  void add_all(const StorageObjects& objects);
  void upsert(const StorageObject& object);
  /// Of that upsert(). Call before it.
  StorageReach reach_of(const StorageObject& object) const;
  /// @param name_space  of objects that have none: empty  @return whether it was there
  bool remove(StorageKind kind, std::string_view name_space, std::string_view name);

  /// Of a pod that has none yet.
  void assume(const std::string& uid, VolumeDecisionsPtr decisions);
  /// What was assumed for the pod alone holds no longer.
  void forget(std::string_view uid);
  /// What was assumed for the pod holds until the API server says more.
  void confirm(std::string_view uid);
  /// null: none, or they were confirmed
  VolumeDecisionsPtr decisions_of(std::string_view uid) const;

 private:
  template <class T>
  struct Entry {
    std::shared_ptr<const T> stored;
    std::shared_ptr<const T> assumed;  ///< null: nothing is assumed
    std::size_t holders = 0;           ///< pods for which it is assumed
    std::uint64_t version = 0;         ///< of `stored`
    const T& seen() const { return assumed != nullptr ? *assumed : *stored; }
  };
  template <class T>
  using Table = ByName<Entry<T>>;
  template <class T>
  using SortedTable = std::map<std::string, Entry<T>, std::less<>>;
  /// An object that is held for a pod, in the version that it had.
  struct Held {
    StorageKind kind;
    std::string key;
    std::uint64_t version;
  };
  struct Assumption {
    VolumeDecisionsPtr decisions;
    std::shared_ptr<const std::vector<Held>> held;
  };
  template <class Map>
  class Changed;
  template <class Map>
  typename Map::mapped_type& write(Map& map, std::string_view key);
  template <class Map>
  typename Map::mapped_type& write(Map& map, typename Map::iterator at);
  template <class Map>
  bool erase(Map& map, std::string_view key);
  template <class Change>
  void with_table(StorageKind kind, Change change);
  template <class T>
  static const T* find(const Table<T>& table, std::string_view key);
  using Counts = ByName<std::size_t>;
  using SortedCounts = std::map<std::string, std::size_t, std::less<>>;
  template <class Counted>
  void count(Counted& counts, const std::string& key, bool comes);
  void reserve(const ObjectName& claim, const std::string& volume, bool comes);
  void index(const PersistentVolume& volume, bool comes);
  void index(const VolumeClaim& claim, bool comes);
  void index(const VolumeAttachment& attachment, bool comes);
  template <class T>
  void index(const T& /*object*/, bool /*comes*/) {}
  void index_assumed(const PersistentVolume& volume, bool comes);
  template <class T>
  void index_assumed(const T& /*object*/, bool /*comes*/) {}
  template <class T>
  void end(const Entry<T>& entry);
  template <class T, class Change>
  void hold(Table<T>& table, const std::string& key, Change change, StorageKind kind, std::vector<Held>& held);
  template <class T>
  void let_go(Table<T>& table, const Held& held);

  Table<PersistentVolume> volumes_;
  Table<VolumeClaim> claims_;  ///< by "namespace/name", as capacities
  Table<StorageClass> classes_;
  Table<CsiNode> csi_nodes_;
  Table<CsiDriver> csi_drivers_;
  SortedTable<CsiStorageCapacity> capacities_;
  SortedTable<VolumeAttachment> attachments_;
  // What follows from objects as they are stored, and as they are assumed:
  SortedCounts unclaimed_;                     ///< volumes, by class and name
  ByName<std::vector<std::string>> reserved_;  ///< volumes by claim: stored for it, and once more where assumed
  Counts handles_;                             ///< of volumes, by driver and handle
  Counts shared_handles_;                      ///< those of them that several volumes have: 1
  Counts attached_;                            ///< attachments, by the volume that they name
  SortedCounts naming_;                        ///< claims, by the volume that they name and their own name
  ByName<Assumption> assumptions_;             ///< by uid of the pod
  std::uint64_t version_ = 0;
  UndoSteps* undo_ = nullptr;
};

}  // namespace berth
