// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_claims.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

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

}  // namespace

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
  if (removed.empty()) {
    for (const PodPtr& pod : node.pods) visit(*pod);
  } else {
    for (const Pod* pod : pods_without(node, removed)) visit(*pod);
  }
  for (const Pod* pod : added) visit(*pod);
}

}  // namespace berth
