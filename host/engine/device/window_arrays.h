// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
        marks_(accelerator, "the nodes of a window"),
        touched_(accelerator, "the nodes of a window"),
        proposals_(accelerator, "the nodes of a window"),
        nodes_(accelerator),
        proposed_(accelerator) {}

  /// Without counts_after and refusals_after.
  /// @param cells_max   of the rows
  /// @param tops_max    of a cell, at least 1
  /// @param node_count  slots
  /// @throws DeviceOutOfMemory
  DeviceWindow open(std::int32_t row_count, std::int32_t pod_count, std::int32_t cells_max, std::int32_t tops_max,
                    std::int32_t node_count) {
    const std::uint64_t lists = static_cast<std::uint64_t>(row_count) * static_cast<std::uint64_t>(cells_max);
    DeviceWindow window;
    window.cells_max = cells_max;
    window.tops_max = tops_max;
    window.tops = reserved(tops_, lists * static_cast<std::uint64_t>(tops_max));
    window.lists = reserved(lists_, lists);
    window.touched = reserved(touched_, static_cast<std::uint64_t>(pod_count));
    window.proposals = reserved(proposals_, kProposalsMax);
    window.nodes = nodes_.open(pod_count);
    window.proposed = proposed_.open(kProposalsMax);
    // What begins as 0 lies together.
    const std::uint64_t marks = 1 + lists + static_cast<std::uint64_t>(node_count);
    window.touched_count = reserved(marks_, marks);
    window.heads = window.touched_count + 1;
    window.touched_at = window.heads + lists;
    marks_.clear(marks);
    return window;
  }

 private:
  template <class T>
  static T* reserved(DeviceArray<T>& array, std::uint64_t count) {
    array.reserve(count);
    return array.data();
  }

  class Nodes {
   public:
    explicit Nodes(Accelerator& accelerator)
        : values_(accelerator, "the nodes of a window"),
          draws_(accelerator, "the nodes of a window"),
          seeds_(accelerator, "the nodes of a window"),
          flags_(accelerator, "the nodes of a window") {}
    DeviceWindowNodes open(std::int32_t node_count) {
      const auto nodes = static_cast<std::uint64_t>(node_count);
      std::uint8_t* flags = reserved(flags_, 2 * nodes);
      return {node_count,
              reserved(values_, DeviceWindowNodes::kValues * nodes),
              reserved(draws_, nodes),
              reserved(seeds_, nodes),
              flags,
              flags + nodes};
    }

   private:
    DeviceArray<double> values_;
    DeviceArray<Draw> draws_;
    DeviceArray<std::uint32_t> seeds_;
    DeviceArray<std::uint8_t> flags_;
  };

  DeviceArray<DeviceTop> tops_;
  DeviceArray<DeviceTopList> lists_;
  DeviceArray<std::int32_t> marks_;
  DeviceArray<std::int32_t> touched_;
  DeviceArray<DeviceProposal> proposals_;
  Nodes nodes_, proposed_;
};

}  // namespace berth
