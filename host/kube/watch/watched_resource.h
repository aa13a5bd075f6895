// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a scheduler lists and watches: docs/scheduler/api.md.

#include <string_view>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/store/object_kind.h"

namespace berth {

struct WatchedResource {
  ObjectKind kind;
  std::string_view name;         ///< "pods", "replicasets.apps": as messages and metrics name it
  std::string_view path;         ///< "/api/v1/pods"
  std::string_view api_version;  ///< of its objects: "v1"
  std::string_view item_kind;    ///< of its objects: "Pod"
  std::string_view query = {};   ///< a field selector, escaped; empty: none
};

/// Those that the plugins of the profiles read; pods, nodes and namespaces always.
std::vector<WatchedResource> watched_resources(const SchedulerConfig& config);

}  // namespace berth
