// SPDX-License-Identifier: Apache-2.0
#pragma once

// How many copies of a pod find a node, one placed after another.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/capi/questions.h"
#include "host/capi/result.h"
#include "host/capi/stop_watch.h"
#include "host/capi/what_if.h"

namespace berth::capi {

struct CopyQuestion {
  const std::vector<bool>* among = nullptr;  ///< of the fork's nodes
  bool as_moved = false;
  bool on_nodes = false;  ///< CopyCounts::on_node is wanted
};

/// Of pods that are judged, in their order.
struct CopyCounts {
  struct OfPod {
    std::int64_t count = 0;
    std::string error;  ///< non-empty: the cycle of the next one ends with this error
  };
  std::vector<OfPod> pods;  ///< a prefix: the watch was over behind it
  /// [pod * slot_count + NodeIndex::value], if wanted
  std::vector<std::int32_t> on_node;
  std::size_t slot_count = 0;
};

/// The fork stays as it is. @param watch  at least one pod is answered in time. @throws ApiError where there is no end
CopyCounts count_copies(Fork& fork, const std::shared_ptr<Cluster>& cluster, std::span<const ReadPod* const> pods,
                        const CopyQuestion& question, const StopWatch& watch);

struct MaxReplicasOptions {
  std::uint32_t flags = 0;
  const NodeNumbers* nodes = nullptr;  ///< null: all
  std::span<const char* const> keys;
  bool on_nodes = false;
};
/// berth_snapshot_max_replicas()
Answer max_replicas(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<const PodHandlePtr> shapes,
                    const MaxReplicasOptions& options, const StopWatch& watch);

}  // namespace berth::capi
