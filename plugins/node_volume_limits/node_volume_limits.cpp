// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_volume_limits/node_volume_limits.h"

#include <algorithm>
#include <cstddef>
#include <map>
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

/// How many volumes of the pod may count, where they are claims and counting them cannot fail; else nullopt.
std::optional<std::int64_t> count_claims(const Pod& pod) {
  if (pod.rare_fields == nullptr) return 0;
  std::int64_t count = 0;
  for (const PodVolume& volume : pod.rare().volumes) {
    if (!may_count(volume)) continue;
    if (volume.kind != PodVolume::Kind::kClaim || volume.name.empty()) return std::nullopt;
    ++count;
  }
  return count;
}

/// The limit of the driver on the node; nullopt: none.
std::optional<std::int32_t> limit_of(const CsiNode& node, std::string_view driver) {
  std::optional<std::int32_t> limit;
  for (const CsiNode::Driver& known : node.drivers)
    if (known.name == driver && known.limit) limit = known.limit;
  return limit;
}

/// A node with the volumes of its pods.
class KnownNode {
 public:
  explicit KnownNode(const CsiNode* csi_node)
      : csi_node_(csi_node),
        has_limits_(csi_node != nullptr &&
                    std::any_of(csi_node->drivers.begin(), csi_node->drivers.end(),
                                [](const CsiNode::Driver& driver) { return driver.limit.has_value(); })) {}
  const CsiNode* csi_node() const { return csi_node_; }
  bool has_limits() const { return has_limits_; }
  const VolumesOnNode& volumes() const { return volumes_; }
  void attach(CountedVolumes attached) { volumes_.attach(std::move(attached)); }
  /// Pods that stay in their place are not counted again, and others not before count_all() where that cannot fail.
  void follow(const std::vector<PodPtr>& pods, const VolumeCounting& counting) {
    std::size_t same = 0;
    while (same < pods_.size() && same < pods.size() && pods_[same] == pods[same]) ++same;
    while (pods_.size() > same) remove_last();
    problems_.erase(problems_.lower_bound(same), problems_.end());
    for (; same < pods.size(); ++same) add(pods[same], counting);
  }
  void add(PodPtr pod, const VolumeCounting& counting) {
    pods_.push_back(std::move(pod));
    const std::optional<std::int64_t> claims = count_claims(*pods_.back());
    uncounted_ += claims.value_or(0);
    if (!claims) count_all(counting);
  }
  void count_all(const VolumeCounting& counting) {
    while (used_.size() < pods_.size()) count_next(counting);
    uncounted_ = 0;
  }
  /// Volumes at most that are not counted yet.
  std::int64_t uncounted() const { return uncounted_; }
  /// Of the first pod that has one. null: none has
  const Status* problem() const { return problems_.empty() ? nullptr : &problems_.begin()->second; }

 private:
  void remove_last() {
    if (used_.size() < pods_.size()) {
      uncounted_ -= *count_claims(*pods_.back());
    } else {
      for (const VolumesOnNode::Used volume : used_.back()) volumes_.remove(volume);
      used_.pop_back();
    }
    pods_.pop_back();
  }
  void count_next(const VolumeCounting& counting) {
    const std::size_t position = used_.size();
    std::vector<VolumesOnNode::Used>& used = used_.emplace_back();
    if (pods_[position]->rare_fields == nullptr) return;
    Status status = counting.for_each(*pods_[position], false, [&](std::string_view name, std::string_view driver) {
      used.push_back(volumes_.add(name, driver));
    });
    if (!status.ok()) problems_.emplace(position, std::move(status));
  }

  const CsiNode* csi_node_;
  bool has_limits_;
  std::vector<PodPtr> pods_;                            ///< in the order of the node
  std::vector<std::vector<VolumesOnNode::Used>> used_;  ///< [pod], of those that are counted: the first ones
  std::int64_t uncounted_ = 0;
  std::map<std::size_t, Status> problems_;  ///< by position in pods_
  VolumesOnNode volumes_;
};

/// The nodes of a cluster whose storage objects stay.
class KnownNodes : public HostMemory {
 public:
  void forget(const NodeInfo& node) override { nodes_.erase(node.id); }
  /// @param in_full  each of its pods is counted
  const KnownNode& find(const NodeInfo& node, const ClusterStorage& storage, Release release, bool in_full) {
    if (!attachments_) attachments_ = attachments_by_node(storage);
    auto known = nodes_.find(node.id);
    if (known == nodes_.end()) {
      KnownNode added(storage.csi_node(node.name));
      if (added.has_limits()) added.attach(attached_to(node.name, *attachments_, storage));
      known = nodes_.emplace(node.id, std::move(added)).first;
    }
    if (!known->second.has_limits()) return known->second;
    try {
      const VolumeCounting counting(storage, known->second.csi_node(), release);
      known->second.follow(node.pods, counting);
      if (in_full) known->second.count_all(counting);
    } catch (...) {
      nodes_.erase(known);
      throw;
    }
    return known->second;
  }

