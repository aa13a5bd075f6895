// SPDX-License-Identifier: Apache-2.0
#pragma once

// How many new nodes of a shape pods need: first fit, run pod by pod.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/capi/first_fit.h"
#include "host/capi/node_shape.h"
#include "host/capi/result.h"
#include "host/capi/stop_watch.h"
#include "host/capi/what_if.h"

namespace berth::capi {

struct ScaleUpOptions {
  std::uint32_t flags = 0;
  const NodeNumbers* nodes = nullptr;  ///< of BERTH_EXISTING_FIRST; null: all
};

/// A pod to find a place for.
struct WaitingPod {
  const PodToPlace* to_place = nullptr;  ///< null: the pod cannot be judged, and is left over
  std::uint64_t kind = 0;                ///< Cluster::kinds_of()
};

/// Why a pod has no node.
struct LeftOver {
  StatusCode code = StatusCode::kSuccess;
  std::uint8_t phase = BERTH_PHASE_NONE;
  std::string plugin;
  std::string reasons;
  friend bool operator==(const LeftOver&, const LeftOver&) = default;
};

/// What a shape answers.
struct ShapeAnswer {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> node;       ///< [pods] position in the list of existing nodes, or kNone
  std::vector<std::uint32_t> new_node;   ///< [pods] of new nodes, or kNone
  std::vector<std::uint32_t> left_over;  ///< [pods] into `reasons`; kNone: the pod has a node, or is not judged
  std::vector<LeftOver> reasons;         ///< each once
  std::uint32_t node_count = 0;
  std::uint32_t placed = 0;
  std::uint8_t cap = BERTH_CAP_NONE;
  std::string cap_resource;
};

/// Packs pods onto existing and new nodes of a fork, which is changed.
/// @param existing  nodes that are asked before new ones, in their order
/// @param order  positions in `pods`
/// @param has_nominations  Cluster::has_nominations()
/// @return nullopt: the watch was over
std::optional<ShapeAnswer> pack(Fork& fork, const NodeShape& shape, std::span<const WaitingPod> pods,
                                std::span<const std::uint32_t> order, std::span<const NodeIndex> existing,
                                bool has_nominations, const StopWatch& watch);

/// The pods of a call on a state of the version. They refer to `pods`.
/// @param as_moved  spec.nodeName is ignored
std::vector<WaitingPod> waiting_pods(Cluster& cluster, std::uint64_t version, std::span<const PodHandlePtr> pods,
                                     bool as_moved);

/// berth_snapshot_scale_up()
Answer scale_up(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<const PodHandlePtr> pods,
                std::span<const NodeShape> shapes, const ScaleUpOptions& options, const StopWatch& watch);

}  // namespace berth::capi
