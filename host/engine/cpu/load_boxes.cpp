// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/load_boxes.h"

#include <cstddef>
#include <limits>

#include "host/engine/cpu/slot_kernel.h"

namespace berth {
namespace {

constexpr auto kUsedMax = static_cast<float>(kShareMax);
constexpr float kLossMax = 1e6F;  ///< more than weights come to
constexpr double kFreeMax = 0x1p62;
/// Both a request and what is free are off by at most 2^-24 of themselves, as floats.
constexpr double kRequestLowered = 1.0 - 0x1p-22;

void write_resource(LoadBoxes::Resource& boxes, std::size_t lane, const LoadBox::Resource& box) {
  boxes.used[lane] = box.used;
  boxes.inverse_min[lane] = box.inverse_min;
  boxes.inverse_max[lane] = box.inverse_max;
  boxes.room[lane] = box.room;
}

LoadBox::Resource read_resource(const LoadBoxes::Resource& boxes, std::size_t lane) {
  return {boxes.used[lane], boxes.inverse_min[lane], boxes.inverse_max[lane], boxes.room[lane]};
}

void write_room(LoadBoxes::Room& boxes, std::size_t lane, const LoadBox::Room& box) {
  boxes.free_min[lane] = box.free_min;
  boxes.free_max[lane] = box.free_max;
}

LoadBox::Room read_room(const LoadBoxes::Room& boxes, std::size_t lane) {
  return {boxes.free_min[lane], boxes.free_max[lane]};
}

ClassOnBoxes::Resource on_boxes(const ClassOnLoads::Resource& resource, double weights) {
  const float request = resource.request > 0.0 ? static_cast<float>(resource.request * kRequestLowered)
                                               : -std::numeric_limits<float>::infinity();
  return {request, static_cast<float>(resource.fit_request), static_cast<float>(resource.fit_weight),
          static_cast<float>(resource.fit_request * (resource.fit_weight / weights)),
          static_cast<float>(resource.balanced_request)};
}

}  // namespace

ClassOnBoxes on_boxes(const ClassOnLoads& of_class) {
  const double weights = of_class.cpu.fit_weight + of_class.memory.fit_weight;
  const double fit_cpu = of_class.fit_weight * of_class.cpu.fit_weight / weights * of_class.cpu.fit_request;
  const double fit_memory = of_class.fit_weight * of_class.memory.fit_weight / weights * of_class.memory.fit_request;
  const double tilt_cpu = of_class.balanced_weight * of_class.cpu.balanced_request / 2.0;
  const double tilt_memory = of_class.balanced_weight * of_class.memory.balanced_request / 2.0;
  return {on_boxes(of_class.cpu, weights),
          on_boxes(of_class.memory, weights),
          {static_cast<float>(fit_cpu + tilt_cpu), static_cast<float>(fit_memory - tilt_memory)},
          {static_cast<float>(fit_cpu - tilt_cpu), static_cast<float>(fit_memory + tilt_memory)},
          static_cast<float>(1.0 / weights),
          static_cast<float>(of_class.fit_weight),
          static_cast<float>(of_class.balanced_weight),
          of_class.strategy == ScoringStrategyType::kMostAllocated};
}

LoadBox empty_box(bool packs) {
  const LoadBox::Resource nothing{packs ? 0.0F : kUsedMax, 1.0F, 0.0F, static_cast<float>(-kFreeMax)};
  const LoadBox::Room none{kFreeMax, -kFreeMax};
  return {nothing, nothing, kUsedMax, kLossMax, kLossMax, kLossMax, 2.0F, -2.0F, 0, none, none, 0};
}

void write_box(LoadBoxes& boxes, std::int32_t at, const LoadBox& box) {
  const auto lane = static_cast<std::size_t>(at);
  write_resource(boxes.cpu, lane, box.cpu);
  write_resource(boxes.memory, lane, box.memory);
  boxes.mean_used[lane] = box.mean_used;
  boxes.loss_by_cpu[lane] = box.loss_by_cpu;
  boxes.loss_by_memory[lane] = box.loss_by_memory;
  boxes.loss[lane] = box.loss;
  boxes.tilt_min[lane] = box.tilt_min;
  boxes.tilt_max[lane] = box.tilt_max;
  boxes.draw[lane] = box.draw;
  write_room(boxes.cpu_room, lane, box.cpu_room);
  write_room(boxes.memory_room, lane, box.memory_room);
  boxes.count[lane] = box.count;
}

void copy_node(const LoadBoxes& from, std::int32_t from_lane, LoadBoxes& to, std::int32_t to_lane) {
  const auto a = static_cast<std::size_t>(from_lane);
  const auto b = static_cast<std::size_t>(to_lane);
  const auto copy = [a, b](const LoadBoxes::Resource& resource, LoadBoxes::Resource& copied) {
    copied.used[b] = resource.used[a];
    copied.inverse_min[b] = resource.inverse_min[a];
    copied.room[b] = resource.room[a];
  };
  copy(from.cpu, to.cpu);
  copy(from.memory, to.memory);
  to.tilt_min[b] = from.tilt_min[a];
  to.draw[b] = from.draw[a];
}

LoadBox read_box(const LoadBoxes& boxes, std::int32_t at) {
  const auto lane = static_cast<std::size_t>(at);
  return {read_resource(boxes.cpu, lane),
          read_resource(boxes.memory, lane),
          boxes.mean_used[lane],
          boxes.loss_by_cpu[lane],
          boxes.loss_by_memory[lane],
          boxes.loss[lane],
          boxes.tilt_min[lane],
          boxes.tilt_max[lane],
          boxes.draw[lane],
          read_room(boxes.cpu_room, lane),
          read_room(boxes.memory_room, lane),
          boxes.count[lane]};
}

}  // namespace berth
