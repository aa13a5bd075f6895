// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/cluster/cache.h"
#include "host/config/scheduler_config.h"
#include "host/engine/reference/cluster_view.h"
#include "host/objects/pod.h"

namespace berth::reference {

/// What one pod asks in one cycle. Points into the pod, the profile, the gates and the cluster:
/// they live longer.
struct Request {
  const Pod* pod;
  const Profile* profile;
  const FeatureGates* gates;
  const ClusterView* cluster;
  ResourceAmounts filter_amounts;    ///< what the Filter reads
  ResourceAmounts score_amounts;     ///< what the Score of NodeResourcesFit reads
  ResourceAmounts balanced_amounts;  ///< what NodeResourcesBalancedAllocation reads
  std::vector<HostPort> ports;
  std::vector<std::string> needed_features;  ///< sorted
  bool compares_taints;                      ///< tolerations Gt and Lt count
};
Request make_request(const Pod& pod, const Profile& profile, const FeatureGates& gates, const ClusterView& cluster);

}  // namespace berth::reference
