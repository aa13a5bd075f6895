// SPDX-License-Identifier: Apache-2.0
#pragma once

// SelectVictimsOnNode for one preemptor and several lists of victims at once, where amounts alone decide. The lists lie
// side by side in lanes, as doubles, which are exact: the caller sees to it that no sum reaches 2^53 (kExactInLanes).

#include <array>
#include <cstddef>
#include <cstdint>

namespace berth {

/// Lists side by side.
inline constexpr std::size_t kListLanes = 8;
using ListLanes = std::array<double, kListLanes>;
using LaneBits = std::array<std::uint64_t, kListLanes>;

/// A request, what a node offers, what it has in use, the sum of its victims, and what is nominated to it: each of them
/// below this, so that whatever is added up of them is below 2^53.
inline constexpr std::int64_t kExactInLanes = std::int64_t{1} << 50;
constexpr bool is_exact_in_lanes(std::int64_t amount) { return amount > -kExactInLanes && amount < kExactInLanes; }

/// Lists of victims with their nodes, kListLanes or fewer. Row 0 counts pods, the others are resources; what lies
/// behind the last victim of a list is a victim of infinitely many pods.
struct ListBlock {
  const ListLanes* free = nullptr;         ///< [row] what is left on the nodes when all victims are gone
  const ListLanes* allocatable = nullptr;  ///< [row] infinite for pods
  const ListLanes* amounts = nullptr;      ///< [victim x row]
  std::size_t rows = 0;
  std::size_t victims = 0;  ///< of the longest list
};

/// What a preemptor requests: one pod, and amounts above 0.
struct LaneRequest {
  static constexpr std::size_t kRowsMax = 5;
  std::array<std::uint32_t, kRowsMax> row{};
  std::array<double, kRowsMax> amount{};
  std::size_t size = 0;
};

/// What NodeResourcesFit says when all victims of a block are gone; 1: yes, for each lane.
struct LaneVerdicts {
  LaneBits is_short{};  ///< of pods or of a resource
  LaneBits too_many_pods{};
  LaneBits is_unresolvable{};
  std::array<ListLanes, LaneRequest::kRowsMax> left{};  ///< [index into the request] with the preemptor placed
};

void filter_lanes(const ListBlock& block, const LaneRequest& request, LaneVerdicts& verdicts);

/// Reprieves victims [first, end), at most 64, in order: those that fit into what is left stay, and take from it.
/// @param kept  bit i: victim `first` + i stays
void reprieve_lanes(const ListBlock& block, const LaneRequest& request, std::size_t first, std::size_t end,
                    std::array<ListLanes, LaneRequest::kRowsMax>& left, LaneBits& kept);

}  // namespace berth
