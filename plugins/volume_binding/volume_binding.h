// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/framework/host_plugin.h"

namespace berth {

/// docs/behaviour/plugins-storage-devices.md 1.
class VolumeBinding : public HostPlugin {
 public:
  static constexpr std::string_view kName = "VolumeBinding";
  /// A pod's profile is the one that its schedulerName names.
  explicit VolumeBinding(const SchedulerConfig& config);
  std::string_view name() const override { return kName; }
  bool concerns(const Pod& pod) const override;
  std::optional<std::string> sign(const Pod& pod) const override;
  std::optional<std::string> sign_claims(std::span<const OwnClaim> claims,
                                         const ClusterStorage& storage) const override;
  bool takes_volumes() const override { return true; }
  std::unique_ptr<HostMemory> make_memory() const override;
  HostReach reach(const HostQuery& query, const Node& node) const override;
  HostPreFilter pre_filter(const HostQuery& query) const override;
  void evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes, HostAnswers& answers) const override;
  Status filter_changed(const HostQuery& query, const NodeInfo& node, std::span<const Pod* const> added,
                        std::span<const Pod* const> removed) const override;
  Status pre_score(const HostQuery& query) const override;
  VolumeDecisionsPtr reserve(const HostQuery& query, const NodeInfo& node) const override;

 private:
  /// Null: Filter does not run, so that Score and Reserve know of no volumes.
  const std::vector<ShapePoint>* shape_of(const Pod& pod) const;

  bool knows_attributes_;
  bool scores_;  ///< the gate StorageCapacityScoring
  /// By scheduler name, of the profiles that run Filter; empty without the gate.
  std::map<std::string, std::vector<ShapePoint>, std::less<>> shapes_;
};

}  // namespace berth
