// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_volume_limits/counted_volumes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "host/objects/volume_migration.h"
#include "plugins/volume_claims.h"

namespace berth {

Status VolumeCounting::add(const Pod& pod, bool is_new, CountedVolumes& out) const {
  for (const PodVolume& volume : pod.rare().volumes) {
    Attachable found;
    if (volume.disk != nullptr) {
      if (Status status = look_at(*volume.disk, found); !status.ok()) return status;
    } else if (const std::optional<std::string> name = claim_name(pod, volume)) {
      if (name->empty()) return {StatusCode::kError, "", {"PersistentVolumeClaim had no name"}};
      const VolumeClaim* claim = storage_.claim(pod.namespace_, *name);
      if (claim == nullptr && is_new)
        return {StatusCode::kUnschedulableAndUnresolvable,
                "",
                {"looking up PVC " + pod.namespace_ + "/" + *name + ": " + not_found("persistentvolumeclaim", *name)}};
      if (claim == nullptr) continue;
      if (volume.kind == PodVolume::Kind::kEphemeral)
        if (std::optional<std::string> problem = ownership_problem(pod, *claim))
          return {StatusCode::kError, "", {std::move(*problem)}};
      look_at(*claim, claim->volume_name.empty() ? nullptr : storage_.volume(claim->volume_name), found);
    }
    if (found.driver.empty() || found.handle.empty()) continue;
    out.emplace(found.driver + "/" + found.handle, found.driver);
  }
  return {};
}

void VolumeCounting::add(const ClaimCopies& claims, CountedVolumes& out) const {
  for (const ClaimCopy& copy : claims) {
    Attachable found;
    look_at(copy.claim, copy.volume ? &*copy.volume : nullptr, found);
    constexpr std::string_view kOwn = "/\x02";  // begins no handle of a volume
    if (!found.driver.empty()) out.emplace(found.driver + std::string(kOwn) + std::to_string(out.size()), found.driver);
  }
}

/// The in-tree plugin's volumes count as those of its CSI driver.
bool VolumeCounting::is_migrated(std::string_view plugin) const {
  asked_node_ = true;
  const MigratingPlugin* known = node_ != nullptr ? find_migrating_plugin(plugin) : nullptr;
  if (known == nullptr) return false;
  if (!known->asks_node || release_ != Release::k1_35) return known->is_migrated || known->asks_node;
  const std::vector<std::string>& named = node_->migrated_plugins;
  return std::find(named.begin(), named.end(), plugin) != named.end();
}

Status VolumeCounting::look_at(const InlineDisk& disk, Attachable& out) const {
  if (disk.migrated == nullptr || !is_migrated(disk.migrated->plugin)) return {};
  if (!disk.migrated->problem.empty())
    return {StatusCode::kError,
            "",
            {"converting volume(" + disk.volume_name + ") from inline to csi: " + disk.migrated->problem}};
  out = {disk.migrated->driver, disk.migrated->handle};
  return {};
}

/// @param volume  of the claim; null: it has none
void VolumeCounting::look_at(const VolumeClaim& claim, const PersistentVolume* volume, Attachable& out) const {
  if (volume == nullptr) return look_at_class(claim, out);
  if (volume->source.kind == VolumeSource::Kind::kCsi) {
    out = {volume->source.driver, volume->source.id};
  } else if (volume->migrated != nullptr && volume->migrated->problem.empty() &&
             is_migrated(volume->migrated->plugin)) {
    out = {volume->migrated->driver, volume->migrated->handle};
  }
}

/// A claim without a volume counts as one of its own.
void VolumeCounting::look_at_class(const VolumeClaim& claim, Attachable& out) const {
  const StorageClass* storage_class = claim.class_name.empty() ? nullptr : storage_.storage_class(claim.class_name);
  if (storage_class == nullptr) return;
  const MigratingPlugin* plugin = find_migrating_plugin(storage_class->provisioner);
  if (plugin != nullptr && !is_migrated(plugin->plugin)) return;
  constexpr std::string_view kNoHandle = "\x01";  // begins no handle of a volume
  out.driver = plugin != nullptr ? std::string(plugin->driver) : storage_class->provisioner;
  out.handle = std::string(kNoHandle) + claim.full_name();
}

void VolumesOnNode::attach(CountedVolumes attached) {
  attached_ = std::move(attached);
  for (const auto& [name, driver] : attached_) ++count_of(driver);
}

void VolumesOnNode::add(const CountedVolumes& used) {
  for (const auto& [name, driver] : used) {
    if (!used_.emplace(name, driver).second) continue;
    ++count_of(driver);
    if (const auto both = attached_.find(name); both != attached_.end()) --count_of(both->second);
  }
}

std::int64_t& VolumesOnNode::count_of(std::string_view driver) {
  for (auto& [known, count] : counts_)
    if (known == driver) return count;
  return counts_.emplace_back(driver, 0).second;
}

std::int64_t VolumesOnNode::count(std::string_view driver) const {
  for (const auto& [known, count] : counts_)
    if (known == driver) return count;
  return 0;
}

}  // namespace berth
