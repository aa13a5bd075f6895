// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lists the devices. No CUDA header: the backend factory uses this before it selects a backend.

#include <vector>

#include "batching/device/device_facts.h"

namespace berth::cuda {

/// The devices of this process, by ordinal; opens none, so that memory_bytes_free stays 0.
/// @throws DeviceUnavailable with the reason when there is no device or no driver
std::vector<DeviceFacts> list_devices();

/// Makes the device current for the calling thread and initialises it, which takes some hundred milliseconds the first
/// time.
/// @throws DeviceUnavailable when it is missing, used by another process, or this build has no code for it
DeviceFacts open_device(int ordinal);

/// Makes an open device current for the calling thread; each thread that uses a device calls this first.
/// @throws DeviceUnavailable
void use_device(int ordinal);

}  // namespace berth::cuda
