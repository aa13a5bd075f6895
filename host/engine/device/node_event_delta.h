// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>

#include "batching/device/views.h"
#include "host/cluster/cluster_change.h"

namespace berth {

/// What events of node objects change on a device, collected for one transfer and one launch.
class NodeEventDelta {
 public:
  NodeEventDelta() = default;
  /// @param changed  by slot
  explicit NodeEventDelta(const std::map<std::int32_t, NodeParts>& changed) {
    for (const auto& [slot, parts] : changed) nodes_.push_back({slot, parts});
  }

  /// Each once.
  const std::vector<ChangedNode>& nodes() const { return nodes_; }

  /// Notes a value for device memory. Every place may be noted once.
  template <class T>
  void patch(const T* at, T value) {
    static_assert(std::is_integral_v<T> && (sizeof(T) == 1 || sizeof(T) == 4 || sizeof(T) == 8));
    patches.push_back({const_cast<T*>(at), static_cast<std::uint64_t>(value), static_cast<std::int32_t>(sizeof(T))});
  }

  std::vector<DevicePatch> patches;
  /// [layout] positions whose nodes are in other cells now
  std::map<std::int32_t, std::vector<std::int32_t>> vacated_of_layout;
  /// Layouts that have no room for the changes, or whose other nodes change too: to be laid out again afterwards.
  std::vector<std::int32_t> to_rebuild;
  std::vector<DeviceVacancy> vacancies;
  std::vector<std::int32_t> vacated;
  const DeviceLayout* layouts = nullptr;  ///< in device memory, of the vacancies

 private:
  std::vector<ChangedNode> nodes_;
};

}  // namespace berth
