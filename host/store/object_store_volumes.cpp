// SPDX-License-Identifier: Apache-2.0
// What becomes of the claims of a pod that is placed: docs/behaviour/plugins-storage-devices.md 1.6.

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/objects/volume_migration.h"
#include "host/store/object_store.h"

namespace berth {
namespace {

ObjectKey claim_key(std::string_view full_name) {
  const std::size_t slash = full_name.find('/');
  return {full_name.substr(0, slash), full_name.substr(slash + 1)};
}

/// The node that a volume is made for, as far as it is known.
struct PlaceOfVolume {
  NodePtr node;                             ///< null: none
  std::shared_ptr<const CsiNode> csi = {};  ///< null: none

  /// Labels that say where volumes of the driver are reached.
  std::vector<std::string> topology_keys(std::string_view driver) const {
    if (csi == nullptr) return {};
    for (const CsiNode::Driver& known : csi->drivers)
      if (known.name == driver) return known.topology_keys;
    return {};
  }
};

/// One term that holds on nodes with the node's labels of these keys.
NodeSelectorTerm segment_of(const Node& node, const std::vector<std::string>& keys) {
  NodeSelectorTerm term;
  for (const std::string& key : keys)
    if (const auto value = node.labels.find(key))
      term.match_expressions.push_back({key, SelectorOperator::kIn, {std::string(*value)}});
  return term;
}

bool holds_on(const StorageClass::TopologyTerm& topology, const Node& node) {
  return std::all_of(topology.expressions.begin(), topology.expressions.end(), [&](const auto& expression) {
    const auto value = node.labels.find(expression.first);
    const std::vector<std::string>& values = expression.second;
    return value && std::find(values.begin(), values.end(), *value) != values.end();
  });
}

/// Where a new volume can be reached; nullopt: everywhere.
std::optional<std::vector<NodeSelectorTerm>> affinity_of(const StorageClass& storage_class, std::string_view driver,
                                                         const PlaceOfVolume& place) {
  if (place.node != nullptr) {
    NodeSelectorTerm segment = segment_of(*place.node, place.topology_keys(driver));
    if (!segment.match_expressions.empty()) return std::vector<NodeSelectorTerm>{std::move(segment)};
  }
  if (storage_class.allowed_topologies.empty()) return std::nullopt;
  std::vector<NodeSelectorTerm> terms;
  for (const StorageClass::TopologyTerm& topology : storage_class.allowed_topologies) {
    if (place.node != nullptr && holds_on(topology, *place.node)) {
      std::vector<std::string> keys;
      keys.reserve(topology.expressions.size());
      for (const auto& [key, values] : topology.expressions) keys.push_back(key);
      return std::vector<NodeSelectorTerm>{segment_of(*place.node, keys)};
    }
    NodeSelectorTerm& term = terms.emplace_back();
    for (const auto& [key, values] : topology.expressions)
      term.match_expressions.push_back({key, SelectorOperator::kIn, values});
  }
  return terms;
}

/// The volume that the provisioner of the class makes for the claim.
PersistentVolume provisioned(const VolumeClaim& claim, const StorageClass& storage_class, const PlaceOfVolume& place) {
  PersistentVolume volume;
  volume.name = "pvc-" + claim.uid;
  if (claim.request) volume.capacity = *claim.request;
  volume.access_modes = claim.access_modes;
  volume.is_block = claim.is_block;
  volume.class_name = claim.class_name;
  volume.attributes_class = claim.attributes_class;
  const MigratingPlugin* const in_tree = find_migrating_plugin(storage_class.provisioner);
  volume.source.kind = VolumeSource::Kind::kCsi;
  volume.source.driver = in_tree != nullptr ? std::string(in_tree->driver) : storage_class.provisioner;
  volume.source.id = volume.name;
  volume.node_affinity = affinity_of(storage_class, volume.source.driver, place);
  return volume;
}

}  // namespace

/// The writes of one call of bind_volumes().
class ObjectStore::VolumeBindings {
 public:
  explicit VolumeBindings(ObjectStore& store) : store_(store), plan_(store.begin()) {}

  StoreStatus add(const VolumeDecisions::Match& match) {
    const StoredPtr<VolumeClaim> claim = take(match.claim);
    if (!status_.is_success() || claim == nullptr) return status_;
    const StoredPtr<PersistentVolume>* const volume = store_.table<PersistentVolume>().find({{}, match.volume});
    if (volume == nullptr) return not_found(names_of(ObjectKind::kPersistentVolume), match.volume);
    const std::optional<ObjectName>& owner = (*volume)->object->claim_ref;
    const ObjectName reference = name_of(*claim->object);
    const bool is_free = !owner || (owner->namespace_ == reference.namespace_ && owner->name == reference.name);
    if (!is_free) return conflict("persistentvolumes", match.volume, "the volume is bound to another claim");
    auto after = std::make_shared<Stored<PersistentVolume>>(**volume);
    auto object = std::make_shared<PersistentVolume>(*(*volume)->object);
    object->claim_ref = reference;
    object->is_available = false;
    after->object = std::move(object);
    plan_.put(*volume, std::move(after));
    bind(claim, match.volume, claim->object->selected_node);
    return {};
  }

