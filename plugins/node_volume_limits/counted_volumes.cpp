// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_volume_limits/counted_volumes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "host/objects/volume_migration.h"
#include "plugins/volume_claims.h"

namespace berth {

std::int64_t& count_of(std::string_view driver, DriverCounts& counts) {
  for (auto& [known, count] : counts)
    if (known == driver) return count;
  return counts.emplace_back(driver, 0).second;
}

Status VolumeCounting::look_at(const Pod& pod, const PodVolume& volume, bool is_new, Attachable& out) const {
  if (volume.disk != nullptr) return look_at(*volume.disk, out);
  const std::optional<std::string> name = claim_name(pod, volume);
  if (!name) return {};
  if (name->empty()) return {StatusCode::kError, "", {"PersistentVolumeClaim had no name"}};
  const VolumeClaim* claim = storage_.claim(pod.namespace_, *name);
  if (claim == nullptr && is_new)
    return {StatusCode::kUnschedulableAndUnresolvable,
            "",
            {"looking up PVC " + pod.namespace_ + "/" + *name + ": " + not_found("persistentvolumeclaim", *name)}};
  if (claim == nullptr) return {};
  if (volume.kind == PodVolume::Kind::kEphemeral)
    if (std::optional<std::string> problem = ownership_problem(pod, *claim))
      return {StatusCode::kError, "", {std::move(*problem)}};
  look_at(*claim, claim->volume_name.empty() ? nullptr : storage_.volume(claim->volume_name), out);
  return {};
}

Status VolumeCounting::add(const Pod& pod, bool is_new, CountedVolumes& out) const {
  return for_each(pod, is_new, [&](std::string_view name, std::string_view driver) { out.emplace(name, driver); });
}

void VolumeCounting::add(const ClaimCopies& claims, DriverCounts& out) const {
  for (const ClaimCopy& copy : claims) {
    Attachable found;
    look_at(copy.claim, copy.volume ? &*copy.volume : nullptr, found);
    if (!found.driver.empty()) ++count_of(found.driver, out);
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
  out.driver = plugin != nullptr ? plugin->driver : std::string_view(storage_class->provisioner);
  out.handle = std::string(kNoHandle) + claim.full_name();
}

void VolumesOnNode::attach(CountedVolumes attached) {
  attached_ = std::move(attached);
  for (const auto& [name, driver] : attached_) ++count_of(driver, counts_);
}

VolumesOnNode::Used VolumesOnNode::add(std::string_view unique_name, std::string_view driver) {
  if (const auto known = used_.find(unique_name); known != used_.end()) {
    ++known->second.pods;
    return &*known;
  }
  std::int64_t& count = count_of(driver, counts_);
  const auto at = static_cast<std::size_t>(
      std::find_if(counts_.begin(), counts_.end(), [&](const auto& known) { return &known.second == &count; }) -
      counts_.begin());
  const Used added = &*used_.emplace(unique_name, Use{static_cast<std::uint32_t>(at), 1}).first;
  ++count;
  if (const auto both = attached_.find(unique_name); both != attached_.end()) --count_of(both->second, counts_);
  return added;
}

void VolumesOnNode::remove(Used used) {
  if (--used->second.pods > 0) return;
  --counts_[used->second.driver].second;
  if (const auto both = attached_.find(used->first); both != attached_.end()) ++count_of(both->second, counts_);
  used_.erase(used_.find(used->first));
}

std::int64_t VolumesOnNode::count(std::string_view driver, const CountedVolumes& added) const {
  std::int64_t count = 0;
  for (const auto& [known, number] : counts_)
    if (known == driver) count = number;
  for (const auto& [name, of_driver] : added) {
    if (uses(name)) continue;
    const auto both = attached_.find(name);
    count += (of_driver == driver ? 1 : 0) - (both != attached_.end() && both->second == driver ? 1 : 0);
  }
  return count;
}

}  // namespace berth
