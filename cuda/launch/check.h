// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace berth::cuda {

/// What the texts of an error need beside its code.
struct ErrorContext {
  std::string device;       ///< "device 0"; empty when none is known
  std::string doing;        ///< what was being done: "launch of commit_batch"
  int driver_version = 0;   ///< CUDA version that the driver supports, 1000 * major + 10 * minor; 0 without a driver
  int runtime_version = 0;  ///< CUDA version of this build, likewise
};

/// The one place that turns CUDA's codes into the types of batching/device/device_errors.h. Asks no device, so that any
/// code can be tried anywhere.
/// @throws DeviceUnavailable, DeviceOutOfMemory, DeviceLost, or DeviceError for what is none of these
[[noreturn]] void throw_device_error(cudaError_t code, const ErrorContext& context);

/// As above, with the context of the calling thread; takes the error off CUDA's list, where it would be met again.
[[noreturn]] void throw_device_error(cudaError_t code, const std::string& doing);

/// Does nothing for cudaSuccess. `doing` is a noun that reads well before a colon: "copy to the device".
/// @throws as throw_device_error(). Does not wait for the device: a kernel's own failure shows at a later call.
inline void check(cudaError_t code, const char* doing) {
  if (code != cudaSuccess) throw_device_error(code, doing);
}

}  // namespace berth::cuda
