// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room that is kept for pods to come, as pods that rules see.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "host/capi/cluster.h"
#include "host/capi/result.h"
#include "host/capi/stop_watch.h"
#include "host/capi/what_if.h"

namespace berth::capi {

/// The nodes of a set that have a value of a label key.
struct NodesOfDomain {
  const NodeNumbers* nodes = nullptr;  ///< null: all
  const char* key = nullptr;           ///< null: of any value
  const char* value = nullptr;
};

/// berth_cluster_reserve()
Answer reserve(const std::shared_ptr<Cluster>& cluster, const std::string& owner, const PodHandlePtr& pod,
               std::size_t count, std::uint32_t flags, const NodesOfDomain& where, const StopWatch& watch);

struct UnreserveOptions {
  std::size_t count = 0;  ///< 0: all
  NodesOfDomain where;
  const ReadPod* pod = nullptr;  ///< null: of any
};
/// berth_cluster_unreserve(). @return how many are gone @throws ApiError BERTH_E_NOT_FOUND
std::size_t unreserve(Cluster& cluster, const std::string& owner, const UnreserveOptions& options);

/// berth_cluster_reservations(). @param owner  null: all
std::unique_ptr<Result> list_reservations(const std::shared_ptr<Cluster>& cluster, const std::string* owner);

}  // namespace berth::capi
