// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which devices there are. No CUDA header: the backend factory asks here before it chooses.

#include <vector>

#include "batching/device/device_facts.h"

namespace berth::cuda {

/// The devices of this process, by ordinal; opens none, so that memory_bytes_free stays 0.
/// @throws DeviceUnavailable with the reason when there is none or no driver to ask
std::vector<DeviceFacts> list_devices();

/// Makes the device current for the calling thread and takes hold of it, which costs some hundred milliseconds the
/// first time and then nothing.
/// @throws DeviceUnavailable when it is not there, is in use by somebody else, or this build has no code for it
DeviceFacts open_device(int ordinal);

/// Makes an open device current for the calling thread: each thread that works with a device says so once.
/// @throws DeviceUnavailable
void use_device(int ordinal);

}  // namespace berth::cuda
