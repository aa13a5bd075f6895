// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/config/feature_gates.h"
#include "host/framework/host_plugin.h"

namespace berth {

struct NodeVolumeLimitsRules {
  Release release;
  bool needs_driver;  ///< the gate VolumeLimitScaling: a node without the CSI driver is refused
};

/// docs/behaviour/plugins-storage-devices.md 2.3.
class NodeVolumeLimits : public HostPlugin {
 public:
  static constexpr std::string_view kName = "NodeVolumeLimits";
  explicit NodeVolumeLimits(const FeatureGates& gates) : rules_{gates.release(), gates.enabled("VolumeLimitScaling")} {}
  std::string_view name() const override { return kName; }
  bool concerns(const Pod& pod) const override;
  std::optional<std::string> sign(const Pod& pod) const override;
  std::optional<std::string> sign_claims(std::span<const OwnClaim> claims,
                                         const ClusterStorage& storage) const override;
  bool reads_handles() const override { return true; }
  std::unique_ptr<HostMemory> make_memory() const override;
  HostReach reach(const HostQuery& query, const Node& node) const override;
  void evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes, HostAnswers& answers) const override;
  Status filter_changed(const HostQuery& query, const NodeInfo& node, std::span<const Pod* const> added,
                        std::span<const Pod* const> removed) const override;

 private:
  NodeVolumeLimitsRules rules_;
};

/// Some volume of the pod may count against a limit.
bool counts_volumes_of(const Pod& pod);

}  // namespace berth
