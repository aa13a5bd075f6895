// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/framework/host_plugin.h"

namespace berth {

/// docs/behaviour/plugins-storage-devices.md 2.1.
class VolumeRestrictions : public HostPlugin {
 public:
  static constexpr std::string_view kName = "VolumeRestrictions";
  std::string_view name() const override { return kName; }
  bool concerns(const Pod& pod) const override;
  std::optional<std::string> sign(const Pod& pod) const override;
  std::optional<std::string> sign_claims(std::span<const OwnClaim> claims,
                                         const ClusterStorage& storage) const override;
  HostReach reach(const HostQuery& query, const Node& node) const override;
  HostPreFilter pre_filter(const HostQuery& query) const override;
  void evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes, HostAnswers& answers) const override;
  Status filter_changed(const HostQuery& query, const NodeInfo& node, std::span<const Pod* const> added,
                        std::span<const Pod* const> removed) const override;
};

/// The refusal that the plugin gives without what its PreFilter found out.
bool is_disk_conflict(const Status& status);
/// An in-tree disk of one pod is one of the other, and both may not have it.
bool disks_conflict(const Pod& pod, const Pod& other);

}  // namespace berth
