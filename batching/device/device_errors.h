// SPDX-License-Identifier: Apache-2.0
#pragma once

// Exceptions of a device backend, for callers without CUDA headers. Catch the types; the texts are for people.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace berth {

/// A call of the device failed. what() is "device: problem", or the problem alone when no device is known.
class DeviceError : public std::runtime_error {
 public:
  /// @param device  which one: "device 0"; empty when there is none
  /// @param problem the call and its failure
  DeviceError(std::string device, std::string problem)
      : std::runtime_error(device.empty() ? problem : device + ": " + problem),
        device_(std::move(device)),
        problem_(std::move(problem)) {}

  const std::string& device() const { return device_; }
  const std::string& problem() const { return problem_; }

 private:
  std::string device_;
  std::string problem_;
};

/// No device can be used: there is none, its driver is too old, or another process holds it. Nothing was started.
class DeviceUnavailable : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// A kernel failed or the device was lost: running work and the contents of device memory are lost. Every further call
/// of this process to the device fails too.
class DeviceLost : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// "1.5 GB", "512 B": powers of 1000, one decimal.
inline std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  std::size_t unit = 1;
  std::uint64_t thousandths = bytes;  // of the unit
  while (thousandths >= 1'000'000 && unit + 1 < std::size(kUnits)) thousandths /= 1000, ++unit;
  return std::to_string(thousandths / 1000) + "." + std::to_string(thousandths % 1000 / 100) + " " + kUnits[unit];
}

/// An allocation failed, on the device or at the limit of its pool. Earlier allocations are not affected.
class DeviceOutOfMemory : public DeviceError {
 public:
  /// @param what         what the memory is for: "rows of 4096 classes x 1000000 nodes"
  /// @param free_bytes   bytes still available; nothing when unknown
  /// @param lower_this   the setting that reduces the need; may be empty
  DeviceOutOfMemory(std::string device, const std::string& what, std::uint64_t needed_bytes,
                    std::optional<std::uint64_t> free_bytes, std::string lower_this)
      : DeviceError(std::move(device), problem_text(what, needed_bytes, free_bytes, lower_this)),
        needed_bytes_(needed_bytes),
        free_bytes_(free_bytes),
        lower_this_(std::move(lower_this)) {}

  std::uint64_t needed_bytes() const { return needed_bytes_; }
  std::optional<std::uint64_t> free_bytes() const { return free_bytes_; }
  const std::string& lower_this() const { return lower_this_; }

 private:
  static std::string problem_text(const std::string& what, std::uint64_t needed_bytes,
                                  std::optional<std::uint64_t> free_bytes, const std::string& lower_this) {
    std::string text = "out of memory: " + what;
    if (needed_bytes > 0) text += " needs " + bytes_text(needed_bytes);
    if (free_bytes) text += ", " + bytes_text(*free_bytes) + " free";
    if (!lower_this.empty()) text += "; lower " + lower_this;
    return text;
  }

  std::uint64_t needed_bytes_;
  std::optional<std::uint64_t> free_bytes_;
  std::string lower_this_;
};

}  // namespace berth
