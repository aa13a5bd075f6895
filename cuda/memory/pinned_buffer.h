// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "batching/device/device_errors.h"
#include "cuda/launch/check.h"

namespace berth::cuda {

/// Owns `size()` uninitialised elements of page-locked host memory, which the device copies from and to at full speed
/// while the host continues. Not ordered on a stream: its destructor waits for the device, so create it once and keep
/// it.
template <class T>
class PinnedBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory travels by memcpy");

 public:
  /// @param size elements; 0 is allowed and takes no memory
  /// @throws DeviceOutOfMemory when the host locks no more pages; DeviceUnavailable without a device
  explicit PinnedBuffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    const std::size_t bytes = size > SIZE_MAX / sizeof(T) ? SIZE_MAX : size * sizeof(T);
    void* memory = nullptr;
    const cudaError_t code = cudaHostAlloc(&memory, bytes, cudaHostAllocDefault);
    if (code == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      throw DeviceOutOfMemory("", "page-locked host memory", bytes, std::nullopt, "");
    }
    check(code, "page-locked host memory");
    data_ = static_cast<T*>(memory);
  }
  ~PinnedBuffer() {
    if (data_ != nullptr) static_cast<void>(cudaFreeHost(data_));
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace berth::cuda
