// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Accelerator of DeviceBackend on a GPU. No CUDA header: the backend factory includes this.

#include <memory>

#include "batching/device/accelerator.h"

namespace berth::cuda {

/// Opens a device and a stream on it.
/// @throws DeviceUnavailable  with the reason
std::unique_ptr<Accelerator> open_cuda_accelerator(int ordinal);

}  // namespace berth::cuda
