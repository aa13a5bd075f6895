// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_volume_limits/node_volume_limits.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "host/objects/volume_migration.h"
#include "plugins/node_volume_limits/counted_volumes.h"
#include "plugins/volume_claims.h"

namespace berth {
namespace {

using Pods = std::span<const Pod* const>;
using AttachmentsByNode = std::multimap<std::string_view, const VolumeAttachment*>;

bool may_count(const PodVolume& volume) {
  return has_claim(volume) || (volume.disk != nullptr && volume.disk->migrated != nullptr);
}

AttachmentsByNode attachments_by_node(const ClusterStorage& storage) {
  AttachmentsByNode attachments;
  storage.for_each_attachment(
      [&](const VolumeAttachment& attachment) { attachments.emplace(attachment.node_name, &attachment); });
  return attachments;
}

/// Those whose volume is a CSI volume.
CountedVolumes attached_to(std::string_view node, const AttachmentsByNode& attachments, const ClusterStorage& storage) {
  CountedVolumes volumes;
  const auto [first, last] = attachments.equal_range(node);
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

bool has_limits(const CsiNode* node) {
  return node != nullptr && std::any_of(node->drivers.begin(), node->drivers.end(),
                                        [](const CsiNode::Driver& driver) { return driver.limit.has_value(); });
}

/// A node with the volumes of its pods, one after another.
struct KnownNode {
  bool is_known = false;
  const CsiNode* csi_node = nullptr;
  bool has_limits = false;
  std::vector<PodPtr> pods;  ///< that are counted, in the order of the node
  VolumesOnNode volumes;
  Status problem;  ///< of the first pod that has one; later ones are not counted

  void add(const Pod& pod, const VolumeCounting& counting) {
    if (!problem.ok() || pod.rare_fields == nullptr) return;
    CountedVolumes used;
    problem = counting.add(pod, false, used);
    volumes.add(used);
  }
};

/// The nodes of a cluster whose storage objects stay. What is known of a node grows with its pods; when others than the
/// last ones went, it is counted again.
class KnownNodes : public HostMemory {
 public:
  void forget(const NodeInfo& node) override { nodes_.erase(node.id); }
  KnownNode& find(const NodeInfo& node, const ClusterStorage& storage, Release release) {
    if (!attachments_) attachments_ = attachments_by_node(storage);
    KnownNode& known = nodes_[node.id];
    if (known.pods.size() > node.pods.size() || !std::equal(known.pods.begin(), known.pods.end(), node.pods.begin()))
      known = {};
    if (!known.is_known) {
      known.is_known = true;
      known.csi_node = storage.csi_node(node.name);
      known.has_limits = has_limits(known.csi_node);
      if (known.has_limits) known.volumes.attach(attached_to(node.name, *attachments_, storage));
    }
    if (!known.has_limits) return known;
    const VolumeCounting counting(storage, known.csi_node, release);
    for (std::size_t p = known.pods.size(); p < node.pods.size(); ++p) {
      known.add(*node.pods[p], counting);
      known.pods.push_back(node.pods[p]);
    }
    return known;
  }

 private:
  std::optional<AttachmentsByNode> attachments_;
  std::unordered_map<std::uint64_t, KnownNode> nodes_;  ///< by NodeInfo::id
};

/// The volumes of the pod to be placed.
struct Wanted {
  Status problem;
  CountedVolumes volumes;
  bool is_same_everywhere = false;

  Wanted(const HostQuery& query, const CsiNode* node, Release release) {
    const VolumeCounting counting(query.cluster.storage(), node, release);
    if (query.claims != nullptr) {
      counting.add(*query.claims, volumes);
    } else {
      problem = counting.add(query.pod, true, volumes);
    }
    is_same_everywhere = !counting.asked_node();
  }
};

/// @param added  volumes of pods that are not among those of the node
Status compare(const Wanted& pod, const CsiNode& csi_node, const VolumesOnNode& there, const CountedVolumes& added) {
  std::map<std::string_view, std::int64_t> wanted;
  for (const auto& [name, driver] : pod.volumes)
    if (!there.uses(name) && !added.contains(name)) ++wanted[driver];
  if (wanted.empty()) return {};
  VolumesOnNode with_added;
  const VolumesOnNode* all = &there;
  if (!added.empty()) {
    with_added = there;
    with_added.add(added);
    all = &with_added;
  }
  for (const auto& [driver, count] : wanted) {
    const std::optional<std::int32_t> limit = limit_of(csi_node, driver);
    if (limit && all->count(driver) + count > *limit)
      return {StatusCode::kUnschedulable, "", {"node(s) exceed max volume count"}};
  }
  return {};
}

/// Of the gate VolumeLimitScaling. Upstream names any of several drivers; here it is the first one by name.
Status check_drivers(const CountedVolumes& wanted, const CsiNode* node, const ClusterStorage& storage,
                     Release release) {
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

class LimitFilter {
 public:
  LimitFilter(const HostQuery& query, NodeVolumeLimitsRules rules)
      : query_(query),
        storage_(query.cluster.storage()),
        release_(rules.release),
        needs_driver_(rules.needs_driver),
        anywhere_(query, nullptr, rules.release) {}

  bool accepts_everywhere() const {
    return anywhere_.is_same_everywhere && anywhere_.problem.ok() && anywhere_.volumes.empty();
  }

  Status on(const NodeInfo& node, Pods added, Pods removed) {
    if (anywhere_.is_same_everywhere) return on(anywhere_, node, added, removed);
    return on(Wanted(query_, storage_.csi_node(node.name), release_), node, added, removed);
  }

 private:
  Status on(const Wanted& pod, const NodeInfo& node, Pods added, Pods removed) {
    if (!pod.problem.ok()) return pod.problem;
    if (pod.volumes.empty()) return {};
    if (needs_driver_)
      if (Status status = check_drivers(pod.volumes, storage_.csi_node(node.name), storage_, release_); !status.ok())
        return status;
    if (query_.memory != nullptr && removed.empty()) {
      const KnownNode& known = static_cast<KnownNodes*>(query_.memory)->find(node, storage_, release_);
      return known.has_limits ? compare(pod, known, added) : Status{};
    }
    KnownNode counted;
    counted.csi_node = storage_.csi_node(node.name);
    if (!has_limits(counted.csi_node)) return {};
    if (!attachments_) attachments_ = attachments_by_node(storage_);
    counted.volumes.attach(attached_to(node.name, *attachments_, storage_));
    const VolumeCounting counting(storage_, counted.csi_node, release_);
    for_each_pod(node, {}, removed, [&](const Pod& other) { counted.add(other, counting); });
    return compare(pod, counted, added);
  }

  Status compare(const Wanted& pod, const KnownNode& known, Pods added) const {
    if (!known.problem.ok()) return known.problem;
    const VolumeCounting counting(storage_, known.csi_node, release_);
    CountedVolumes volumes;
    for (const Pod* other : added)
      if (other->rare_fields != nullptr)
        if (Status status = counting.add(*other, false, volumes); !status.ok()) return status;
    return berth::compare(pod, *known.csi_node, known.volumes, volumes);
  }

  const HostQuery& query_;
  const ClusterStorage& storage_;
  Release release_;
  bool needs_driver_;
  Wanted anywhere_;
  std::optional<AttachmentsByNode> attachments_;
};

}  // namespace

bool counts_volumes_of(const Pod& pod) { return has_volume(pod, may_count); }

bool NodeVolumeLimits::concerns(const Pod& pod) const { return counts_volumes_of(pod); }

std::optional<std::string> NodeVolumeLimits::sign(const Pod& pod) const { return volumes_signature(pod, may_count); }

/// The driver of each claim, or the in-tree plugin and the driver that it migrates to.
std::optional<std::string> NodeVolumeLimits::sign_claims(std::span<const OwnClaim> claims,
                                                         const ClusterStorage& storage) const {
  std::vector<std::string> parts;
  for (const OwnClaim& own : claims) {
    std::string part;
    if (own.volume == nullptr) {
      append_texts(part, {"class", storage.storage_class(own.claim->class_name)->provisioner});
    } else if (own.volume->source.kind == VolumeSource::Kind::kCsi) {
      append_texts(part, {"driver", own.volume->source.driver});
    } else if (own.volume->migrated != nullptr) {
      append_texts(part, {"plugin", own.volume->migrated->plugin, own.volume->migrated->driver});
    }
    if (!part.empty()) parts.push_back(std::move(part));
  }
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) append_texts(text, {part});
  if (!text.empty() && std::any_of(claims.begin(), claims.end(), [](const OwnClaim& own) { return own.shares_handle; }))
    text += "shared";
  return text;
}

std::unique_ptr<HostMemory> NodeVolumeLimits::make_memory() const { return std::make_unique<KnownNodes>(); }

HostReach NodeVolumeLimits::reach(const HostQuery& /*query*/, const Node& /*node*/) const {
  return {HostReach::Kind::kNode};
}

void NodeVolumeLimits::evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes,
                                HostAnswers& answers) const {
  LimitFilter filter(query, rules_);
  if (filter.accepts_everywhere()) return;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Status status = filter.on(*nodes[i], {}, {});
    if (!status.ok()) answers.refuse(i, status.code, std::move(status.reasons));
  }
}

Status NodeVolumeLimits::filter_changed(const HostQuery& query, const NodeInfo& node, Pods added, Pods removed) const {
  return LimitFilter(query, rules_).on(node, added, removed);
}

}  // namespace berth
