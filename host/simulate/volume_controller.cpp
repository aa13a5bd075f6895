// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/volume_controller.h"

#include <memory>
#include <stdexcept>
#include <vector>

#include "host/cluster/cluster_storage.h"
#include "plugins/pod_query.h"
#include "plugins/volume_binding/claim_search.h"

namespace berth {
namespace {

bool is_of(const PersistentVolume& volume, const VolumeClaim& claim) {
  return !volume.claim_ref ||
         (volume.claim_ref->name == claim.name && volume.claim_ref->namespace_ == claim.namespace_);
}

}  // namespace

VolumeController::VolumeController(ObjectStore& store) : store_(store) {
  const KindSet kinds = KindSet()
                            .with(ObjectKind::kPersistentVolumeClaim)
                            .with(ObjectKind::kPersistentVolume)
                            .with(ObjectKind::kStorageClass);
  WatchStart start = store_.watch(store_.resource_version(), kinds);
  if (!start.status.is_success()) throw std::logic_error("watching volumes: " + start.status.message);
  watch_ = std::move(start.watch);
  look_at_all();
}

void VolumeController::run() {
  read_events();
  if (!is_due_) return;
  is_due_ = false;
  const std::set<Name> open = open_;
  for (const Name& name : open) {
    const StoredPtr<VolumeClaim> claim = store_.get<VolumeClaim>({name.first, name.second});
    if (claim != nullptr) bind(*claim->object);
  }
}

void VolumeController::read_events() {
  const WatchBatch batch = watch_.poll();
  if (!batch.status.is_success()) throw std::logic_error("reading volumes: " + batch.status.message);
  bool has_class_changed = false;
  for (const WatchEvent& event : batch.events) {
    has_class_changed = has_class_changed || event.kind() == ObjectKind::kStorageClass;
    if (const auto* change = event.get<VolumeClaim>()) {
      if (change->after == nullptr) open_.erase({change->before->object->namespace_, change->before->object->name});
      if (change->after != nullptr) look_at(*change->after->object);
    }
  }
  if (has_class_changed) look_at_all();
  is_due_ = is_due_ || (!batch.events.empty() && !open_.empty());
}

void VolumeController::look_at(const VolumeClaim& claim) {
  const Name name{claim.namespace_, claim.name};
  if (binds_at_once(claim))
    open_.insert(name);
  else
    open_.erase(name);
}

void VolumeController::look_at_all() {
  for (const StoredPtr<VolumeClaim>& claim : store_.list<VolumeClaim>().items) look_at(*claim->object);
}

bool VolumeController::binds_at_once(const VolumeClaim& claim) const {
  if (claim.is_bound() || claim.is_lost || claim.terminating) return false;
  if (!claim.volume_name.empty() || claim.class_name.empty()) return true;
  const StoredPtr<StorageClass> storage_class = store_.get<StorageClass>({{}, claim.class_name});
  return storage_class == nullptr ||
         storage_class->object->binding_mode != StorageClass::BindingMode::kWaitForFirstConsumer;
}

/// @return empty: none suits
std::string VolumeController::volume_for(const VolumeClaim& claim) const {
  if (!claim.volume_name.empty()) {
    const StoredPtr<PersistentVolume> named = store_.get<PersistentVolume>({{}, claim.volume_name});
    return named != nullptr && is_of(*named->object, claim) ? claim.volume_name : std::string();
  }
  const PodLabelSelector selector = claim.selector ? PodLabelSelector(claim.selector) : PodLabelSelector::everything();
  std::shared_ptr<const PersistentVolume> smallest;
  for (const StoredPtr<PersistentVolume>& stored : store_.list<PersistentVolume>().items) {
    const std::shared_ptr<const PersistentVolume>& volume = stored->object;
    const VolumeFit fit = fit_of(*volume, claim, selector);
    if (fit == VolumeFit::kOwn) return volume->name;
    if (fit == VolumeFit::kFree && (smallest == nullptr || volume->capacity < smallest->capacity)) smallest = volume;
  }
  return smallest == nullptr ? std::string() : smallest->name;
}

void VolumeController::bind(const VolumeClaim& claim) {
  VolumeDecisions decisions;
  if (std::string volume = volume_for(claim); !volume.empty()) {
    decisions.matches.push_back({claim.full_name(), std::move(volume)});
  } else {
    const StoredPtr<StorageClass> storage_class = store_.get<StorageClass>({{}, claim.class_name});
    if (!claim.volume_name.empty() || storage_class == nullptr) return;
    if (!makes_volumes(*storage_class->object)) return;
    decisions.provisions.push_back({claim.full_name(), claim.class_name});
  }
  // Where the store refuses, the claim stays open.
  static_cast<void>(store_.bind_volumes(decisions));
}

}  // namespace berth
