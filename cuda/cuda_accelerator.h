// SPDX-License-Identifier: Apache-2.0
#pragma once

// A GPU as DeviceBackend drives it. No CUDA header: the backend factory includes this.

#include <memory>

#include "batching/device/accelerator.h"

namespace berth::cuda {

/// Opens a device and a stream on it.
/// @throws DeviceUnavailable  with the reason
std::unique_ptr<Accelerator> open_cuda_accelerator(int ordinal);

}  // namespace berth::cuda
