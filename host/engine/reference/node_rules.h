// SPDX-License-Identifier: Apache-2.0
#pragma once

// PreFilter and Filter of all plugins, and those of the node-level plugins themselves, one node at a time:
// docs/behaviour/plugins-node.md 5 to 10 and 13, docs/behaviour/scheduler-core.md 2.

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/engine/reference/affinity_filter.h"
#include "host/engine/reference/node_state.h"
#include "host/engine/reference/request.h"
#include "host/engine/reference/spread_filter.h"
#include "host/engine/reference/volumes.h"
#include "host/framework/status.h"
#include "host/framework/unsupported.h"
#include "host/objects/pod.h"

namespace berth::reference {

struct PreFilterResult {
  Status status;                                    ///< not success: no node is looked at
  std::set<std::string, std::less<>> skipped;       ///< plugins whose Filter is not called
  std::optional<std::set<std::string>> node_names;  ///< the only candidates, known or not; nullopt: all nodes
  /// What plugins named, in PreFilter order; `node_names` is what they have in common.
  std::vector<std::pair<std::string, std::set<std::string>>> node_sets;
  std::optional<SpreadState> spread;      ///< nullopt: PodTopologySpread is skipped or not enabled
  std::optional<AffinityState> affinity;  ///< nullopt: InterPodAffinity is skipped or not enabled
  VolumeState volumes;
  std::optional<MissingFilterState> missing_state;  ///< of a Filter whose PreFilter the profile does not run
  // For plugins on the host, of the one node that is filtered:
  std::vector<const Pod*> added;
  std::vector<const Pod*> removed;

  /// The first plugin that does not name the node.
  std::string plugin_without(const std::string& node_name) const;
  /// The plugins that PreFilter makes responsible: those of node sets, and the one that refuses.
  PluginNames rejectors() const;
};
/// An Error ends the cycle; any other status but success refuses the pod.
PreFilterResult pre_filter(const Request& request);

/// AddPod of every plugin that was not skipped: `other` is taken to lie on `node`.
void add_pod(PreFilterResult& result, const Request& request, const Pod& other, const Node& node);

/// RemovePod of every plugin that was not skipped: `other` is taken to have left `node`.
void remove_pod(PreFilterResult& result, const Request& request, const Pod& other, const Node& node);

/// The Filter plugins in profile order; the first refusal is the answer, with its plugin's name. A Filter that misses
/// the state of its PreFilter answers Error.
Status filter_node(const Request& request, const PreFilterResult& result, const NodeState& state);

/// 7.1; Gt and Lt are false unless `compares_taints`.
bool tolerates(const Toleration& toleration, const Taint& taint, bool compares_taints);

}  // namespace berth::reference
