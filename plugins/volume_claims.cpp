// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_claims.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "host/framework/plugin_calls.h"

namespace berth {
namespace {

void append(std::string& out, std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) {
    const std::uint64_t size = text.size();
    out.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
  }
}

void append_disk(std::string& out, const InlineDisk& disk) {
  const VolumeSource& source = disk.source;
  append(out, {disk.volume_name, source.id, source.pool, source.disk_kind, source.read_only ? "1" : "0"});
  out += static_cast<char>(source.kind);
  for (const std::string& monitor : source.monitors) append(out, {monitor});
  append(out, {""});
}

}  // namespace

std::optional<std::string> claim_name(const Pod& pod, const PodVolume& volume) {
  if (volume.kind == PodVolume::Kind::kClaim) return volume.name;
  if (volume.kind == PodVolume::Kind::kEphemeral) return pod.name + "-" + volume.name;
  return std::nullopt;
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
    append(signature, {volume.name});
    if (volume.disk != nullptr) append_disk(signature, *volume.disk);
    names_pod = names_pod || volume.kind == PodVolume::Kind::kEphemeral;
  }
  if (signature.empty()) return signature;
  append(signature, {pod.namespace_});
  if (names_pod) append(signature, {pod.name, pod.uid()});
  return signature;
}

bool has_volume(const Pod& pod, const std::function<bool(const PodVolume&)>& is_read) {
  const std::vector<PodVolume>& volumes = pod.rare().volumes;
  return std::any_of(volumes.begin(), volumes.end(), is_read);
}

void for_each_pod(const NodeInfo& node, std::span<const Pod* const> added, std::span<const Pod* const> removed,
                  const std::function<void(const Pod&)>& visit) {
  for (const PodPtr& pod : node.pods) {
    const auto is_it = [&](const Pod* gone) { return gone == pod.get() || gone->uid() == pod->uid(); };
    if (std::none_of(removed.begin(), removed.end(), is_it)) visit(*pod);
  }
  for (const Pod* pod : added) visit(*pod);
}

}  // namespace berth
