// SPDX-License-Identifier: Apache-2.0
#pragma once

// What DeviceBackend asks of a device: memory, transfers and a handful of kernels over the views of views.h. cuda/
// gives it a GPU; tests/support/emulated_accelerator.h runs the same bodies on the host, so that everything above this
// line is tested on machines without a device. All calls of one accelerator are in one order; only download() waits.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "batching/device/device_facts.h"
#include "batching/device/node_side_body.h"
#include "batching/device/run_body.h"
#include "batching/device/views.h"

namespace berth {

/// Equal pods placed at once.
struct DeviceRun {
  std::int64_t feasible_count = 0;    ///< before the first of them
  std::int64_t normalized_total = 0;  ///< what normalised scores add to each total
  std::vector<DevicePick> picks;      ///< in the order of the serial walk, at most as many as were asked for
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  /// What Backend::name() says: "cuda", "cuda-emulated".
  virtual std::string_view name() const = 0;
  virtual const DeviceFacts& facts() const = 0;

  /// Uninitialised, aligned to 256 bytes. @param what  for the message; as long-lived as the program
  /// @throws DeviceOutOfMemory  what was there before is untouched
  virtual void* allocate(std::uint64_t bytes, const char* what) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual std::uint64_t allocated_bytes() const = 0;
  /// What allocate() may still give.
  virtual std::uint64_t free_bytes() const = 0;

  /// `host` is read before the call returns.
  virtual void upload(void* device, const void* host, std::uint64_t bytes) = 0;
  /// Waits for all that was asked before.
  virtual void download(void* host, const void* device, std::uint64_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::uint64_t bytes) = 0;
  virtual void clear(void* device, std::uint64_t bytes) = 0;

  /// Asks every node; DeviceNodeSide::base is written. Waits.
  virtual DeviceSideSummary evaluate_node_side(const DeviceNodeSide& side) = 0;

  // Kernels that return at once. Views are passed by value; what they point to must stay until a download() behind the
  // call.
  virtual void build_rows(const DeviceState& state, const DeviceRowsToBuild& rows) = 0;
  virtual void refresh_rows(const DeviceState& state, const DeviceRowsToRefresh& rows) = 0;
  virtual void apply_delta(const DeviceState& state, const DeviceDelta& delta) = 0;
  /// @param widest_row_cells  the largest cell_count of the rows of the batch
  virtual void commit_batch(const DeviceState& state, const DeviceBatch& batch, std::int32_t widest_row_cells) = 0;
  /// Independent states side by side. @param states, batches  [fork_count], in device memory
  virtual void commit_forks(const DeviceState* states, const DeviceBatch* batches, std::int32_t fork_count) = 0;
  /// Places up to `pod_count` equal pods of a class of one cell, without topology terms and host ports, and adds them
  /// to the columns; rows are not touched. Waits. @param node_count  of the snapshot
  virtual DeviceRun commit_run(const DeviceState& state, const DeviceRow& row, std::int64_t pod_count) = 0;

  /// So far.
  virtual DeviceStats stats() const = 0;
};

}  // namespace berth
