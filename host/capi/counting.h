// SPDX-License-Identifier: Apache-2.0
#pragma once

// How many copies of a pod find a node, one placed after another.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/capi/questions.h"
#include "host/capi/result.h"
#include "host/capi/what_if.h"

namespace berth::capi {

/// The time that a call may take.
class TimeLimit {
 public:
  /// @param us  0: none
  explicit TimeLimit(std::uint64_t us) : us_(us), begin_(Clock::now()) {}
  /// 0 where there is no limit; nullopt: it has passed.
  std::optional<std::int64_t> left() const;
  bool is_over() const { return !left(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::uint64_t us_;
  Clock::time_point begin_;
};

/// The nodes that a verb may take, as BatchLimits::among says; nullopt: all of the state.
std::optional<std::vector<bool>> nodes_among(const State& state, const NodeNumbers* nodes, std::uint32_t flags);

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
  std::vector<OfPod> pods;  ///< a prefix: the time was over behind it
  /// [pod * slot_count + NodeIndex::value], if wanted
  std::vector<std::int32_t> on_node;
  std::size_t slot_count = 0;
};

/// The fork stays as it is. @param limit  at least one pod is answered. @throws ApiError where there is no end
CopyCounts count_copies(Fork& fork, const std::shared_ptr<Cluster>& cluster, std::span<const ReadPod* const> pods,
                        const CopyQuestion& question, const TimeLimit& limit);

struct MaxReplicasOptions {
  std::uint32_t flags = 0;
  const NodeNumbers* nodes = nullptr;  ///< null: all
  std::span<const char* const> keys;
  bool on_nodes = false;
  std::uint64_t deadline_us = 0;
};
struct MaxReplicas {
  std::unique_ptr<Result> result;
  bool is_late = false;
};
/// berth_snapshot_max_replicas()
MaxReplicas max_replicas(const State& state, const std::shared_ptr<Cluster>& cluster,
                         std::span<const PodHandlePtr> shapes, const MaxReplicasOptions& options);

}  // namespace berth::capi