  StoreStatus add(const VolumeDecisions::Provision& provision, const std::string& node_name) {
    const StoredPtr<VolumeClaim> claim = take(provision.claim);
    if (!status_.is_success() || claim == nullptr) return status_;
    const StoredPtr<StorageClass>* const found = store_.table<StorageClass>().find({{}, provision.class_name});
    if (found == nullptr) return not_found(names_of(ObjectKind::kStorageClass), provision.class_name);
    const StorageClass& storage_class = *(*found)->object;
    if (store_.failing_provisioners_.contains(storage_class.provisioner))
      return {StoreReason::kInternalError, "provisioning failed for PVC \"" + claim->object->name + "\""};
    PersistentVolume volume = provisioned(*claim->object, storage_class, place(node_name));
    volume.claim_ref = name_of(*claim->object);
    const std::string name = volume.name;
    auto made = std::make_shared<Stored<PersistentVolume>>();
    made->object = std::make_shared<const PersistentVolume>(std::move(volume));
    const KindNames kind = names_of(ObjectKind::kPersistentVolume);
    if (store_.table<PersistentVolume>().find({{}, name}) != nullptr) return already_exists(kind, name);
    store_.prepare(*made, {}, plan_.now_us());
    plan_.put<PersistentVolume>(nullptr, std::move(made));
    bind(claim, name, node_name.empty() ? claim->object->selected_node : node_name);
    return {};
  }

  /// Volumes were written before claims, as PreBind and the PV controller do.
  void commit() {
    for (auto& [before, after] : claims_) plan_.put(before, std::move(after));
    store_.commit(plan_);
  }

 private:
  PlaceOfVolume place(const std::string& node_name) const {
    const StoredPtr<Node>* const node = store_.table<Node>().find({{}, node_name});
    if (node == nullptr) return {};
    const StoredPtr<CsiNode>* const csi = store_.table<CsiNode>().find({{}, node_name});
    return {(*node)->object, csi == nullptr ? nullptr : (*csi)->object};
  }
  static ObjectName name_of(const VolumeClaim& claim) { return {claim.namespace_, claim.name, claim.uid}; }

  /// @return null where the claim is bound by this call already, or cannot be: status_
  StoredPtr<VolumeClaim> take(const std::string& full_name) {
    status_ = {};
    if (!taken_.insert(full_name).second) return nullptr;
    const ObjectKey key = claim_key(full_name);
    const KindNames kind = names_of(ObjectKind::kPersistentVolumeClaim);
    const StoredPtr<VolumeClaim>* const claim = store_.table<VolumeClaim>().find(key);
    if (claim == nullptr) {
      status_ = not_found(kind, key.name);
    } else if ((*claim)->object->is_bound()) {
      status_ = conflict(kind.resource, key.name, "the claim is bound already");
    }
    return claim == nullptr || !status_.is_success() ? nullptr : *claim;
  }

  void bind(const StoredPtr<VolumeClaim>& before, const std::string& volume_name,
            const std::optional<std::string>& node_name) {
    auto after = std::make_shared<Stored<VolumeClaim>>(*before);
    auto object = std::make_shared<VolumeClaim>(*before->object);
    object->volume_name = volume_name;
    object->is_bind_completed = true;
    object->selected_node = node_name;
    after->object = std::move(object);
    claims_.emplace_back(before, std::move(after));
  }

  ObjectStore& store_;
  ChangePlan plan_;
  std::set<std::string> taken_;  ///< claims; a pod may name one twice
  std::vector<std::pair<StoredPtr<VolumeClaim>, std::shared_ptr<Stored<VolumeClaim>>>> claims_;
  StoreStatus status_;
};

void ObjectStore::set_provisioner_fails(const std::string& provisioner, bool fails) {
  const std::lock_guard lock(mutex_);
  if (fails)
    failing_provisioners_.insert(provisioner);
  else
    failing_provisioners_.erase(provisioner);
}

StoreStatus ObjectStore::bind_volumes(const VolumeDecisions& decisions) {
  const std::lock_guard lock(mutex_);
  VolumeBindings bindings(*this);
  for (const VolumeDecisions::Match& match : decisions.matches)
    if (StoreStatus status = bindings.add(match); !status.is_success()) return status;
  for (const VolumeDecisions::Provision& provision : decisions.provisions)
    if (StoreStatus status = bindings.add(provision, decisions.node_name); !status.is_success()) return status;
  bindings.commit();
  return {};
}

}  // namespace berth
