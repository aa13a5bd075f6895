// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "batching/device/views.h"
#include "host/engine/device/device_array.h"

namespace berth {

/// The memory of windows, kept for the next one.
class WindowArrays {
 public:
  explicit WindowArrays(Accelerator& accelerator)
      : tops_(accelerator, "the best nodes of a window"),
        lists_(accelerator, "the best nodes of a window"),
        touched_nodes_(accelerator, "the nodes of a window") {}

  /// @param cells_max   of the rows
  /// @param tops_max    of a cell, at least 1
  /// @param node_count  slots
  /// @throws DeviceOutOfMemory
  DeviceWindow open(std::int32_t row_count, std::int32_t cells_max, std::int32_t tops_max, std::int32_t node_count) {
    const std::uint64_t lists = static_cast<std::uint64_t>(row_count) * static_cast<std::uint64_t>(cells_max);
    const auto words = static_cast<std::uint64_t>(node_set_words(node_count));
    tops_.reserve(lists * static_cast<std::uint64_t>(tops_max));
    lists_.reserve(lists);
    touched_nodes_.reserve(words);
    touched_nodes_.clear(words);
    return {tops_.data(), lists_.data(), touched_nodes_.data(), cells_max, tops_max};
  }

 private:
  DeviceArray<DeviceTop> tops_;
  DeviceArray<DeviceTopList> lists_;
  DeviceArray<std::uint32_t> touched_nodes_;
};

}  // namespace berth
