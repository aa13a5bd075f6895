// SPDX-License-Identifier: Apache-2.0
#include "host/kube/watch/watched_resource.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

namespace berth {
namespace {

// Finished pods take no part: the API server leaves them out, and says of a pod that finishes that it is gone.
constexpr std::array kAlways = std::to_array<WatchedResource>({
    {ObjectKind::kPod, "pods", "/api/v1/pods", "v1", "Pod",
     "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"},
    {ObjectKind::kNode, "nodes", "/api/v1/nodes", "v1", "Node"},
    {ObjectKind::kNamespace, "namespaces", "/api/v1/namespaces", "v1", "Namespace"},
});
constexpr std::array kOfPreemption = std::to_array<WatchedResource>({
    {ObjectKind::kPodDisruptionBudget, "poddisruptionbudgets.policy", "/apis/policy/v1/poddisruptionbudgets",
     "policy/v1", "PodDisruptionBudget"},
});
constexpr std::array kOfSpreading = std::to_array<WatchedResource>({
    {ObjectKind::kService, "services", "/api/v1/services", "v1", "Service"},
    {ObjectKind::kWorkload, "replicationcontrollers", "/api/v1/replicationcontrollers", "v1", "ReplicationController"},
    {ObjectKind::kWorkload, "replicasets.apps", "/apis/apps/v1/replicasets", "apps/v1", "ReplicaSet"},
    {ObjectKind::kWorkload, "statefulsets.apps", "/apis/apps/v1/statefulsets", "apps/v1", "StatefulSet"},
});
constexpr std::array kOfVolumes = std::to_array<WatchedResource>({
    {ObjectKind::kPersistentVolume, "persistentvolumes", "/api/v1/persistentvolumes", "v1", "PersistentVolume"},
    {ObjectKind::kPersistentVolumeClaim, "persistentvolumeclaims", "/api/v1/persistentvolumeclaims", "v1",
     "PersistentVolumeClaim"},
    {ObjectKind::kStorageClass, "storageclasses.storage.k8s.io", "/apis/storage.k8s.io/v1/storageclasses",
     "storage.k8s.io/v1", "StorageClass"},
    {ObjectKind::kCsiNode, "csinodes.storage.k8s.io", "/apis/storage.k8s.io/v1/csinodes", "storage.k8s.io/v1",
     "CSINode"},
    {ObjectKind::kCsiDriver, "csidrivers.storage.k8s.io", "/apis/storage.k8s.io/v1/csidrivers", "storage.k8s.io/v1",
     "CSIDriver"},
    {ObjectKind::kCsiStorageCapacity, "csistoragecapacities.storage.k8s.io",
     "/apis/storage.k8s.io/v1/csistoragecapacities", "storage.k8s.io/v1", "CSIStorageCapacity"},
    {ObjectKind::kVolumeAttachment, "volumeattachments.storage.k8s.io", "/apis/storage.k8s.io/v1/volumeattachments",
     "storage.k8s.io/v1", "VolumeAttachment"},
});
constexpr std::array<std::string_view, 4> kVolumePlugins = {"VolumeBinding", "VolumeRestrictions", "VolumeZone",
                                                            "NodeVolumeLimits"};

bool runs_one_of(const SchedulerConfig& config, std::span<const std::string_view> plugins) {
  return std::any_of(config.profiles.begin(), config.profiles.end(), [&](const Profile& profile) {
    const std::vector<std::string> names = profile.plugin_names();
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return std::find(plugins.begin(), plugins.end(), name) != plugins.end();
    });
  });
}

bool runs(const SchedulerConfig& config, std::string_view plugin) { return runs_one_of(config, {&plugin, 1}); }

void append(std::vector<WatchedResource>& resources, std::span<const WatchedResource> more) {
  resources.insert(resources.end(), more.begin(), more.end());
}

}  // namespace

std::vector<WatchedResource> watched_resources(const SchedulerConfig& config) {
  std::vector<WatchedResource> resources(kAlways.begin(), kAlways.end());
  if (runs(config, "DefaultPreemption")) append(resources, kOfPreemption);
  if (runs(config, "PodTopologySpread")) append(resources, kOfSpreading);
  if (runs_one_of(config, kVolumePlugins)) append(resources, kOfVolumes);
  return resources;
}

}  // namespace berth
