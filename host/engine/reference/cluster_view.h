// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cache.h"
#include "host/cluster/engine_cluster.h"
#include "host/config/engine_config.h"
#include "host/engine/reference/node_state.h"
#include "host/framework/host_plugin.h"

namespace berth::reference {

/// What rules read beyond the node in question.
struct ClusterView {
  std::span<const NodeState> nodes;  ///< all of the snapshot, in its order
  const std::map<std::string, ImageState, std::less<>>& images;
  const EngineObjects& objects;
  UpstreamBugs bugs;
  const HostPlugins& host_plugins;
  const ClusterCache& cache;  ///< for those

  /// null: no plugin on the host has the name.
  const HostPlugin* find_host_plugin(std::string_view name) const;

  /// Of the Namespace object; none when there is no such object.
  LabelMap namespace_labels(const std::string& name) const;
};

}  // namespace berth::reference
