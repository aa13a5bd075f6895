// SPDX-License-Identifier: Apache-2.0
#pragma once

// Device memory and its transfers. Nothing is copied unless a line says so, and nothing here waits for the device.

#include <cuda_runtime_api.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "cuda/launch/check.h"
#include "cuda/launch/stream.h"
#include "cuda/memory/pool.h"

namespace berth::cuda {

/// Owns `size()` uninitialised elements of device memory, ordered on one stream. The host cannot read them.
template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory travels by memcpy");

 public:
  /// @param size elements; 0 is allowed and takes no memory
  /// @param stream, pool must outlive the buffer
  /// @throws DeviceOutOfMemory; the pool is then as before
  DeviceBuffer(std::size_t size, StreamView stream, Pool& pool, const MemoryUse& use = {})
      : stream_(stream), pool_(&pool), use_(use) {
    reset(size);
  }
  /// Returns the memory in stream order: enqueued work may still use it.
  ~DeviceBuffer() { give_back(); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        stream_(other.stream_),
        pool_(other.pool_),
        use_(other.use_) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    stream_ = other.stream_;
    pool_ = other.pool_;
    use_ = other.use_;
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;  // a copy has to name its stream
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  /// Becomes `size` uninitialised elements. The old memory is returned first, so that both never exist at once.
  /// @throws DeviceOutOfMemory; the buffer is then empty
  void reset(std::size_t size) {
    give_back();
    data_ = static_cast<T*>(pool_->allocate(bytes_of(size), stream_, use_));
    size_ = size;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }
  StreamView stream() const { return stream_; }
  /// Pointer to device memory, for kernels and copies only.
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  // An overflowing product requests more than any pool has, and is refused like that.
  static std::size_t bytes_of(std::size_t size) { return size > SIZE_MAX / sizeof(T) ? SIZE_MAX : size * sizeof(T); }

  void give_back() noexcept {
    pool_->release(data_, size_ * sizeof(T), stream_);
    data_ = nullptr;
    size_ = 0;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  StreamView stream_;
  Pool* pool_;
  MemoryUse use_;
};

namespace memory_detail {

inline void copy_bytes(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, StreamView stream,
                       const char* doing) {
  if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, kind, stream.raw()), doing);
}

}  // namespace memory_detail

/// Copies to the beginning of `d_to`, which is at least as long. Pinned memory is read until `stream` is past the copy;
/// other memory has been read when this returns, and is slower.
template <class T>
void upload(std::span<const std::type_identity_t<T>> h_from, std::span<T> d_to, StreamView stream) {
  static_assert(std::is_trivially_copyable_v<T>);
  assert(h_from.size() <= d_to.size());
  memory_detail::copy_bytes(d_to.data(), h_from.data(), h_from.size_bytes(), cudaMemcpyHostToDevice, stream,
                            "copy to the device");
}

/// Copies all of `d_from` to the beginning of `h_to`, which is at least as long, and may be read once `stream` is past
/// it.
template <class T>
void download(std::span<const std::type_identity_t<T>> d_from, std::span<T> h_to, StreamView stream) {
  static_assert(std::is_trivially_copyable_v<T>);
  assert(d_from.size() <= h_to.size());
  memory_detail::copy_bytes(h_to.data(), d_from.data(), d_from.size_bytes(), cudaMemcpyDeviceToHost, stream,
                            "copy from the device");
}

/// Copies within the device, to the beginning of `d_to`; the two do not overlap.
template <class T>
void copy_on_device(std::span<const std::type_identity_t<T>> d_from, std::span<T> d_to, StreamView stream) {
  static_assert(std::is_trivially_copyable_v<T>);
  assert(d_from.size() <= d_to.size());
  memory_detail::copy_bytes(d_to.data(), d_from.data(), d_from.size_bytes(), cudaMemcpyDeviceToDevice, stream,
                            "copy on the device");
}

/// Sets every byte of `d_to`.
template <class T>
void fill_bytes(std::span<T> d_to, std::uint8_t value, StreamView stream) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (!d_to.empty()) check(cudaMemsetAsync(d_to.data(), value, d_to.size_bytes(), stream.raw()), "filling of memory");
}

}  // namespace berth::cuda
