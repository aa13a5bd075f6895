// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/volumes.h"

#include <algorithm>
#include <map>

#include "host/engine/reference/volume_binding.h"
#include "host/objects/volume_migration.h"

namespace berth::reference {
namespace {

constexpr StatusCode kResolvable = StatusCode::kUnschedulable;
constexpr StatusCode kUnresolvable = StatusCode::kUnschedulableAndUnresolvable;

Status refuse(std::string_view plugin, StatusCode code, std::string reason) {
  return Status{code, std::string(plugin), {std::move(reason)}};
}

Status filter_error(const std::string& plugin, const std::string& text) {
  return refuse(plugin, StatusCode::kError, "running \"" + plugin + "\" filter plugin: " + text);
}

std::string missing(std::string_view kind, const std::string& name) {
  return std::string(kind) + " \"" + name + "\" not found";
}

// VolumeRestrictions

bool can_conflict(const PodVolume& volume) {
  if (volume.kind != PodVolume::Kind::kInTreeDisk) return false;
  switch (volume.disk->source.kind) {
    case VolumeSource::Kind::kGcePersistentDisk:
    case VolumeSource::Kind::kAwsElasticBlockStore:
    case VolumeSource::Kind::kIscsi:
    case VolumeSource::Kind::kRbd:
      return true;
    default:
      return false;
  }
}

bool is_same_disk(const VolumeSource& a, const VolumeSource& b) {
  if (a.kind != b.kind) return false;
  const bool both_read = a.read_only && b.read_only;
  if (a.kind == VolumeSource::Kind::kAwsElasticBlockStore) return a.id == b.id;
  if (a.kind != VolumeSource::Kind::kRbd) return a.id == b.id && !both_read;
  for (const std::string& one : a.monitors)
    for (const std::string& other : b.monitors)
      if (one == other) return a.pool == b.pool && a.id == b.id && !both_read;
  return false;
}

Status pre_filter_restrictions(const Request& request, VolumeState& state) {
  bool has_disk = false;
  for (const PodVolume& volume : request.pod->rare().volumes) has_disk = has_disk || can_conflict(volume);
  for (const PodVolume& volume : request.pod->rare().volumes) {
    if (volume.kind != PodVolume::Kind::kClaim) continue;
    const VolumeClaim* claim = storage_of(request).claim(request.pod->namespace_, volume.name);
    if (claim == nullptr)
      return refuse("VolumeRestrictions", kUnresolvable, missing("persistentvolumeclaim", volume.name));
    if (claim->access_modes.contains(AccessMode::kReadWriteOncePod)) state.once_claims.insert(volume.name);
  }
  for (const std::string& name : state.once_claims) {
    bool is_used = false;
    for (const NodeState& node : request.cluster->nodes)
      for (const PodOnNode& other : node.pods)
        for (const PodVolume& volume : other.pod->rare().volumes)
          is_used = is_used || (other.pod->namespace_ == request.pod->namespace_ &&
                                volume.kind == PodVolume::Kind::kClaim && volume.name == name);
    state.once_uses += is_used ? 1 : 0;
  }
  if (!has_disk && state.once_uses == 0) return {StatusCode::kSkip, "", {}};
  return {};
}

Status filter_restrictions(const Request& request, const VolumeState& volumes, const NodeState& state) {
  for (const PodVolume& own : request.pod->rare().volumes) {
    if (!can_conflict(own)) continue;
    for (const PodOnNode& other : state.pods)
      for (const PodVolume& theirs : other.pod->rare().volumes)
        if (can_conflict(theirs) && is_same_disk(own.disk->source, theirs.disk->source))
          return refuse("VolumeRestrictions", kResolvable, "node(s) had no available disk");
  }
  if (volumes.once_uses <= 0) return {};
  return refuse("VolumeRestrictions", kResolvable,
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
                "another pod");
}

// VolumeZone

/// Label of a volume, and the values that it allows a node.
using ZoneLabels = std::vector<std::pair<std::string, std::set<std::string>>>;

std::string without_blanks(std::string text) {
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && is_blank(text.back())) text.pop_back();
  while (!text.empty() && is_blank(text.front())) text.erase(0, 1);
  return text;
}

std::set<std::string> parse_zones(const std::string& label) {
  std::set<std::string> zones;
  std::size_t begin = 0;
  while (begin != std::string::npos) {
    const std::size_t end = label.find("__", begin);
    const std::size_t length = end == std::string::npos ? end : end - begin;
    std::string zone = without_blanks(label.substr(begin, length));
    if (zone.empty()) return {};
    zones.insert(std::move(zone));
    begin = end == std::string::npos ? end : end + 2;
  }
  return zones;
}

const std::vector<std::string>& zone_labels() {
  static const std::vector<std::string> kLabels = {"failure-domain.beta.kubernetes.io/zone",
                                                   "failure-domain.beta.kubernetes.io/region",
                                                   "topology.kubernetes.io/zone", "topology.kubernetes.io/region"};
  return kLabels;
}

Status find_zones(const Request& request, ZoneLabels& found) {
  const auto refused = [](std::string text) { return refuse("VolumeZone", kUnresolvable, std::move(text)); };
  const ClusterStorage& storage = storage_of(request);
  for (const PodVolume& volume : request.pod->rare().volumes) {
    if (volume.kind != PodVolume::Kind::kClaim) continue;
    if (volume.name.empty()) return refused("PersistentVolumeClaim had no name");
    const VolumeClaim* claim = storage.claim(request.pod->namespace_, volume.name);
    if (claim == nullptr) return refused(missing("persistentvolumeclaim", volume.name));
    if (claim->volume_name.empty()) {
      if (claim->class_name.empty()) return refused("PersistentVolumeClaim had no pv name and storageClass name");
      const StorageClass* object = storage.storage_class(claim->class_name);
      if (object == nullptr) return refused(missing("storageclass.storage.k8s.io", claim->class_name));
      if (object->binding_mode == StorageClass::BindingMode::kUnset)
        return refused("VolumeBindingMode not set for StorageClass \"" + claim->class_name + "\"");
      if (object->binding_mode == StorageClass::BindingMode::kImmediate) return refused("PersistentVolume had no name");
      continue;
    }
    const PersistentVolume* bound = storage.volume(claim->volume_name);
    if (bound == nullptr) return refused(missing("persistentvolume", claim->volume_name));
    for (const std::string& label : zone_labels()) {
      const auto value = bound->labels.find(label);
      const std::set<std::string> zones = value ? parse_zones(std::string(*value)) : std::set<std::string>();
      if (!zones.empty()) found.emplace_back(label, zones);
    }
  }
  return {};
}

Status filter_zone(const Request& request, const NodeState& state) {
  ZoneLabels wanted;
  if (Status status = find_zones(request, wanted); !status.ok()) return status;
  const LabelMap& labels = state.node->labels;
  bool lies_somewhere = false;
  for (const std::string& label : zone_labels()) lies_somewhere = lies_somewhere || labels.contains(label);
  if (!lies_somewhere) return {};
  for (const auto& [label, zones] : wanted) {
    auto value = labels.find(label);
    const std::size_t slash = label.find('/');
    if (!value && label.starts_with("failure-domain"))
      value = labels.find("topology.kubernetes.io" + label.substr(slash));
    if (!value || !zones.contains(std::string(*value)))
      return refuse("VolumeZone", kUnresolvable, "node(s) had no available volume zone");
  }
  return {};
}

// NodeVolumeLimits

bool migrates(const CsiNode* node, const std::string& plugin, Release release) {
  if (node == nullptr) return false;
  static const std::set<std::string> kAlways = {"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd",
                                                "kubernetes.io/azure-disk", "kubernetes.io/cinder"};
  if (kAlways.contains(plugin)) return true;
  if (plugin != "kubernetes.io/portworx-volume") return false;
  if (release != Release::k1_35) return true;
  return std::count(node->migrated_plugins.begin(), node->migrated_plugins.end(), plugin) > 0;
}

/// (driver, handle) of a claim as it counts; driver empty: it does not.
std::pair<std::string, std::string> driver_of(const VolumeClaim& claim, const CsiNode* node,
                                              const ClusterStorage& storage, Release release) {
  if (const PersistentVolume* volume = storage.volume(claim.volume_name); volume != nullptr) {
    if (volume->source.kind == VolumeSource::Kind::kCsi) return {volume->source.driver, volume->source.id};
    if (volume->migrated == nullptr || !migrates(node, volume->migrated->plugin, release)) return {};
    return volume->migrated->problem.empty() ? std::pair(volume->migrated->driver, volume->migrated->handle)
                                             : std::pair<std::string, std::string>();
  }
  const StorageClass* object = storage.storage_class(claim.class_name);
  if (claim.class_name.empty() || object == nullptr) return {};
  const std::string handle = "unbound " + claim.full_name();
  if (const MigratingPlugin* plugin = find_migrating_plugin(object->provisioner)) {
    if (!migrates(node, object->provisioner, release)) return {};
    return {std::string(plugin->driver), handle};
  }
  return {object->provisioner, handle};
}

using Attached = std::map<std::pair<std::string, std::string>, std::string>;  ///< driver by (driver, handle)

Status collect(const Pod& pod, bool is_new, const CsiNode* node, const ClusterStorage& storage, Release release,
               Attached& out) {
  const std::string plugin = "NodeVolumeLimits";
  for (const PodVolume& volume : pod.rare().volumes) {
    if (volume.kind == PodVolume::Kind::kCsiInline) continue;
    if (volume.kind == PodVolume::Kind::kInTreeDisk) {
      const auto& migrated = volume.disk->migrated;
      if (migrated == nullptr || !migrates(node, migrated->plugin, release)) continue;
      if (!migrated->problem.empty())
        return filter_error(
            plugin, "converting volume(" + volume.disk->volume_name + ") from inline to csi: " + migrated->problem);
      out[{migrated->driver, migrated->handle}] = migrated->driver;
      continue;
    }
    const bool is_ephemeral = volume.kind == PodVolume::Kind::kEphemeral;
    const std::string name = is_ephemeral ? pod.name + "-" + volume.name : volume.name;
    if (name.empty()) return filter_error(plugin, "PersistentVolumeClaim had no name");
    const VolumeClaim* claim = storage.claim(pod.namespace_, name);
    if (claim == nullptr && is_new)
      return refuse(plugin, kUnresolvable,
                    "looking up PVC " + pod.namespace_ + "/" + name + ": " + missing("persistentvolumeclaim", name));
    if (claim == nullptr) continue;
    if (is_ephemeral && claim->controller_uid != pod.uid()) return filter_error(plugin, not_owner(pod, *claim));
    const auto found = driver_of(*claim, node, storage, release);
    if (!found.first.empty() && !found.second.empty()) out[found] = found.first;
  }
  return {};
}

/// With the gate VolumeLimitScaling; v1.36 asks the driver whether it matters.
bool lacks_driver(const std::string& driver, const CsiNode* node, const ClusterStorage& storage, Release release) {
  const CsiDriver* object = storage.csi_driver(driver);
  if (object == nullptr || (release == Release::k1_36 && !object->needs_node_plugin)) return false;
  if (node == nullptr) return true;
  for (const CsiNode::Driver& there : node->drivers)
    if (there.name == driver) return false;
  return true;
}

Status filter_limits(const Request& request, const NodeState& state) {
  const ClusterStorage& storage = storage_of(request);
  const CsiNode* node = storage.csi_node(state.node->name);
  const Release release = request.gates->release();
  Attached wanted;
  if (Status status = collect(*request.pod, true, node, storage, release, wanted); !status.ok()) return status;
  std::map<std::string, std::int64_t> limits;
  if (node != nullptr)
    for (const CsiNode::Driver& driver : node->drivers)
      if (driver.limit) limits[driver.name] = *driver.limit;
  if (wanted.empty()) return {};
  if (request.gates->enabled("VolumeLimitScaling"))
    for (const auto& [name, driver] : wanted)
      if (lacks_driver(driver, node, storage, release))
        return refuse("NodeVolumeLimits", kResolvable, driver + " CSI driver is not installed on the node");
  if (limits.empty()) return {};
  Attached used;
  for (const PodOnNode& other : state.pods)
    if (Status status = collect(*other.pod, false, node, storage, release, used); !status.ok()) return status;
  std::map<std::string, std::int64_t> counts;
  for (const auto& [name, driver] : used) ++counts[driver];
  std::set<std::pair<std::string, std::string>> attached;
  storage.for_each_attachment([&](const VolumeAttachment& attachment) {
    if (attachment.node_name != state.node->name || attachment.attacher.empty() || !attachment.volume_name) return;
    const PersistentVolume* volume = storage.volume(*attachment.volume_name);
    if (volume != nullptr && volume->source.kind == VolumeSource::Kind::kCsi)
      attached.emplace(attachment.attacher, volume->source.id);
  });
  for (const auto& name : attached)
    if (!used.contains(name)) ++counts[name.first];
  std::map<std::string, std::int64_t> added;
  for (const auto& [name, driver] : wanted)
    if (!used.contains(name)) ++added[driver];
  for (const auto& [driver, count] : added)
    if (limits.contains(driver) && counts[driver] + count > limits[driver])
      return refuse("NodeVolumeLimits", kResolvable, "node(s) exceed max volume count");
  return {};
}

bool may_attach(const PodVolume& volume) {
  if (volume.kind == PodVolume::Kind::kInTreeDisk) return volume.disk->migrated != nullptr;
  return volume.kind != PodVolume::Kind::kCsiInline;
}

}  // namespace

