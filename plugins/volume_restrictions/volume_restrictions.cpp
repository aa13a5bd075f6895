// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_restrictions/volume_restrictions.h"

#include <algorithm>
#include <set>

#include "plugins/volume_claims.h"

namespace berth {
namespace {

using Kind = VolumeSource::Kind;
using Pods = std::span<const Pod* const>;
using ClaimNames = std::set<std::string, std::less<>>;

bool is_exclusive_disk(const PodVolume& volume) {
  if (volume.disk == nullptr) return false;
  const Kind kind = volume.disk->source.kind;
  return kind == Kind::kGcePersistentDisk || kind == Kind::kAwsElasticBlockStore || kind == Kind::kIscsi ||
         kind == Kind::kRbd;
}

bool is_restricted(const PodVolume& volume) {
  return volume.kind == PodVolume::Kind::kClaim || is_exclusive_disk(volume);
}

bool share_monitor(const VolumeSource& a, const VolumeSource& b) {
  return std::any_of(a.monitors.begin(), a.monitors.end(), [&](const std::string& monitor) {
    return std::find(b.monitors.begin(), b.monitors.end(), monitor) != b.monitors.end();
  });
}

bool conflict(const VolumeSource& a, const VolumeSource& b) {
  if (a.kind != b.kind || a.id != b.id) return false;
  if (a.kind == Kind::kAwsElasticBlockStore) return true;
  if (a.kind == Kind::kRbd && (a.pool != b.pool || !share_monitor(a, b))) return false;
  return !(a.read_only && b.read_only);
}

constexpr const char* kDiskConflict = "node(s) had no available disk";

/// What PreFilter finds out.
struct RestrictionState {
  HostPreFilter answer;
  ClaimNames once;          ///< names of the pod's claims with ReadWriteOncePod
  std::int64_t in_use = 0;  ///< how many of them some pod of the cluster uses
  bool has_disks = false;
  /// Upstream's PreFilter skips: the plugin is not asked any more, whatever pods are added.
  bool is_idle() const { return !has_disks && in_use == 0; }
};

/// Of those among `names` that the pod uses, each as often as it uses it.
std::int64_t uses_of(const Pod& pod, const ClaimNames& names) {
  const std::vector<PodVolume>& volumes = pod.rare().volumes;
  return std::count_if(volumes.begin(), volumes.end(), [&](const PodVolume& volume) {
    return volume.kind == PodVolume::Kind::kClaim && names.contains(volume.name);
  });
}

std::int64_t count_in_use(const HostQuery& query, const ClaimNames& names) {
  ClaimNames used;
  for (const NodeInfo* node : query.cluster.nodes())
    for (const PodPtr& pod : node->pods) {
      if (pod->rare_fields == nullptr || pod->namespace_ != query.pod.namespace_) continue;
      for (const PodVolume& volume : pod->rare().volumes)
        if (volume.kind == PodVolume::Kind::kClaim && names.contains(volume.name)) used.insert(volume.name);
    }
  return static_cast<std::int64_t>(used.size());
}

RestrictionState find_restrictions(const HostQuery& query) {
  RestrictionState state;
  for (const PodVolume& volume : query.pod.rare().volumes) {
    state.has_disks = state.has_disks || is_exclusive_disk(volume);
    if (volume.kind != PodVolume::Kind::kClaim) continue;
    const VolumeClaim* claim = query.cluster.storage().claim(query.pod.namespace_, volume.name);
    if (claim == nullptr) {
      state.answer = {StatusCode::kUnschedulableAndUnresolvable, {not_found("persistentvolumeclaim", volume.name)}};
      return state;
    }
    if (claim->access_modes.contains(AccessMode::kReadWriteOncePod)) state.once.insert(claim->name);
  }
  if (!state.has_disks && state.once.empty()) state.answer.code = StatusCode::kSkip;
  if (!state.once.empty()) state.in_use = count_in_use(query, state.once);
  return state;
}

Status filter_restricted(const RestrictionState& state, const HostQuery& query, const NodeInfo& node, Pods added,
                         Pods removed) {
  if (state.has_disks) {
    bool has_conflict = false;
    for_each_pod(node, added, removed,
                 [&](const Pod& other) { has_conflict = has_conflict || disks_conflict(query.pod, other); });
    if (has_conflict) return {StatusCode::kUnschedulable, "", {kDiskConflict}};
  }
  std::int64_t in_use = state.in_use;
  for (const Pod* pod : added) in_use += uses_of(*pod, state.once);
  for (const Pod* pod : removed) in_use -= uses_of(*pod, state.once);
  if (in_use <= 0) return {};
  return {StatusCode::kUnschedulable,
          "",
          {"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
           "another pod"}};
}

}  // namespace

bool is_disk_conflict(const Status& status) {
  return status.reasons.size() == 1 && status.reasons.front() == kDiskConflict;
}

bool disks_conflict(const Pod& pod, const Pod& other) {
  for (const PodVolume& own : pod.rare().volumes) {
    if (!is_exclusive_disk(own)) continue;
    for (const PodVolume& theirs : other.rare().volumes)
      if (is_exclusive_disk(theirs) && conflict(own.disk->source, theirs.disk->source)) return true;
  }
  return false;
}

bool VolumeRestrictions::concerns(const Pod& pod) const { return has_volume(pod, is_restricted); }

std::optional<std::string> VolumeRestrictions::sign(const Pod& pod) const {
  return volumes_signature(pod, is_restricted);
}

/// Claims that one pod may use at a time are not among them.
std::optional<std::string> VolumeRestrictions::sign_claims(std::span<const OwnClaim> /*claims*/,
                                                           const ClusterStorage& /*storage*/) const {
  return "";
}

HostReach VolumeRestrictions::reach(const HostQuery& query, const Node& /*node*/) const {
  bool has_disks = false;
  for (const PodVolume& volume : query.pod.rare().volumes) {
    has_disks = has_disks || is_exclusive_disk(volume);
    if (volume.kind != PodVolume::Kind::kClaim) continue;
    const VolumeClaim* claim = query.cluster.storage().claim(query.pod.namespace_, volume.name);
    if (claim != nullptr && claim->access_modes.contains(AccessMode::kReadWriteOncePod))
      return {HostReach::Kind::kEverything};
  }
  return {has_disks ? HostReach::Kind::kNode : HostReach::Kind::kNothing};
}

HostPreFilter VolumeRestrictions::pre_filter(const HostQuery& query) const { return find_restrictions(query).answer; }

void VolumeRestrictions::evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes,
                                  HostAnswers& answers) const {
  const RestrictionState state = find_restrictions(query);
  if (state.is_idle()) return;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Status status = filter_restricted(state, query, *nodes[i], {}, {});
    if (!status.ok()) answers.refuse(i, status.code, std::move(status.reasons));
  }
}

Status VolumeRestrictions::filter_changed(const HostQuery& query, const NodeInfo& node, Pods added,
                                          Pods removed) const {
  const RestrictionState state = find_restrictions(query);
  return state.is_idle() ? Status{} : filter_restricted(state, query, node, added, removed);
}

}  // namespace berth
