// SPDX-License-Identifier: Apache-2.0
#pragma once

// What evicting victims of a node costs at least, from amounts alone: without a dry run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/cluster/pod_footprint.h"
#include "host/preemption/candidate_cost.h"
#include "host/preemption/victims.h"

namespace berth {

/// What a node has left of what NodeResourcesFit counts for every pod.
struct NodeRoom {
  std::int64_t milli_cpu = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t pods = 0;
  bool is_exact = false;  ///< otherwise the amounts are too large to be added up, and say nothing

  /// @param node  with a node object
  static NodeRoom of(const NodeInfo& node);
  NodeRoom without(const NodeReservation& reserved) const;
};

/// What a preemptor wants of it. Default: nothing, as where NodeResourcesFit does not filter.
struct WantedRoom {
  std::int64_t milli_cpu = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t pods = 0;

  /// @param pod  not on a node
  static WantedRoom of(const Pod& pod);
};

/// Summary of a list of victims, of a fixed size: a bound may be lower than it could be, never higher than the cost.
class VictimBounds {
 public:
  VictimBounds() = default;
  /// @param list  potential_victims() @param ranks  of the list
  VictimBounds(std::span<const Victim> list, const VictimRanks& ranks, FootprintMemo& footprints);

  /// No candidate on the node costs less. nullopt: there is none, since there are no victims, or since the preemptor
  /// does not fit when all of them are gone.
  std::optional<CandidateCost> least_cost(const WantedRoom& wanted, const NodeRoom& room) const;

 private:
  static constexpr std::size_t kLevels = 4;
  static constexpr std::size_t kLargest = 4;

  struct Amounts {
    std::int64_t milli_cpu = 0;
    std::int64_t memory_bytes = 0;
  };
  /// Victims of one priority, or in the last level of this priority and all above.
  struct Level {
    std::int32_t priority = 0;
    std::int32_t victims = 0;  ///< of this and the levels below
    Amounts sum;               ///< of those
    std::int64_t least_negated_start_us = 0;
  };

  /// [n - 1] the sums of the n largest amounts of some victims.
  struct Largest {
    std::array<Amounts, kLargest> sums{};
    std::int32_t count = 0;  ///< kLargest, or all victims

    Largest() = default;
    explicit Largest(std::span<const Amounts> victims);
    /// With fewer victims not even the largest free so much.
    std::int64_t least_victims(const Amounts& wanted) const;
  };

  CandidateCost cost_at(std::size_t level, std::int64_t victims) const;

  std::array<Level, kLevels> levels_{};  ///< by priority, lowest first
  std::int32_t level_count_ = 0;
  std::int32_t start_count_ = 0;  ///< kLargest, or all victims of the lowest level
  bool has_victims_ = false;
  bool is_exact_ = false;  ///< as NodeRoom has it
  Largest of_lowest_;      ///< of the victims of the lowest level
  Largest of_all_;
  std::array<std::int64_t, kLargest> starts_{};  ///< [n - 1] negated start of the n-th latest of the lowest level
};

}  // namespace berth