bool is_volume_plugin(std::string_view plugin) {
  return plugin == "VolumeBinding" || plugin == "VolumeRestrictions" || plugin == "VolumeZone" ||
         plugin == "NodeVolumeLimits";
}

Status pre_filter_volumes(std::string_view plugin, const Request& request, VolumeState& state) {
  if (plugin == "VolumeRestrictions") return pre_filter_restrictions(request, state);
  if (plugin == "VolumeBinding") return pre_filter_binding(request);
  const std::vector<PodVolume>& volumes = request.pod->rare().volumes;
  if (plugin == "NodeVolumeLimits")
    return std::any_of(volumes.begin(), volumes.end(), may_attach) ? Status{} : Status{StatusCode::kSkip, "", {}};
  ZoneLabels zones;
  Status status = find_zones(request, zones);
  return status.ok() && zones.empty() ? Status{StatusCode::kSkip, "", {}} : status;
}

Status filter_volumes(std::string_view plugin, const Request& request, const VolumeState& volumes,
                      const NodeState& state) {
  if (plugin == "VolumeRestrictions") return filter_restrictions(request, volumes, state);
  if (plugin == "VolumeZone") return filter_zone(request, state);
  if (plugin == "NodeVolumeLimits") return filter_limits(request, state);
  return filter_binding(request, *state.node);
}

void update(VolumeState& state, const Pod& other, std::int64_t sign) {
  for (const PodVolume& volume : other.rare().volumes)
    if (volume.kind == PodVolume::Kind::kClaim && state.once_claims.contains(volume.name)) state.once_uses += sign;
}

}  // namespace berth::reference
