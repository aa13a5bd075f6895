// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_volume_limits/node_volume_limits.h"

#include <algorithm>
#include <map>
#include <utility>

#include "host/objects/volume_migration.h"
#include "plugins/volume_claims.h"

namespace berth {
namespace {

using Pods = std::span<const Pod* const>;
/// Driver of each volume, by unique name.
using Volumes = std::map<std::string, std::string, std::less<>>;
using AttachmentsByNode = std::multimap<std::string_view, const VolumeAttachment*>;

bool may_count(const PodVolume& volume) {
  return has_claim(volume) || (volume.disk != nullptr && volume.disk->migrated != nullptr);
}

/// A volume that counts against the limit of a driver.
struct Attachable {
  std::string driver;
  std::string handle;
};

/// The volumes of pods as they count on one node.
class Counting {
 public:
  Counting(const ClusterStorage& storage, const CsiNode* node, Release release)
      : storage_(storage), node_(node), release_(release) {}

  /// What was added would be another on another node.
  bool asked_node() const { return asked_node_; }

  /// @param is_new  the pod to be placed, whose claims have to be there
  /// @return the status that ends the Filter
  Status add(const Pod& pod, bool is_new, Volumes& out) const {
    for (const PodVolume& volume : pod.rare().volumes) {
      Attachable found;
      if (volume.disk != nullptr) {
        if (Status status = look_at(*volume.disk, found); !status.ok()) return status;
      } else if (const std::optional<std::string> name = claim_name(pod, volume)) {
        if (name->empty()) return {StatusCode::kError, "", {"PersistentVolumeClaim had no name"}};
        const VolumeClaim* claim = storage_.claim(pod.namespace_, *name);
        if (claim == nullptr && is_new)
          return {
              StatusCode::kUnschedulableAndUnresolvable,
              "",
              {"looking up PVC " + pod.namespace_ + "/" + *name + ": " + not_found("persistentvolumeclaim", *name)}};
        if (claim == nullptr) continue;
        if (volume.kind == PodVolume::Kind::kEphemeral)
          if (std::optional<std::string> problem = ownership_problem(pod, *claim))
            return {StatusCode::kError, "", {std::move(*problem)}};
        look_at(*claim, found);
      }
      if (found.driver.empty() || found.handle.empty()) continue;
      out.emplace(found.driver + "/" + found.handle, found.driver);
    }
    return {};
  }

 private:
  /// The in-tree plugin's volumes count as those of its CSI driver.
  bool is_migrated(std::string_view plugin) const {
    asked_node_ = true;
    const MigratingPlugin* known = node_ != nullptr ? find_migrating_plugin(plugin) : nullptr;
    if (known == nullptr) return false;
    if (!known->asks_node || release_ != Release::k1_35) return known->is_migrated || known->asks_node;
    const std::vector<std::string>& named = node_->migrated_plugins;
    return std::find(named.begin(), named.end(), plugin) != named.end();
  }

  Status look_at(const InlineDisk& disk, Attachable& out) const {
    if (disk.migrated == nullptr || !is_migrated(disk.migrated->plugin)) return {};
    if (!disk.migrated->problem.empty())
      return {StatusCode::kError,
              "",
              {"converting volume(" + disk.volume_name + ") from inline to csi: " + disk.migrated->problem}};
    out = {disk.migrated->driver, disk.migrated->handle};
    return {};
  }

  void look_at(const VolumeClaim& claim, Attachable& out) const {
    const PersistentVolume* volume = claim.volume_name.empty() ? nullptr : storage_.volume(claim.volume_name);
    if (volume == nullptr) return look_at_class(claim, out);
    if (volume->source.kind == VolumeSource::Kind::kCsi) {
      out = {volume->source.driver, volume->source.id};
    } else if (volume->migrated != nullptr && volume->migrated->problem.empty() &&
               is_migrated(volume->migrated->plugin)) {
      out = {volume->migrated->driver, volume->migrated->handle};
    }
  }

  /// A claim without a volume counts as one of its own.
  void look_at_class(const VolumeClaim& claim, Attachable& out) const {
    const StorageClass* storage_class = claim.class_name.empty() ? nullptr : storage_.storage_class(claim.class_name);
    if (storage_class == nullptr) return;
    const MigratingPlugin* plugin = find_migrating_plugin(storage_class->provisioner);
    if (plugin != nullptr && !is_migrated(plugin->plugin)) return;
    constexpr std::string_view kNoHandle = "\x01";  // begins no handle of a volume
    out.driver = plugin != nullptr ? std::string(plugin->driver) : storage_class->provisioner;
    out.handle = std::string(kNoHandle) + claim.full_name();
  }

  const ClusterStorage& storage_;
  const CsiNode* node_;
  Release release_;
  mutable bool asked_node_ = false;
};

std::map<std::string, std::int64_t> count_by_driver(const Volumes& volumes) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& [name, driver] : volumes) ++counts[driver];
  return counts;
}

AttachmentsByNode attachments_by_node(const ClusterStorage& storage) {
  AttachmentsByNode attachments;
  storage.for_each_attachment(
      [&](const VolumeAttachment& attachment) { attachments.emplace(attachment.node_name, &attachment); });
  return attachments;
}

