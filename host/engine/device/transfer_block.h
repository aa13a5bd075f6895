// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/engine/device/device_array.h"

namespace berth {

/// Arrays of several types, packed for one transfer.
class TransferBlock {
 public:
  /// Position of an array in the block, for at() after send().
  template <class T>
  struct Part {
    std::size_t offset = 0;
  };

  template <class T>
  Part<T> add(std::span<const T> values) {
    const Part<T> part{bytes_.size()};
    const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
    bytes_.insert(bytes_.end(), first, first + values.size_bytes());
    bytes_.resize(align(bytes_.size()));
    return part;
  }
  template <class T>
  Part<T> add(const std::vector<T>& values) {
    return add(std::span<const T>(values));
  }
  std::size_t bytes() const { return bytes_.size(); }
  /// The most that an array of so many elements adds to bytes().
  template <class T>
  static std::size_t bytes_of(std::size_t count) {
    return align(count * sizeof(T));
  }
  /// One transfer; `device` grows as needed and holds the block afterwards.
  void send(DeviceArray<std::uint8_t>& device) {
    device.assign(bytes_);
    base_ = device.data();
  }
  /// In device memory, after send().
  template <class T>
  const T* at(Part<T> part) const {
    return reinterpret_cast<const T*>(base_ + part.offset);
  }

 private:
  static std::size_t align(std::size_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }
  static constexpr std::size_t kAlignment = 16;

  std::vector<std::uint8_t> bytes_;
  const std::uint8_t* base_ = nullptr;
};

}  // namespace berth
