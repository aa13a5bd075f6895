// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "batching/device/device_facts.h"
#include "cuda/launch/stream.h"

namespace berth::cuda {

/// The source of a Pool's memory: the device, or in tests a source that fails.
class RawMemory {
 public:
  virtual ~RawMemory() = default;
  /// @param bytes more than 0
  /// @return cudaSuccess, and then *memory is usable by later work of `stream`
  virtual cudaError_t allocate(void** memory, std::size_t bytes, StreamView stream) = 0;
  /// Takes memory back after the current work of `stream`.
  virtual void release(void* memory, std::size_t bytes, StreamView stream) noexcept = 0;
  /// Bytes available now; nothing when unknown.
  virtual std::optional<std::uint64_t> bytes_free() = 0;
};

/// The purpose of an allocation, named when it is refused.
struct MemoryUse {
  const char* what = "a buffer";  ///< "rows", "columns"
  const char* lower_this = "";    ///< the setting that makes it smaller
};

struct PoolCounts {
  std::uint64_t allocation_count = 0;  ///< since the pool was made; equal before and after what must not allocate
  std::uint64_t release_count = 0;
  std::uint64_t bytes_in_use = 0;
  std::uint64_t bytes_peak = 0;  ///< the highest that bytes_in_use was
};

/// Device memory within a limit, in stream order. The only source of device memory; DeviceBuffer is its only user.
/// Returned memory stays in the process for the next buffer. Thread-safe; buffers must be destroyed before the pool.
class Pool {
 public:
  /// @param facts      of the device, which is the current one of this thread
  /// @param byte_limit of all buffers together, by the sizes they asked for
  /// @throws DeviceUnavailable when the device has no memory in stream order
  Pool(const DeviceFacts& facts, std::uint64_t byte_limit);
  /// @param device for messages
  Pool(std::unique_ptr<RawMemory> raw, std::uint64_t byte_limit, std::string device);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// @return nullptr for 0 bytes, which is not counted
  /// @throws DeviceOutOfMemory beyond the limit or when the device has no more; DeviceLost. The pool is then as before.
  void* allocate(std::size_t bytes, StreamView stream, const MemoryUse& use);
  /// Releases memory of allocate() with the same number of bytes; nullptr is allowed.
  void release(void* memory, std::size_t bytes, StreamView stream) noexcept;

  PoolCounts counts() const;
  std::uint64_t byte_limit() const { return byte_limit_; }

 private:
  std::optional<std::uint64_t> bytes_free() const;  // what the limit and the device leave; mutex_ is held

  const std::unique_ptr<RawMemory> raw_;
  const std::uint64_t byte_limit_;
  const std::string device_;
  mutable std::mutex mutex_;
  PoolCounts counts_;
};

}  // namespace berth::cuda
