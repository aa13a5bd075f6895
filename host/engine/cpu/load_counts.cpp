// SPDX-License-Identifier: Apache-2.0
// How many nodes of an index have room, and what others are short of.

#include <bit>

#include "host/engine/cpu/load_index.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {
namespace {

/// More than the rounding of a float.
constexpr double kDoubtful = 1e-6;

bool has_room(const ClassOnLoads& of_class, double cpu_free, double memory_free) {
  return !NodeResourcesFit::is_short(of_class.cpu.request, cpu_free, 0.0) &&
         !NodeResourcesFit::is_short(of_class.memory.request, memory_free, 0.0);
}

}  // namespace

/// Nodes with room in the box, and in the block that it is around.
std::int64_t LoadIndex::count_fitting_in(const ClassOnLoads& of_class, const LoadBoxes& boxes, std::int32_t lane,
                                         std::int32_t block, std::int64_t enough) const {
  const auto l = static_cast<std::size_t>(lane);
  if (boxes.count[l] == 0 || !has_room(of_class, boxes.cpu_room.free_max[l], boxes.memory_room.free_max[l])) return 0;
  if (has_room(of_class, boxes.cpu_room.free_min[l], boxes.memory_room.free_min[l])) return boxes.count[l];
  const Block& inner = blocks_[static_cast<std::size_t>(block)];
  std::int64_t count = 0;
  for (std::int32_t child = 0; child < kBoxLanes && count < enough; ++child)
    count += count_fitting_in(of_class, inner.boxes, child, inner.first_child < 0 ? -1 : inner.first_child + child,
                              enough - count);
  return count;
}

/// The same of nodes that the side accepts, in a block.
std::int64_t LoadIndex::count_accepted_in(const ClassOnLoads& of_class, std::int32_t at, std::int64_t enough,
                                          std::span<const std::int32_t> side) const {
  const Block& block = blocks_[static_cast<std::size_t>(at)];
  const std::uint32_t lanes = slot_kernels().fitting(of_class, block.boxes);
  if (block.first_child < 0) {
    const std::int32_t* const nodes = node_at_.data() + at * kBoxLanes;
    std::uint32_t accepted = 0;
    for (std::uint32_t lane = 0; lane < kBoxLanes; ++lane)
      accepted |= (nodes[lane] >= 0 && side[static_cast<std::size_t>(nodes[lane])] >= 0 ? 1u : 0u) << lane;
    return std::popcount(lanes & accepted);
  }
  std::int64_t count = 0;
  for (std::uint32_t left = lanes; left != 0 && count < enough; left &= left - 1)
    count += count_accepted_in(of_class, block.first_child + std::countr_zero(left), enough - count, side);
  return count;
}

std::optional<LoadIndex::Shortage> LoadIndex::shortage_of(const ClassOnLoads& of_class, const LoadBoxes& boxes,
                                                          std::size_t lane) {
  Shortage shortage;
  bool agree = true;
  const auto add = [&](const ClassOnLoads::Resource& request, const LoadBoxes::Resource& box,
                       const LoadBoxes::Room& room, bool& is_short) {
    is_short = NodeResourcesFit::is_short(request.request, room.free_max[lane], 0.0);
    if (is_short != NodeResourcesFit::is_short(request.request, room.free_min[lane], 0.0)) agree = false;
    if (!is_short) return;
    // Reciprocals are floats.
    const double least = request.request * static_cast<double>(box.inverse_min[lane]);
    const double most = request.request * static_cast<double>(box.inverse_max[lane]);
    if (least > 1 + kDoubtful) {
      shortage.forever = true;
    } else if (most > 1 - kDoubtful) {
      agree = false;
    }
  };
  add(of_class.cpu, boxes.cpu, boxes.cpu_room, shortage.of_cpu);
  add(of_class.memory, boxes.memory, boxes.memory_room, shortage.of_memory);
  return agree ? std::optional(shortage) : std::nullopt;
}

std::int64_t LoadIndex::count_fitting(const ClassOnLoads& of_class, std::int32_t group, std::int64_t enough,
                                      std::span<const std::int32_t> side) const {
  const auto g = static_cast<std::size_t>(group);
  std::int64_t count = 0;
  for (const std::int32_t lane : top_.lanes_of[g]) {
    if (count >= enough) break;
    const std::int32_t block = top_.blocks[static_cast<std::size_t>(lane)];
    count += side.empty() ? count_fitting_in(of_class, top_.boxes[static_cast<std::size_t>(lane / kBoxLanes)],
                                             lane % kBoxLanes, block, enough - count)
                          : count_accepted_in(of_class, block, enough - count, side);
  }
  return count;
}

}  // namespace berth