/// Those whose volume is a CSI volume.
Volumes attached_to(const Node& node, const AttachmentsByNode& attachments, const ClusterStorage& storage) {
  Volumes volumes;
  const auto [first, last] = attachments.equal_range(node.name);
  for (auto at = first; at != last; ++at) {
    const VolumeAttachment& attachment = *at->second;
    if (attachment.attacher.empty() || !attachment.volume_name) continue;
    const PersistentVolume* volume = storage.volume(*attachment.volume_name);
    if (volume == nullptr || volume->source.kind != VolumeSource::Kind::kCsi) continue;
    volumes.emplace(attachment.attacher + "/" + volume->source.id, attachment.attacher);
  }
  return volumes;
}

/// The limit of the driver on the node; nullopt: none.
std::optional<std::int32_t> limit_of(const CsiNode& node, std::string_view driver) {
  std::optional<std::int32_t> limit;
  for (const CsiNode::Driver& known : node.drivers)
    if (known.name == driver && known.limit) limit = known.limit;
  return limit;
}

/// Of the gate VolumeLimitScaling. Upstream names any of several drivers; here it is the first one by name.
Status check_drivers(const Volumes& wanted, const CsiNode* node, const ClusterStorage& storage, Release release) {
  for (const auto& [name, driver] : wanted) {
    const CsiDriver* known = storage.csi_driver(driver);
    if (known == nullptr) continue;
    if (release != Release::k1_35 && !known->needs_node_plugin) continue;
    const auto is_it = [&](const CsiNode::Driver& other) { return other.name == driver; };
    if (node != nullptr && std::any_of(node->drivers.begin(), node->drivers.end(), is_it)) continue;
    return {StatusCode::kUnschedulable, "", {driver + " CSI driver is not installed on the node"}};
  }
  return {};
}

/// The volumes of the pod to be placed.
struct Wanted {
  Status problem;
  Volumes volumes;
  bool is_same_everywhere = false;
  NodeVolumeLimitsRules rules;

  Wanted(const HostQuery& query, const CsiNode* node, NodeVolumeLimitsRules of) : rules(of) {
    const Counting counting(query.cluster.storage(), node, rules.release);
    problem = counting.add(query.pod, true, volumes);
    is_same_everywhere = !counting.asked_node();
  }
};

Status filter_limits(const Wanted& pod, const CsiNode* csi_node, const ClusterStorage& storage, const NodeInfo& node,
                     const AttachmentsByNode& attachments, Pods added, Pods removed) {
  if (!pod.problem.ok()) return pod.problem;
  if (pod.volumes.empty()) return {};
  if (pod.rules.needs_driver)
    if (Status status = check_drivers(pod.volumes, csi_node, storage, pod.rules.release); !status.ok()) return status;
  if (csi_node == nullptr) return {};
  const auto has_limit = [](const CsiNode::Driver& driver) { return driver.limit.has_value(); };
  if (std::none_of(csi_node->drivers.begin(), csi_node->drivers.end(), has_limit)) return {};
  const Counting counting(storage, csi_node, pod.rules.release);
  Volumes wanted = pod.volumes;
  Volumes used;
  Status problem;
  for_each_pod(node, added, removed, [&](const Pod& other) {
    if (problem.ok() && other.rare_fields != nullptr) problem = counting.add(other, false, used);
  });
  if (!problem.ok()) return problem;
  for (const auto& [name, driver] : used) wanted.erase(name);
  std::map<std::string, std::int64_t> counts = count_by_driver(used);
  for (const auto& [name, driver] : attached_to(*node.node, attachments, storage))
    if (!used.contains(name)) ++counts[driver];
  for (const auto& [driver, count] : count_by_driver(wanted)) {
    const std::optional<std::int32_t> limit = limit_of(*csi_node, driver);
    if (limit && counts[driver] + count > *limit)
      return {StatusCode::kUnschedulable, "", {"node(s) exceed max volume count"}};
  }
  return {};
}

Status filter_limits(const HostQuery& query, NodeVolumeLimitsRules rules, const NodeInfo& node,
                     const AttachmentsByNode& attachments, Pods added, Pods removed) {
  const ClusterStorage& storage = query.cluster.storage();
  const CsiNode* csi_node = storage.csi_node(node.name);
  const Wanted on_node(query, csi_node, rules);
  return filter_limits(on_node, csi_node, storage, node, attachments, added, removed);
}

}  // namespace

bool counts_volumes_of(const Pod& pod) { return has_volume(pod, may_count); }

bool NodeVolumeLimits::concerns(const Pod& pod) const { return counts_volumes_of(pod); }

std::optional<std::string> NodeVolumeLimits::sign(const Pod& pod) const { return volumes_signature(pod, may_count); }

HostReach NodeVolumeLimits::reach(const HostQuery& /*query*/, const Node& /*node*/) const {
  return {HostReach::Kind::kNode};
}

void NodeVolumeLimits::evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes,
                                HostAnswers& answers) const {
  const ClusterStorage& storage = query.cluster.storage();
  const Wanted anywhere(query, nullptr, rules_);
  if (anywhere.is_same_everywhere && anywhere.problem.ok() && anywhere.volumes.empty()) return;
  const AttachmentsByNode attachments = attachments_by_node(storage);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeInfo& node = *nodes[i];
    Status status = anywhere.is_same_everywhere
                        ? filter_limits(anywhere, storage.csi_node(node.name), storage, node, attachments, {}, {})
                        : filter_limits(query, rules_, node, attachments, {}, {});
    if (!status.ok()) answers.refuse(i, status.code, std::move(status.reasons));
  }
}

Status NodeVolumeLimits::filter_changed(const HostQuery& query, const NodeInfo& node, Pods added, Pods removed) const {
  return filter_limits(query, rules_, node, attachments_by_node(query.cluster.storage()), added, removed);
}

}  // namespace berth
