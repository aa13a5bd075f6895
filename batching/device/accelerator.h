// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interface of a device: memory, transfers and kernels over the views of views.h. cuda/ implements it for a GPU;
// tests/support/emulated_accelerator.h runs the same bodies on the host, so that everything above this interface is
// tested on machines without a device. The calls of one accelerator run in order; only download() waits, unless a
// function states otherwise.

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

/// The result of placing a run of equal pods.
struct DeviceRun {
  std::int64_t feasible_count = 0;    ///< before the first pod
  std::int64_t normalized_total = 0;  ///< sum of normalised scores, part of each total
  std::vector<DevicePick> picks;      ///< in the order of the serial walk, at most `pod_count`
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  /// Backend::name(): "cuda", "cuda-emulated".
  virtual std::string_view name() const = 0;
  virtual const DeviceFacts& facts() const = 0;
  /// One thread at a time makes calls; it makes this one before the first of them.
  virtual void use_in_this_thread() {}

  /// Uninitialised, aligned to 256 bytes. @param what  for error messages; a string literal
  /// @throws DeviceOutOfMemory  earlier allocations are not affected
  virtual void* allocate(std::uint64_t bytes, const char* what) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual std::uint64_t allocated_bytes() const = 0;
  /// Bytes that allocate() can still return.
  virtual std::uint64_t free_bytes() const = 0;

  /// `host` is read before the call returns.
  virtual void upload(void* device, const void* host, std::uint64_t bytes) = 0;
  /// Waits for all earlier calls.
  virtual void download(void* host, const void* device, std::uint64_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::uint64_t bytes) = 0;
  virtual void clear(void* device, std::uint64_t bytes) = 0;

  /// Evaluates `side` on every node and writes DeviceNodeSide::base. Waits.
  virtual DeviceSideSummary evaluate_node_side(const DeviceNodeSide& side) = 0;

  // Kernels. These calls return at once. Views are passed by value; the memory they point to must stay valid until a
  // later download() returns.
  virtual void build_rows(const DeviceState& state, const DeviceRowsToBuild& rows) = 0;
  virtual void refresh_rows(const DeviceState& state, const DeviceRowsToRefresh& rows) = 0;
  virtual void apply_delta(const DeviceState& state, const DeviceDelta& delta) = 0;
  /// One pod of the class of the first row on every node. @param nodes  [node_count] in device memory
  virtual void evaluate_pod(const DeviceState& state, DeviceNodeScores* nodes) = 0;
  /// @param widest_row_cells  the largest cell_count of the rows of the batch
  virtual void commit_batch(const DeviceState& state, const DeviceBatch& batch, std::int32_t widest_row_cells) = 0;
  /// Commits the batch as a window: writes its lists, and commits until they do not suffice. DeviceBatch::
  /// committed_count may be 0.
  virtual void commit_window(const DeviceState& state, const DeviceBatch& batch, const DeviceWindow& window) = 0;
  /// Independent states in parallel. @param states, batches  [fork_count], in device memory
  virtual void commit_forks(const DeviceState* states, const DeviceBatch* batches, std::int32_t fork_count) = 0;
  /// Places up to `pod_count` equal pods of a class of one cell, without topology terms and host ports, and adds them
  /// to the columns; rows are not touched. Waits. @param node_count  of the snapshot
  virtual DeviceRun commit_run(const DeviceState& state, const DeviceRow& row, std::int64_t pod_count) = 0;

  /// Totals since construction.
  virtual DeviceStats stats() const = 0;
};

}  // namespace berth