 private:
  std::optional<AttachmentsByNode> attachments_;
  std::unordered_map<std::uint64_t, KnownNode> nodes_;  ///< by NodeInfo::id
};

/// The volumes of the pod to be placed.
struct Wanted {
  Status problem;
  CountedVolumes volumes;  ///< by name
  DriverCounts others;     ///< that no other pod has
  DriverCounts all;        ///< `volumes` and `others`
  bool is_same_everywhere = false;

  Wanted(const HostQuery& query, const CsiNode* node, Release release) {
    const VolumeCounting counting(query.cluster.storage(), node, release);
    if (query.claims != nullptr) {
      counting.add(*query.claims, others);
    } else {
      problem = counting.add(query.pod, true, volumes);
    }
    all = others;
    for (const auto& [name, driver] : volumes) ++count_of(driver, all);
    is_same_everywhere = !counting.asked_node();
  }
  bool empty() const { return volumes.empty() && others.empty(); }
  /// Below all limits, even if each volume is one that the node does not have.
  /// @param more  so many volumes come beside them, of whatever driver
  bool surely_fits(const CsiNode& csi_node, const VolumesOnNode& there, std::int64_t more) const {
    return std::all_of(all.begin(), all.end(), [&](const auto& of_driver) {
      const std::optional<std::int32_t> limit = limit_of(csi_node, of_driver.first);
      return !limit || there.count(of_driver.first, {}) + of_driver.second + more <= *limit;
    });
  }
};

/// @param added  volumes of pods that are not among those of the node
Status compare(const Wanted& pod, const CsiNode& csi_node, const VolumesOnNode& there, const CountedVolumes& added) {
  DriverCounts wanted = pod.others;
  for (const auto& [name, driver] : pod.volumes)
    if (!there.uses(name) && !added.contains(name)) ++count_of(driver, wanted);
  for (const auto& [driver, count] : wanted) {
    const std::optional<std::int32_t> limit = limit_of(csi_node, driver);
    if (limit && there.count(driver, added) + count > *limit)
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

/// Of a pod that lives longer.
PodPtr unowned(const Pod& pod) { return {PodPtr(), &pod}; }

class LimitFilter {
 public:
  LimitFilter(const HostQuery& query, NodeVolumeLimitsRules rules)
      : query_(query),
        storage_(query.cluster.storage()),
        release_(rules.release),
        needs_driver_(rules.needs_driver),
        anywhere_(query, nullptr, rules.release) {}

  bool accepts_everywhere() const {
    return anywhere_.is_same_everywhere && anywhere_.problem.ok() && anywhere_.empty();
  }

  Status on(const NodeInfo& node, Pods added, Pods removed) {
    if (anywhere_.is_same_everywhere) return on(anywhere_, node, added, removed);
    return on(Wanted(query_, storage_.csi_node(node.name), release_), node, added, removed);
  }

 private:
  Status on(const Wanted& pod, const NodeInfo& node, Pods added, Pods removed) {
    if (!pod.problem.ok()) return pod.problem;
    if (pod.empty()) return {};
    if (needs_driver_)
      if (Status status = check_drivers(pod.volumes, storage_.csi_node(node.name), storage_, release_); !status.ok())
        return status;
    if (query_.memory != nullptr && removed.empty()) {
      KnownNodes& nodes = *static_cast<KnownNodes*>(query_.memory);
      if (surely_fits(pod, nodes.find(node, storage_, release_, false), added)) return {};
      return compare(pod, nodes.find(node, storage_, release_, true), added);
    }
    KnownNode counted(storage_.csi_node(node.name));
    if (!counted.has_limits()) return {};
    if (!attachments_) attachments_ = attachments_by_node(storage_);
    counted.attach(attached_to(node.name, *attachments_, storage_));
    const VolumeCounting counting(storage_, counted.csi_node(), release_);
    for_each_pod(node, {}, removed, [&](const Pod& other) { counted.add(unowned(other), counting); });
    counted.count_all(counting);
    return compare(pod, counted, added);
  }

  /// Even if each volume of a pod were one that the node does not have.
  static bool surely_fits(const Wanted& pod, const KnownNode& known, Pods added) {
    if (!known.has_limits()) return true;
    if (known.problem() != nullptr) return false;
    std::int64_t more = known.uncounted();
    for (const Pod* const other : added) {
      const std::optional<std::int64_t> claims = count_claims(*other);
      if (!claims) return false;
      more += *claims;
    }
    return pod.surely_fits(*known.csi_node(), known.volumes(), more);
  }

  /// @param known  with all of its pods counted
  Status compare(const Wanted& pod, const KnownNode& known, Pods added) const {
    if (!known.has_limits()) return {};
    if (const Status* const problem = known.problem()) return *problem;
    const VolumeCounting counting(storage_, known.csi_node(), release_);
    CountedVolumes volumes;
    for (const Pod* other : added)
      if (other->rare_fields != nullptr)
        if (Status status = counting.add(*other, false, volumes); !status.ok()) return status;
    return berth::compare(pod, *known.csi_node(), known.volumes(), volumes);
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
