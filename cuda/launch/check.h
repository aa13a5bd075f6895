// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace berth::cuda {

/// The context of an error text, in addition to its code.
struct ErrorContext {
  std::string device;       ///< "device 0"; empty when none is known
  std::string doing;        ///< the operation: "launch of commit_batch"
  int driver_version = 0;   ///< CUDA version that the driver supports, 1000 * major + 10 * minor; 0 without a driver
  int runtime_version = 0;  ///< CUDA version of this build, likewise
};

/// The only place that maps CUDA's codes to the types of batching/device/device_errors.h. Needs no device, so that any
/// code can be tested anywhere.
/// @throws DeviceUnavailable, DeviceOutOfMemory, DeviceLost, or DeviceError for what is none of these
[[noreturn]] void throw_device_error(cudaError_t code, const ErrorContext& context);

/// As above, with the context of the calling thread; clears CUDA's error, which would otherwise be reported again.
[[noreturn]] void throw_device_error(cudaError_t code, const std::string& doing);

/// Does nothing for cudaSuccess. `doing` is a noun that reads well before a colon: "copy to the device".
/// @throws as throw_device_error(). Does not wait for the device: a failure inside a kernel is reported at a later
/// call.
inline void check(cudaError_t code, const char* doing) {
  if (code != cudaSuccess) throw_device_error(code, doing);
}

}  // namespace berth::cuda
