// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/framework/host_plugin.h"

namespace berth {

/// docs/behaviour/plugins-storage-devices.md 1, without scores: the gate StorageCapacityScoring is refused.
class VolumeBinding : public HostPlugin {
 public:
  static constexpr std::string_view kName = "VolumeBinding";
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
  Status pre_score(const HostQuery& query) const override;
  VolumeDecisionsPtr reserve(const HostQuery& query, const NodeInfo& node) const override;
};

}  // namespace berth
