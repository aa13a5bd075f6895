// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "batching/device/accelerator.h"

namespace berth {

/// Owns elements in the memory of an accelerator, which must outlive the array. Grows on reserve(); transfers are
/// explicit.
template <class T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>, "device memory travels by memcpy");

 public:
  /// @param what  for the message when an allocation fails; a string literal
  DeviceArray(Accelerator& accelerator, const char* what) : accelerator_(&accelerator), what_(what) {}
  DeviceArray(DeviceArray&& other) noexcept
      : accelerator_(other.accelerator_),
        what_(other.what_),
        data_(std::exchange(other.data_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  DeviceArray& operator=(DeviceArray&&) = delete;
  ~DeviceArray() { accelerator_->release(data_); }

  T* data() const { return data_; }
  std::uint64_t bytes() const { return capacity_ * sizeof(T); }

  /// Makes room for `size` elements; the first `kept` keep their values, the others are uninitialised.
  /// @throws DeviceOutOfMemory  the array is unchanged
  void reserve(std::uint64_t size, std::uint64_t kept = 0) {
    if (size <= capacity_) return;
    const std::uint64_t grown = kept > 0 && size < capacity_ + capacity_ / 2 ? capacity_ + capacity_ / 2 : size;
    T* larger = static_cast<T*>(accelerator_->allocate(grown * sizeof(T), what_));
    if (kept > 0) accelerator_->copy(larger, data_, kept * sizeof(T));
    accelerator_->release(data_);
    data_ = larger;
    capacity_ = grown;
  }
  /// Writes from element `first` on; the memory must be reserved.
  void upload(std::uint64_t first, std::span<const T> values) {
    if (!values.empty()) accelerator_->upload(data_ + first, values.data(), values.size_bytes());
  }
  /// Replaces the contents.
  void assign(std::span<const T> values) {
    reserve(values.size());
    upload(0, values);
  }
  /// @return elements first to first + count
  std::vector<T> download(std::uint64_t first, std::uint64_t count) const {
    std::vector<T> values(count);
    if (count > 0) accelerator_->download(values.data(), data_ + first, count * sizeof(T));
    return values;
  }
  void clear(std::uint64_t size) { clear(0, size); }
  /// Zeroes `size` elements from `first` on.
  void clear(std::uint64_t first, std::uint64_t size) {
    if (size > 0) accelerator_->clear(data_ + first, size * sizeof(T));
  }

 private:
  Accelerator* accelerator_;
  const char* what_;
  T* data_ = nullptr;
  std::uint64_t capacity_ = 0;
};

}  // namespace berth
