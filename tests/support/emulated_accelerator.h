// SPDX-License-Identifier: Apache-2.0
#pragma once

// An accelerator without a device: host memory, and kernel bodies that run on host threads. It tests all of
// DeviceBackend except the device compiler's code and the speed.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "batching/device/accelerator.h"

namespace berth::test {

struct Emulation {
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
  int threads = 1;                        ///< that run a commit together; 1: without any synchronisation
  std::int64_t fails_after = -1;          ///< launches; then every call throws DeviceLost. -1: never
  std::int64_t refuses_after = -1;        ///< allocations; then memory is refused. -1: never
  std::int64_t refusals_max = INT64_MAX;  ///< then there is memory again
};

class EmulatedAccelerator : public Accelerator {
 public:
  explicit EmulatedAccelerator(const Emulation& emulation = {});

  std::string_view name() const override { return "cuda-emulated"; }
  const DeviceFacts& facts() const override { return facts_; }
  void* allocate(std::uint64_t bytes, const char* what) override;
  void release(void* memory) noexcept override;
  std::uint64_t allocated_bytes() const override { return allocated_bytes_; }
  std::uint64_t free_bytes() const override {
    return emulation_.memory_bytes - std::min(allocated_bytes_, emulation_.memory_bytes);
  }
  void upload(void* device, const void* host, std::uint64_t bytes) override;
  void download(void* host, const void* device, std::uint64_t bytes) override;
  void copy(void* to, const void* from, std::uint64_t bytes) override;
  void clear(void* device, std::uint64_t bytes) override;
  DeviceSideSummary evaluate_node_side(const DeviceNodeSide& side) override;
  void build_rows(const DeviceState& state, const DeviceRowsToBuild& rows) override;
  void refresh_rows(const DeviceState& state, const DeviceRowsToRefresh& rows) override;
  void apply_delta(const DeviceState& state, const DeviceDelta& delta) override;
  void evaluate_pod(const DeviceState& state, DeviceNodeScores* nodes) override;
  void commit_batch(const DeviceState& state, const DeviceBatch& batch, std::int32_t widest_row_cells) override;
  void commit_window(const DeviceState& state, const DeviceBatch& batch, const DeviceWindow& window) override;
  void commit_forks(const DeviceState* states, const DeviceBatch* batches, std::int32_t fork_count) override;
  DeviceRun commit_run(const DeviceState& state, const DeviceRow& row, std::int64_t pod_count) override;
  DeviceStats stats() const override;

  /// Applies from now on; numbers of launches and allocations count from the start.
  Emulation& emulation() { return emulation_; }
  std::int64_t allocations() const { return allocations_; }
  std::int64_t launches() const { return launches_; }
  std::int64_t uploads() const { return uploads_; }
  std::uint64_t uploaded_bytes() const { return uploaded_bytes_; }

 private:
  void count_launch(std::string_view kernel);

  Emulation emulation_;
  DeviceFacts facts_;
  std::map<void*, std::uint64_t> blocks_;
  std::uint64_t allocated_bytes_ = 0;
  std::int64_t allocations_ = 0;
  std::int64_t refusals_ = 0;
  std::int64_t uploads_ = 0;
  std::int64_t launches_ = 0;
  std::map<std::string_view, std::int64_t> launches_of_;
  std::uint64_t uploaded_bytes_ = 0;
  std::uint64_t downloaded_bytes_ = 0;
};

}  // namespace berth::test
