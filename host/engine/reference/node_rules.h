// SPDX-License-Identifier: Apache-2.0
#pragma once

// PreFilter and Filter of the node-level plugins, one node at a time: spec/plugins-node.md 5 to 10 and 13.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cache.h"
#include "host/config/scheduler_config.h"
#include "host/engine/reference/node_state.h"
#include "host/framework/status.h"
#include "host/objects/pod.h"

namespace berth::reference {

/// What one pod asks in one cycle. Points into the pod, the profile and the gates: they live longer.
struct Request {
  const Pod* pod;
  const Profile* profile;
  const FeatureGates* gates;
  ResourceAmounts filter_amounts;  ///< what the Filter and NodeResourcesBalancedAllocation read
  ResourceAmounts score_amounts;   ///< what the Score of NodeResourcesFit reads
  std::vector<HostPort> ports;
  std::vector<std::string> needed_features;  ///< sorted
  bool compares_taints;                      ///< tolerations Gt and Lt count
};
Request make_request(const Pod& pod, const Profile& profile, const FeatureGates& gates);

struct PreFilterResult {
  Status status;                                    ///< not success: no node is looked at
  std::set<std::string, std::less<>> skipped;       ///< plugins whose Filter is not called
  std::optional<std::set<std::string>> node_names;  ///< the only candidates, known or not; nullopt: all nodes
};
PreFilterResult pre_filter(const Request& request);

/// The Filter plugins in profile order; the first refusal is the answer, with its plugin's name.
Status filter_node(const Request& request, const PreFilterResult& result, const NodeState& state);

/// 7.1; Gt and Lt are false unless `compares_taints`.
bool tolerates(const Toleration& toleration, const Taint& taint, bool compares_taints);

}  // namespace berth::reference
