// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_claims.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "host/framework/plugin_calls.h"

namespace berth {
namespace {

void append_disk(std::string& out, const InlineDisk& disk) {
  const VolumeSource& source = disk.source;
  append_texts(out, {disk.volume_name, source.id, source.pool, source.disk_kind, source.read_only ? "1" : "0"});
  out += static_cast<char>(source.kind);
  for (const std::string& monitor : source.monitors) append_texts(out, {monitor});
  append_texts(out, {""});
}

/// In upstream's order: its dry run removes pods while it goes through the node's list, each time with the last pod
/// moved into the gap.
std::vector<const Pod*> pods_without(const NodeInfo& node, std::span<const Pod* const> removed) {
  std::vector<const Pod*> left;
  left.reserve(node.pods.size());
  for (const PodPtr& pod : node.pods) left.push_back(pod.get());
  for (const PodPtr& pod : node.pods) {
    const auto is_it = [&](const Pod* gone) { return gone == pod.get() || gone->uid() == pod->uid(); };
    if (std::none_of(removed.begin(), removed.end(), is_it)) continue;
    *std::find(left.begin(), left.end(), pod.get()) = left.back();
    left.pop_back();
  }
  return left;
}

/// Another volume, or a disk of a pod, has the same handle.
bool shares_handle(const PersistentVolume& volume, const ClusterStorage& storage, const ClaimUsers& users) {
  const bool is_csi = volume.source.kind == VolumeSource::Kind::kCsi;
  if (!is_csi && volume.migrated == nullptr) return false;
  const std::string& driver = is_csi ? volume.source.driver : volume.migrated->driver;
  const std::string& handle = is_csi ? volume.source.id : volume.migrated->handle;
  return storage.is_shared_handle(driver, handle) || users.has_disk(driver, handle);
}

/// The volume counts by a handle, or it does not count.
bool has_handle(const PersistentVolume& volume) {
  if (volume.source.kind == VolumeSource::Kind::kCsi) return !volume.source.driver.empty() && !volume.source.id.empty();
  return volume.migrated == nullptr || (volume.migrated->problem.empty() && !volume.migrated->handle.empty());
}

bool is_own(OwnClaim& own, const ClusterStorage& storage, const ClaimUsers& users) {
  const VolumeClaim& claim = *own.claim;
  if (claim.is_lost || claim.terminating || claim.access_modes.contains(AccessMode::kReadWriteOncePod) ||
      !users.is_alone(claim.namespace_, claim.name))
    return false;
  if (claim.is_bound()) {
    own.volume = storage.volume(claim.volume_name);
    if (own.volume == nullptr || !own.volume->claim_ref || own.volume->claim_ref->name != claim.name ||
        own.volume->claim_ref->namespace_ != claim.namespace_ || !has_handle(*own.volume))
      return false;
    own.shares_handle = shares_handle(*own.volume, storage, users);
    return true;
  }
  const StorageClass* storage_class = claim.class_name.empty() ? nullptr : storage.storage_class(claim.class_name);
  return storage_class != nullptr && storage_class->binding_mode == StorageClass::BindingMode::kWaitForFirstConsumer &&
         claim.volume_name.empty() && !claim.selected_node && !claim.selector && !storage.is_reserved(claim);
}

}  // namespace

void append_texts(std::string& out, std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) {
    const std::uint64_t size = text.size();
    out.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
  }
}

std::optional<std::string> claim_name(const Pod& pod, const PodVolume& volume) {
  if (volume.kind == PodVolume::Kind::kClaim) return volume.name;
  if (volume.kind == PodVolume::Kind::kEphemeral) return pod.name + "-" + volume.name;
  return std::nullopt;
}

bool names_claim(const Pod& pod, std::string_view claim_name) {
  return has_volume(pod, [&](const PodVolume& volume) {
    return volume.kind == PodVolume::Kind::kClaim && volume.name == claim_name;
  });
}

bool uses_claim(const Pod& pod, const VolumeClaim& claim) {
  return pod.namespace_ == claim.namespace_ &&
         has_volume(pod, [&](const PodVolume& volume) { return claim_name(pod, volume) == claim.name; });
}

std::optional<std::string> ownership_problem(const Pod& pod, const VolumeClaim& claim) {
  if (!claim.controller_uid.empty() && claim.controller_uid == pod.uid()) return std::nullopt;
  return "PVC " + claim.full_name() + " was not created for pod " + pod.full_name() + " (pod is not owner)";
}

std::string not_found(std::string_view resource, std::string_view name) {
  return std::string(resource) + " " + quoted(name) + " not found";
}

std::string volumes_signature(const Pod& pod, const std::function<bool(const PodVolume&)>& is_read) {
  std::string signature;
  bool names_pod = false;
  for (const PodVolume& volume : pod.rare().volumes) {
    if (!is_read(volume)) continue;
    signature += static_cast<char>('0' + static_cast<int>(volume.kind));
    append_texts(signature, {volume.name});
    if (volume.disk != nullptr) append_disk(signature, *volume.disk);
    names_pod = names_pod || volume.kind == PodVolume::Kind::kEphemeral;
  }
  if (signature.empty()) return signature;
  append_texts(signature, {pod.namespace_});
  if (names_pod) append_texts(signature, {pod.name, pod.uid()});
  return signature;
}

std::optional<std::vector<OwnClaim>> own_claims(const Pod& pod, const ClusterStorage& storage,
                                                const ClaimUsers& users) {
  std::vector<OwnClaim> claims;
  for (const PodVolume& volume : pod.rare().volumes) {
    if (volume.disk != nullptr) return std::nullopt;
    const std::optional<std::string> name = claim_name(pod, volume);
    if (!name) continue;
    OwnClaim own{storage.claim(pod.namespace_, *name), nullptr, volume.kind == PodVolume::Kind::kEphemeral, false};
    if (own.claim == nullptr || !is_own(own, storage, users) ||
        (own.is_ephemeral && ownership_problem(pod, *own.claim)) ||
        std::any_of(claims.begin(), claims.end(), [&](const OwnClaim& other) { return other.claim == own.claim; }))
      return std::nullopt;
    claims.push_back(own);
  }
  if (claims.empty()) return std::nullopt;
  return claims;
}

ClaimCopies copies_of(std::span<const OwnClaim> claims) {
  ClaimCopies copies;
  for (const OwnClaim& own : claims) {
    ClaimCopy& copy = copies.emplace_back(*own.claim, std::nullopt, own.is_ephemeral);
    for (std::string* name : {&copy.claim.name, &copy.claim.namespace_, &copy.claim.uid, &copy.claim.controller_uid})
      name->clear();
    if (own.volume == nullptr) continue;
    copy.volume = *own.volume;
    copy.volume->claim_ref = std::nullopt;
  }
  return copies;
}

bool has_volume(const Pod& pod, const std::function<bool(const PodVolume&)>& is_read) {
  const std::vector<PodVolume>& volumes = pod.rare().volumes;
  return std::any_of(volumes.begin(), volumes.end(), is_read);
}

void for_each_pod(const NodeInfo& node, std::span<const Pod* const> added, std::span<const Pod* const> removed,
                  const std::function<void(const Pod&)>& visit) {
  if (removed.empty()) {
    for (const PodPtr& pod : node.pods) visit(*pod);
  } else {
    for (const Pod* pod : pods_without(node, removed)) visit(*pod);
  }
  for (const Pod* pod : added) visit(*pod);
}

}  // namespace berth
