// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "batching/device/views.h"
#include "host/engine/device/device_array.h"
#include "host/engine/device/device_rows.h"
#include "host/engine/device/device_snapshot.h"
#include "host/engine/device/launch_plan.h"

namespace berth {

/// Sizes of the part of a state that placements change.
struct ForkShape {
  std::uint64_t nodes = 0;
  std::uint64_t resources = 0;
  std::uint64_t port_sets = 0;
  std::uint64_t counters = 0;
  std::uint64_t tables = 0;
  std::int64_t domains_max = 0;
  friend bool operator==(const ForkShape&, const ForkShape&) = default;
};

/// How a fork differs from the live state before its pods come.
struct ForkDifference {
  const Snapshot* snapshot = nullptr;  ///< of the fork
  std::vector<std::int32_t> nodes;     ///< each once: all whose amounts, ports or counters may differ
};

/// Copies of a live state, each with the rows that its pods need: independent what-ifs in parallel.
class ForkStates {
 public:
  ForkStates(Accelerator& accelerator, const ForkShape& shape)
      : accelerator_(accelerator),
        shape_(shape),
        memory_(accelerator, "forks"),
        tables_(accelerator, "forks"),
        states_(accelerator, "forks"),
        batches_(accelerator, "forks"),
        outcomes_(accelerator, "outcomes of forks"),
        committed_(accelerator, "outcomes of forks"),
        node_scores_(accelerator, "an evaluation of a fork") {}

  const ForkShape& shape() const { return shape_; }
  /// Bytes of one fork with these rows and its outcomes.
  std::uint64_t bytes(const LaunchPlan& plan, const DeviceClassTable& classes) const;

  /// Copies the live state once per plan, and commits each plan's pods in its copy.
  /// @param live, rows  current, with the rows of all plans
  /// @param differences  [plan] written into the copies first; empty: there are none
  /// @return [plan] the outcomes of the pods that the fork answered
  std::vector<std::vector<DeviceOutcome>> run(std::span<const LaunchPlan> plans, const DeviceState& live,
                                              const DeviceRowStore& rows, const DeviceClassTable& classes,
                                              bool stops_at_failure, DeviceSnapshot& columns,
                                              std::span<const ForkDifference> differences = {});

  /// Evaluates a pod on every node of one fork.
  /// @param plan  of this pod alone
  /// @param live, rows  as for run()
  /// @return [node]
  std::vector<DeviceNodeScores> evaluate(const LaunchPlan& plan, const DeviceState& live, const DeviceRowStore& rows,
                                         const DeviceClassTable& classes, DeviceSnapshot& columns,
                                         const ForkDifference& difference);

 private:
  /// A fork on the device, and its batch without outcomes.
  struct Opened {
    DeviceState state;
    DeviceBatch batch;
  };
  std::vector<Opened> open(std::span<const LaunchPlan> plans, const DeviceState& live, const DeviceRowStore& rows,
                           const DeviceClassTable& classes, DeviceSnapshot& columns,
                           std::span<const ForkDifference> differences);
  DeviceState copy_state(const DeviceState& live, std::uint8_t*& memory) const;
  template <class T>
  T* copy(const T* from, std::uint64_t count, std::uint8_t*& memory) const;

  Accelerator& accelerator_;
  ForkShape shape_;
  DeviceArray<std::uint8_t> memory_, tables_;
  DeviceArray<DeviceState> states_;
  DeviceArray<DeviceBatch> batches_;
  DeviceArray<DeviceOutcome> outcomes_;
  DeviceArray<std::int32_t> committed_;
  DeviceArray<DeviceNodeScores> node_scores_;
};

}  // namespace berth
