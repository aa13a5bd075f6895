// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "batching/device/node_side_body.h"
#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"
#include "host/engine/device/device_array.h"
#include "host/engine/device/node_event_delta.h"

namespace berth {

/// Evaluates node sides of classes on the device. Columns of labels, taints and cordons are uploaded on first use and
/// kept.
class DeviceNodeSides {
 public:
  explicit DeviceNodeSides(Accelerator& accelerator);

  struct Answer {
    DeviceSideSummary summary;
    DeviceArray<std::int32_t> base;  ///< DeviceLayout::base
  };
  /// False: a rule scores whose raw scores the device has no text for, so that the class needs a row of the host.
  static bool can_evaluate(const CompiledNodeSide& side);
  /// Waits for the device. @param side  can_evaluate()
  Answer evaluate(const CompiledNodeSide& side, const PodSpec& spec, const CompiledProfile& profile,
                  const Snapshot& snapshot);
  /// Collects what node events changed in the columns here.
  void follow(const Snapshot& snapshot, NodeEventDelta& delta) const;
  /// Call when columns moved.
  void clear();

 private:
  /// The terms of one node side during their upload.
  class TermWriter;

  const std::int32_t* label_column(const std::int32_t* on_host, std::size_t node_count);
  void upload_nodes(const Snapshot& snapshot);

  Accelerator& accelerator_;
  bool is_empty_ = true;
  DeviceArray<std::uint8_t> unschedulable_;
  DeviceArray<std::int32_t> taint_set_;
  std::map<const std::int32_t*, DeviceArray<std::int32_t>> label_columns_;  ///< by the column on the host
};

}  // namespace berth
